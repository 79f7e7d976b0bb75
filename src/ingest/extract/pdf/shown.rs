//! How much text does a content stream show?
//!
//! Counts without fonts, so it is a lower bound of characters: a code may be one byte or two. Not for reading text.

/// What the operators of a page do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// Characters shown, at least; spaces of one byte are not counted.
    pub characters: usize,
    /// It paints other streams or images, which were not looked into.
    pub paints_objects: bool,
    /// Outlines and areas that it draws.
    pub paths: usize,
    /// Size of the content, in bytes.
    pub bytes: usize,
}

/// Fewest paths that may be letters drawn as outlines.
const MIN_OUTLINES: usize = 40;

impl Shown {
    /// Whether it paints what may be a picture of text.
    pub fn may_picture_text(self) -> bool {
        self.paints_objects || self.paths >= MIN_OUTLINES
    }
}

/// Counts in a decoded content stream. Linear in its size.
pub fn shown(content: &[u8]) -> Shown {
    let mut shown = Shown { bytes: content.len(), ..Shown::default() };
    let mut pending = 0;
    let mut at = 0;
    while let Some(&byte) = content.get(at) {
        match byte {
            b'(' => {
                let (characters, end) = literal(content, at + 1);
                pending += characters;
                at = end;
            }
            b'<' if content.get(at + 1) == Some(&b'<') => at += 2,
            b'<' => {
                let rest = content.get(at + 1..).unwrap_or_default();
                let length = rest.iter().position(|&b| b == b'>').unwrap_or(rest.len());
                pending += length.div_ceil(4);
                at += length + 2;
            }
            b'%' => at += line_length(content, at),
            b'/' => at += 1 + word_length(content, at + 1),
            b'\'' | b'"' => {
                shown.characters += std::mem::take(&mut pending);
                at += 1;
            }
            byte if byte.is_ascii_alphabetic() => {
                let length = word_length(content, at);
                match content.get(at..at + length) {
                    Some(b"Tj" | b"TJ") => shown.characters += pending,
                    Some(b"f" | b"F" | b"f*" | b"S" | b"s" | b"B" | b"B*" | b"b" | b"b*") => shown.paths += 1,
                    Some(b"Do") => shown.paints_objects = true,
                    Some(b"ID") => {
                        shown.paints_objects = true;
                        at = end_of_image(content, at + length);
                        pending = 0;
                        continue;
                    }
                    _ => {}
                }
                pending = 0;
                at += length;
            }
            _ => at += 1,
        }
    }
    shown
}

/// Characters of a string in parentheses that begins at `start`, and the place behind it.
fn literal(content: &[u8], start: usize) -> (usize, usize) {
    let (mut depth, mut at, mut bytes, mut controls) = (1usize, start, 0usize, 0usize);
    while let Some(&byte) = content.get(at) {
        at += 1;
        match byte {
            b'\\' => {
                bytes += 1;
                let digits = content.get(at..).unwrap_or_default().iter().take(3).take_while(|b| b.is_ascii_digit());
                let digits = digits.count();
                controls += usize::from(digits == 3 && content.get(at) == Some(&b'0'));
                at += digits.max(1);
            }
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            b' ' => {}
            _ => {
                bytes += 1;
                controls += usize::from(byte < b' ');
            }
        }
    }
    // The upper half of two-byte codes is mostly small.
    (if controls * 4 > bytes { bytes / 2 } else { bytes }, at)
}

fn word_length(content: &[u8], start: usize) -> usize {
    let rest = content.get(start..).unwrap_or_default();
    rest.iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'*' | b'_' | b'-' | b'+' | b'.' | b'#'))
        .count()
}

fn line_length(content: &[u8], start: usize) -> usize {
    let rest = content.get(start..).unwrap_or_default();
    rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len())
}

/// The place behind the `EI` of an inline image.
fn end_of_image(content: &[u8], start: usize) -> usize {
    let rest = content.get(start..).unwrap_or_default();
    let end = rest.windows(4).position(
        |w| matches!(w, [before, b'E', b'I', after] if before.is_ascii_whitespace() && after.is_ascii_whitespace()),
    );
    end.map_or(content.len(), |end| start + end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted() {
        for (content, characters, paints_objects) in [
            ("BT /F1 24 Tf (Hello bat\\)tery) Tj ET", 13, false),
            ("BT [(He) -20 (l(l)o)] TJ T* (x) ' ET", 6, false),
            ("BT <004800650066> Tj ET", 3, false),
            ("BT (\\000H\\000e\\000l) Tj ET", 3, false),
            ("/Span <</ActualText (not shown)>> BDC (ab) Tj EMC", 2, false),
            ("(no operator) pop % (comment) Tj\n/Tj Do", 0, true),
            ("BI /W 1 ID (((Tj EI (a) Tj", 1, true),
            ("BT (never ends", 0, false),
            ("", 0, false),
        ] {
            let got = shown(content.as_bytes());
            assert_eq!((got.characters, got.paints_objects), (characters, paints_objects), "{content}");
        }
        assert_eq!(shown(b"1 1 m 2 2 l S\nf* B").paths, 3);
    }
}
