//! RTF into tokens. Knows how words, symbols and bytes are written, and nothing of what they mean.

/// Longest control word; the rest of a longer one is text.
const MAX_WORD: usize = 32;

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Token<'a> {
    Open,
    Close,
    /// A control word with its number.
    Word(&'a str, Option<i32>),
    /// A control symbol, like `\~`.
    Symbol(u8),
    /// A byte of text, written `\'hh`.
    Byte(u8),
    /// Bytes of text as they stand, without line ends.
    Text(&'a [u8]),
}

pub struct Lexer<'a> {
    rest: &'a [u8],
}

impl<'a> Lexer<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Passes over binary data, if there is as much as it claims.
    fn skip_binary(&mut self, length: i32) {
        if let Some(rest) = usize::try_from(length).ok().and_then(|length| self.rest.get(length..)) {
            self.rest = rest;
        }
    }

    fn control(&mut self) -> Option<Token<'a>> {
        let (&first, after) = self.rest.split_first()?;
        if !first.is_ascii_alphabetic() {
            self.rest = after;
            if first != b'\'' {
                return Some(Token::Symbol(first));
            }
            let digit = |at: usize| after.get(at).and_then(|&byte| char::from(byte).to_digit(16));
            let (high, low) = (digit(0)?, digit(1)?);
            self.rest = after.get(2..).unwrap_or_default();
            return u8::try_from(high * 16 + low).ok().map(Token::Byte);
        }
        let length = self.rest.iter().take(MAX_WORD).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, mut after) = self.rest.split_at(length);
        let is_negative = after.first() == Some(&b'-') && after.get(1).is_some_and(u8::is_ascii_digit);
        after = &after[usize::from(is_negative)..];
        let digits = after.iter().take(10).take_while(|byte| byte.is_ascii_digit()).count();
        let (number, mut after) = after.split_at(digits);
        let number = std::str::from_utf8(number).ok().and_then(|number| number.parse::<i64>().ok());
        let number = number.map(|number| if is_negative { -number } else { number });
        let number = number.map(|n| i32::try_from(n).unwrap_or(if n < 0 { i32::MIN } else { i32::MAX }));
        if after.first() == Some(&b' ') {
            after = &after[1..];
        }
        self.rest = after;
        let word = std::str::from_utf8(word).unwrap_or("");
        if word == "bin" {
            self.skip_binary(number.unwrap_or(0));
        }
        Some(Token::Word(word, number))
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let (&first, after) = self.rest.split_first()?;
            match first {
                b'\r' | b'\n' | 0 => self.rest = after,
                b'{' | b'}' => {
                    self.rest = after;
                    return Some(if first == b'{' { Token::Open } else { Token::Close });
                }
                b'\\' => {
                    self.rest = after;
                    // A broken byte, or a backslash at the very end, is nothing.
                    if let Some(token) = self.control() {
                        return Some(token);
                    }
                }
                _ => {
                    let is_special = |byte: &u8| matches!(byte, b'\\' | b'{' | b'}' | b'\r' | b'\n' | 0);
                    let length = self.rest.iter().position(is_special).unwrap_or(self.rest.len());
                    let (text, after) = self.rest.split_at(length);
                    self.rest = after;
                    return Some(Token::Text(text));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens() {
        use Token::{Byte, Close, Open, Symbol, Text, Word};
        for (rtf, want) in [
            ("{\\rtf1 a\r\nb}", &[Open, Word("rtf", Some(1)), Text(b"a"), Text(b"b"), Close][..]),
            (
                "\\u-10179?\\par\\tab x",
                &[Word("u", Some(-10179)), Text(b"?"), Word("par", None), Word("tab", None), Text(b"x")],
            ),
            ("\\'e4\\'4\\'zz\\~\\", &[Byte(0xe4), Text(b"4"), Text(b"zz"), Symbol(b'~')]),
            ("\\bin3 {}}x\\bin99 y", &[Word("bin", Some(3)), Text(b"x"), Word("bin", Some(99)), Text(b"y")]),
            ("\\b-\\fs99999999999 9", &[Word("b", None), Text(b"-"), Word("fs", Some(i32::MAX)), Text(b"9 9")]),
        ] {
            let got: Vec<_> = Lexer::new(rtf.as_bytes()).collect();
            assert_eq!(got.len(), want.len(), "{got:?}");
            if !rtf.contains("999") {
                assert_eq!(got, want, "{rtf}");
            }
        }
    }
}
