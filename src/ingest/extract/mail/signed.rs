//! Signatures that hold the text they sign (S/MIME, `application/pkcs7-mime` of kind `signed-data`): that text.
//!
//! Of the structure (CMS, RFC 5652, in BER) as much is read as leads to the content; nothing is verified. Not for what is
//! encrypted.

/// `1.2.840.113549.1.7.2`.
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
const OCTET_STRING: u8 = 0x04;
const OCTET_STRINGS: u8 = 0x24;
const EXPLICIT: u8 = 0xa0;

/// How deep elements of unknown length are followed into each other; each level is one pass.
const MAX_DEPTH: u32 = 12;

/// What was signed, headers and all; `None` if this is no signature, or not whole, or the text stands elsewhere.
pub fn content(bytes: &[u8]) -> Option<Vec<u8>> {
    let outer = element(bytes, 0).filter(|one| one.tag == SEQUENCE)?;
    let kind = element(outer.body, 0).filter(|one| one.tag == OBJECT_IDENTIFIER && one.body == SIGNED_DATA)?;
    let signed = element(kind.rest, 0).filter(|one| one.tag == EXPLICIT)?;
    let signed = element(signed.body, 0).filter(|one| one.tag == SEQUENCE)?;
    // Version and algorithms stand before the content.
    let version = element(signed.body, 0)?;
    let algorithms = element(version.rest, 0)?;
    let inner = element(algorithms.rest, 0).filter(|one| one.tag == SEQUENCE)?;
    let kind = element(inner.body, 0).filter(|one| one.tag == OBJECT_IDENTIFIER)?;
    let content = element(kind.rest, 0).filter(|one| one.tag == EXPLICIT)?;
    let mut out = Vec::new();
    octets(element(content.body, 0)?, &mut out, 0)?;
    Some(out)
}

/// A string, which may be written in pieces.
fn octets(one: Element<'_>, out: &mut Vec<u8>, depth: u32) -> Option<()> {
    match one.tag {
        OCTET_STRING => out.extend_from_slice(one.body),
        OCTET_STRINGS if depth < MAX_DEPTH => {
            let mut rest = one.body;
            while !rest.is_empty() {
                let piece = element(rest, 0)?;
                rest = piece.rest;
                octets(piece, out, depth + 1)?;
            }
        }
        _ => return None,
    }
    Some(())
}

struct Element<'a> {
    tag: u8,
    body: &'a [u8],
    /// What stands behind it.
    rest: &'a [u8],
}

/// The element that `bytes` begin with.
fn element(bytes: &[u8], depth: u32) -> Option<Element<'_>> {
    let (&tag, after) = bytes.split_first()?;
    // Tags of several bytes are not on the way.
    if tag & 0x1f == 0x1f {
        return None;
    }
    let (&first, after) = after.split_first()?;
    let (length, after) = match first {
        0x80 => {
            let body = until_end(after, depth)?;
            return Some(Element { tag, body, rest: after.get(body.len() + 2..)? });
        }
        0..0x80 => (usize::from(first), after),
        _ => {
            let (digits, after) =
                after.split_at_checked(usize::from(first & 0x7f)).filter(|(digits, _)| digits.len() <= 8)?;
            let length = digits.iter().fold(0u64, |length, &digit| length << 8 | u64::from(digit));
            (usize::try_from(length).ok()?, after)
        }
    };
    let (body, rest) = after.split_at_checked(length)?;
    Some(Element { tag, body, rest })
}

/// The elements before the mark that ends an element of unknown length.
fn until_end(bytes: &[u8], depth: u32) -> Option<&[u8]> {
    if depth >= MAX_DEPTH {
        return None;
    }
    let mut rest = bytes;
    while !rest.starts_with(&[0, 0]) {
        rest = element(rest, depth + 1)?.rest;
    }
    Some(&bytes[..bytes.len() - rest.len()])
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn of(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&[tag, 0x82][..], &length, body].concat()
    }

    fn endless(tag: u8, body: &[u8]) -> Vec<u8> {
        [&[tag, 0x80][..], body, &[0, 0]].concat()
    }

    fn signed(make: fn(u8, &[u8]) -> Vec<u8>, content: &[u8]) -> Vec<u8> {
        let data = [&[OBJECT_IDENTIFIER, 9][..], &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]].concat();
        let inner = make(SEQUENCE, &[data, make(EXPLICIT, content)].concat());
        let body = make(SEQUENCE, &[&[2, 1, 1, 0x31, 0][..], &inner, &[0x31, 0]].concat());
        let kind = [&[OBJECT_IDENTIFIER, 9][..], SIGNED_DATA].concat();
        make(SEQUENCE, &[kind, make(EXPLICIT, &body)].concat())
    }

    /// A signature that holds a text.
    pub fn holding(text: &str) -> Vec<u8> {
        signed(of, &of(OCTET_STRING, text.as_bytes()))
    }

    #[test]
    fn the_signed_text_is_found_in_both_ways_of_writing_lengths() {
        assert_eq!(content(&holding("the text")).as_deref(), Some(&b"the text"[..]));
        let pieces = endless(OCTET_STRINGS, &[of(OCTET_STRING, b"the "), of(OCTET_STRING, b"text")].concat());
        assert_eq!(content(&signed(endless, &pieces)).as_deref(), Some(&b"the text"[..]));
    }

    #[test]
    fn what_is_no_whole_signature_has_no_text() {
        let whole = holding("the text");
        for end in 0..whole.len() {
            assert_eq!(content(&whole[..end]), None, "{end}");
        }
        let encrypted: Vec<u8> = whole.iter().map(|&byte| if byte == 0x02 { 0x03 } else { byte }).collect();
        assert_eq!(content(&encrypted), None);
        assert_eq!(content(&[SEQUENCE, 0x80].repeat(100_000)), None);
        assert_eq!(content(&[SEQUENCE, 0x88, 255, 255, 255, 255, 255, 255, 255, 255]), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_looked_at(bytes in proptest::collection::vec(proptest::sample::select(vec![0u8, 0x80, 0x30, 0x24, 0x04, 0x06, 0xa0, 1, 2, 0x84]), 0..60)) {
            content(&bytes);
        }
    }
}
