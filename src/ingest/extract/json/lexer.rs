//! JSON as a flat stream of tokens, without recursion: any depth costs one bit of stack that we own.
//!
//! Also takes comments, commas before a closing bracket, and several values after each other, because configuration
//! files and logs have them.

use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq)]
pub enum Token<'a> {
    OpenObject,
    OpenArray,
    Close,
    Key(Cow<'a, str>),
    String(Cow<'a, str>),
    /// A number, `true`, `false` or `null`, as it is written.
    Word(&'a str),
}

/// Where and why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct SyntaxError {
    pub line: u32,
    pub what: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// After `[`: a value or the end.
    ValueOrClose,
    /// After `{` or a comma in an object.
    KeyOrClose,
    CommaOrClose,
}

pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// For each open container, whether it is an object.
    open: Vec<bool>,
    expect: Expect,
}

impl<'a> Lexer<'a> {
    /// Reads `text`, whose first line has the number `line`.
    pub fn new(text: &'a str, line: u32) -> Self {
        Self { text, at: 0, line, open: Vec::new(), expect: Expect::Value }
    }

    /// Line of the token returned last; for a string that holds line ends (which JSON forbids, and we allow) the last.
    pub fn line(&self) -> u32 {
        self.line
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// The next token; `None` at the end of the text, if everything is closed.
    pub fn next(&mut self) -> Result<Option<Token<'a>>, SyntaxError> {
        loop {
            self.skip_blank()?;
            let Some(&byte) = self.text.as_bytes().get(self.at) else {
                return if self.open.is_empty() { Ok(None) } else { self.fail("it ends before it is closed") };
            };
            match (self.expect, byte) {
                (Expect::CommaOrClose, b',') => {
                    self.at += 1;
                    let in_object = self.open.last() == Some(&true);
                    self.expect = if in_object { Expect::KeyOrClose } else { Expect::ValueOrClose };
                }
                (Expect::CommaOrClose | Expect::ValueOrClose | Expect::KeyOrClose, b']' | b'}') => {
                    if self.open.pop() != Some(byte == b'}') {
                        return self.fail("a bracket closes what was not opened");
                    }
                    self.at += 1;
                    self.value_done();
                    return Ok(Some(Token::Close));
                }
                (Expect::KeyOrClose, b'"') => {
                    let key = self.string()?;
                    self.skip_blank()?;
                    if self.text.as_bytes().get(self.at) != Some(&b':') {
                        return self.fail("a key without a colon after it");
                    }
                    self.at += 1;
                    self.expect = Expect::Value;
                    return Ok(Some(Token::Key(key)));
                }
                (Expect::Value | Expect::ValueOrClose, _) => return self.value(byte).map(Some),
                (Expect::KeyOrClose, _) => return self.fail("expected a key in quotes"),
                (Expect::CommaOrClose, _) => return self.fail("expected a comma or a closing bracket"),
            }
        }
    }

    fn value(&mut self, byte: u8) -> Result<Token<'a>, SyntaxError> {
        match byte {
            b'{' | b'[' => {
                self.at += 1;
                self.open.push(byte == b'{');
                self.expect = if byte == b'{' { Expect::KeyOrClose } else { Expect::ValueOrClose };
                Ok(if byte == b'{' { Token::OpenObject } else { Token::OpenArray })
            }
            b'"' => {
                let string = self.string()?;
                self.value_done();
                Ok(Token::String(string))
            }
            _ => {
                let rest = &self.text[self.at..];
                let end = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
                    .unwrap_or(rest.len());
                let word = &rest[..end];
                let is_number =
                    word.starts_with(|c: char| c.is_ascii_digit() || c == '-') && word.parse::<f64>().is_ok();
                if !is_number && !matches!(word, "true" | "false" | "null" | "NaN" | "Infinity" | "-Infinity") {
                    return self.fail("expected a value");
                }
                self.at += end;
                self.value_done();
                Ok(Token::Word(word))
            }
        }
    }

    fn value_done(&mut self) {
        self.expect = if self.open.is_empty() { Expect::Value } else { Expect::CommaOrClose };
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, SyntaxError> {
        Err(SyntaxError { line: self.line, what })
    }

    fn skip_blank(&mut self) -> Result<(), SyntaxError> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\n' => self.line = self.line.saturating_add(1),
                b' ' | b'\t' | b'\r' | 0x0c => {}
                b'/' if bytes.get(self.at + 1) == Some(&b'/') => {
                    self.at = self.text[self.at..].find('\n').map_or(bytes.len(), |end| self.at + end);
                    continue;
                }
                b'/' if bytes.get(self.at + 1) == Some(&b'*') => {
                    let Some(end) = self.text[self.at..].find("*/") else {
                        return self.fail("a comment is not closed");
                    };
                    self.count_lines(self.at, self.at + end);
                    self.at += end + 2;
                    continue;
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(())
    }

    fn count_lines(&mut self, from: usize, to: usize) {
        let ends = self.text.as_bytes()[from..to].iter().filter(|&&b| b == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
    }

    fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut end = start;
        let mut escaped = false;
        loop {
            match bytes.get(end) {
                None => return self.fail("a string is not closed"),
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end += 2;
                }
                Some(_) => end += 1,
            }
        }
        self.count_lines(start, end);
        self.at = end + 1;
        let raw = &self.text[start..end];
        Ok(if escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) })
    }
}

/// Resolves escapes. Unknown ones stand for the character after the backslash, half a surrogate pair for U+FFFD.
fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(letter) = rest.chars().next() else { break };
        rest = &rest[letter.len_utf8()..];
        out.push(match letter {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => unicode(&mut rest),
            other => other,
        });
    }
    out.push_str(rest);
    out
}

/// Reads the four digits after `\u`, and the second half of a surrogate pair.
fn unicode(rest: &mut &str) -> char {
    let digits = |text: &str| text.get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let Some(first) = digits(rest) else { return char::REPLACEMENT_CHARACTER };
    *rest = &rest[4..];
    if (0xd800..0xdc00).contains(&first)
        && let Some(second) = rest.strip_prefix("\\u").and_then(digits)
        && (0xdc00..0xe000).contains(&second)
    {
        *rest = &rest[6..];
        return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            .unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<String>, SyntaxError> {
        let mut lexer = Lexer::new(text, 1);
        let mut out = Vec::new();
        while let Some(token) = lexer.next()? {
            out.push(match token {
                Token::OpenObject => "{".into(),
                Token::OpenArray => "[".into(),
                Token::Close => ".".into(),
                Token::Key(key) => format!("{key}:"),
                Token::String(text) => format!("'{text}'@{}", lexer.line()),
                Token::Word(word) => word.to_owned(),
            });
        }
        Ok(out)
    }

    #[test]
    fn good_texts() {
        for (text, want) in [
            ("", ""),
            (" 1 ", "1"),
            ("{}", "{ ."),
            (
                "{\"a\": [1, -2.5e3, true, null,], // c\n /* d\n */ \"b\": \"x\",}",
                "{ a: [ 1 -2.5e3 true null . b: 'x'@3 .",
            ),
            ("{\"a\":1}\n{\"a\":2}", "{ a: 1 . { a: 2 ."),
            (r#"["\u00e9\ud83d\ude00\ud800\n\/\"\\"]"#, "[ 'é😀\u{fffd}\n/\"\\'@1 ."),
        ] {
            assert_eq!(tokens(text).map(|t| t.join(" ")), Ok(want.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn bad_texts_say_where() {
        for (text, line) in [
            ("{\n\"a\" 1}", 2),
            ("[1 2]", 1),
            ("[1\n,\nx]", 3),
            ("{a: 1}", 1),
            ("[", 1),
            ("[}", 1),
            ("]", 1),
            ("{\"a\":}", 1),
            ("\"abc", 1),
            ("\"abc\\", 1),
            ("\"abc\\\"", 1),
            ("/* x", 1),
            ("nul", 1),
            ("\"\\é", 1),
        ] {
            assert_eq!(tokens(text).map_err(|e| e.line), Err(line), "{text:?}");
        }
    }

    #[test]
    fn depth_is_no_danger() {
        let text = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let mut lexer = Lexer::new(&text, 1);
        let mut deepest = 0;
        while lexer.next().expect("it is closed").is_some() {
            deepest = deepest.max(lexer.depth());
        }
        assert_eq!(deepest, 1_000_000);
    }
}
