//! Content transfer encodings, read leniently: what is wrong in them costs itself.

use std::borrow::Cow;

use mail_parser::decoders::base64::base64_decode;

/// Undoes the encoding that a `Content-Transfer-Encoding` names. An unknown one is none. At most as long as `body`.
pub fn decode<'a>(body: &'a [u8], encoding: &str) -> Cow<'a, [u8]> {
    match encoding {
        "base64" => Cow::Owned(base64(body)),
        "quoted-printable" => Cow::Owned(quoted_printable(body)),
        _ => Cow::Borrowed(body),
    }
}

/// Whether lines of the encoded text are not those of the text.
pub fn is_encoded(encoding: &str) -> bool {
    matches!(encoding, "base64" | "quoted-printable")
}

/// Bytes that are no letters of base64 are passed over; padding ends a piece, and another may follow.
fn base64(body: &[u8]) -> Vec<u8> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut out = Vec::with_capacity(body.len() / 4 * 3);
    for piece in body.split(|&byte| byte == b'=') {
        let mut letters: Vec<u8> = piece.iter().copied().filter(is_letter).collect();
        // One letter alone is half a byte.
        if letters.len() % 4 == 1 {
            letters.pop();
        }
        while !letters.len().is_multiple_of(4) {
            letters.push(b'=');
        }
        out.extend(base64_decode(&letters).unwrap_or_default());
    }
    out
}

/// An equals sign that begins neither a byte nor a soft line end is itself.
pub fn quoted_printable(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        let written = line.trim_ascii_end();
        let is_soft = written.last() == Some(&b'=');
        let mut rest = &written[..written.len() - usize::from(is_soft)];
        while let Some((&byte, after)) = rest.split_first() {
            let hex = |at: usize| after.get(at).and_then(|&digit| char::from(digit).to_digit(16));
            match (byte, hex(0), hex(1)) {
                (b'=', Some(high), Some(low)) => {
                    out.push((high * 16 + low) as u8);
                    rest = &after[2..];
                }
                _ => {
                    out.push(byte);
                    rest = after;
                }
            }
        }
        if !is_soft && line.ends_with(b"\n") {
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_undone() {
        for (body, encoding, want) in [
            ("a=b", "7bit", "a=b"),
            ("Caf=C3=A9 =\r\nau lait=\nx  \r\n=4", "quoted-printable", "Café au laitx\n=4"),
            ("a=ZZb==41", "quoted-printable", "a=ZZb=A"),
            ("Y2Fm\r\nw6k=", "base64", "café"),
            ("Y2Fm*w6k", "base64", "café"),
            ("YQ==YmM=", "base64", "abc"),
            ("YWJj\n-- \nY", "base64", "abc"),
        ] {
            assert_eq!(String::from_utf8_lossy(&decode(body.as_bytes(), encoding)), want, "{body}");
        }
    }
}
