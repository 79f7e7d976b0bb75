//! Which encoding are these bytes in, and what do they say?
//!
//! The whole file is looked at, never a sample, and never the locale. Not for telling text from binary data: that is
//! `detect`'s.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::{problem, reason};
use crate::index::Problem;

/// Share of bytes in valid UTF-8, in percent, above which a file with some bad bytes is still UTF-8.
const MOSTLY_UTF8_PERCENT: u64 = 99;

/// A text and how it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    pub text: String,
    /// Its name as the WHATWG standard spells it, or `UTF-32LE`, `UTF-32BE`.
    pub encoding: &'static str,
    /// Bad sequences that became U+FFFD.
    pub replaced: u64,
}

impl Decoded {
    /// Says how much was lost, if anything.
    pub fn warning(&self) -> Option<Problem> {
        (self.replaced > 0).then(|| {
            let (count, encoding) = (self.replaced, self.encoding);
            problem(
                reason::REPLACED_CHARACTERS,
                format!("{count} byte sequences are not valid {encoding} and became replacement characters"),
            )
        })
    }
}

/// Decodes a whole file. `declared` is what the file says of itself (a `meta charset`): it is believed when there is no
/// byte order mark, the bytes are not UTF-8, and they are valid in it. Order: byte order mark, UTF-16 and UTF-32 by
/// their zero bytes, whole-file UTF-8, the declared one, mostly UTF-8, chardetng's guess. Linear; valid UTF-8 is not
/// copied.
pub fn decode(bytes: Vec<u8>, declared: Option<&'static Encoding>) -> Decoded {
    if let Some(order) = utf32_order(&bytes) {
        return utf32(&bytes, order);
    }
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        return if encoding == UTF_8 { utf8(bytes, mark) } else { legacy(&bytes[mark..], encoding) };
    }
    if let Some(encoding) = utf16_without_mark(&bytes) {
        return legacy(&bytes, encoding);
    }
    if std::str::from_utf8(&bytes).is_ok() {
        // ISO-2022-JP is the one encoding in use that looks like ASCII; its escape sequences give it away.
        return if declares_iso_2022_jp(&bytes) { guess(&bytes) } else { utf8(bytes, 0) };
    }
    if let Some(encoding) = declared.filter(|&encoding| encoding != UTF_8 && !encoding.is_single_byte()) {
        let decoded = legacy(&bytes, encoding);
        if decoded.replaced == 0 {
            return decoded;
        }
    }
    if is_mostly_utf8(&bytes) {
        return utf8(bytes, 0);
    }
    match declared.filter(|&encoding| encoding != UTF_8 && encoding.is_single_byte()) {
        Some(encoding) => legacy(&bytes, encoding),
        None => guess(&bytes),
    }
}

/// Whether the bytes are UTF-16 or UTF-32, with a byte order mark or without: then zero bytes do not mean binary data.
pub fn is_wide(bytes: &[u8]) -> bool {
    utf32_order(bytes).is_some()
        || Encoding::for_bom(bytes).is_some_and(|(encoding, _)| encoding != UTF_8)
        || utf16_without_mark(bytes).is_some()
}

fn utf8(mut bytes: Vec<u8>, mark: usize) -> Decoded {
    bytes.drain(..mark);
    let (text, replaced) = match String::from_utf8(bytes) {
        Ok(text) => (text, 0),
        Err(error) => {
            let bytes = error.into_bytes();
            let replaced = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
            (String::from_utf8_lossy(&bytes).into_owned(), replaced as u64)
        }
    };
    Decoded { text, encoding: UTF_8.name(), replaced }
}

fn legacy(bytes: &[u8], encoding: &'static Encoding) -> Decoded {
    let (text, bad) = encoding.decode_without_bom_handling(bytes);
    let replaced = if bad { text.chars().filter(|&c| c == char::REPLACEMENT_CHARACTER).count() as u64 } else { 0 };
    Decoded { text: Cow::into_owned(text), encoding: encoding.name(), replaced }
}

fn guess(bytes: &[u8]) -> Decoded {
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    legacy(bytes, detector.guess(None, chardetng::Utf8Detection::Allow))
}

fn declares_iso_2022_jp(bytes: &[u8]) -> bool {
    bytes.windows(3).any(|w| w[0] == 0x1b && w[1] == b'$' && matches!(w[2], b'B' | b'@'))
}

/// Nearly all of it is UTF-8, and what is not ASCII is more often right than wrong (so an ASCII text with a stray
/// Latin-1 letter is not called UTF-8); or it is right but for a last character that was cut off.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut bad_bytes, mut bad, mut wide) = (0u64, 0u64, 0u64);
    for chunk in bytes.utf8_chunks() {
        bad_bytes += chunk.invalid().len() as u64;
        bad += u64::from(!chunk.invalid().is_empty());
        wide += chunk.valid().bytes().filter(|&b| b >= 0xc0).count() as u64;
    }
    let share_is_high = (bytes.len() as u64 - bad_bytes) * 100 > bytes.len() as u64 * MOSTLY_UTF8_PERCENT;
    let only_cut_off = match std::str::from_utf8(bytes) {
        Err(error) => error.error_len().is_none() && bytes.len() - error.valid_up_to() > 1,
        Ok(_) => true,
    };
    only_cut_off || (share_is_high && wide >= bad)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    Little,
    Big,
}

fn utf32_unit(unit: &[u8], order: Order) -> u32 {
    let unit = [unit[0], unit[1], unit[2], unit[3]];
    if order == Order::Little { u32::from_le_bytes(unit) } else { u32::from_be_bytes(unit) }
}

/// UTF-32, with a mark or without: whole units, all of them characters, none of them NUL.
fn utf32_order(bytes: &[u8]) -> Option<Order> {
    if bytes.len() < 4 || !bytes.len().is_multiple_of(4) {
        return None;
    }
    [Order::Little, Order::Big].into_iter().find(|&order| {
        bytes
            .chunks_exact(4)
            .all(|unit| matches!(utf32_unit(unit, order), code if code != 0 && char::from_u32(code).is_some()))
    })
}

fn utf32(bytes: &[u8], order: Order) -> Decoded {
    let text = bytes
        .chunks_exact(4)
        .enumerate()
        .filter_map(|(i, unit)| char::from_u32(utf32_unit(unit, order)).filter(|&c| i > 0 || c != '\u{feff}'))
        .collect();
    Decoded { text, encoding: if order == Order::Little { "UTF-32LE" } else { "UTF-32BE" }, replaced: 0 }
}

/// UTF-16 shows itself by zero bytes that stand only at even or only at odd places, because every line end and every
/// space has one; and the text must then make sense: paired surrogates, hardly any control characters.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let (mut even, mut odd) = (0usize, 0usize);
    for pair in bytes.chunks_exact(2) {
        even += usize::from(pair[0] == 0);
        odd += usize::from(pair[1] == 0);
    }
    let units = bytes.len() / 2;
    let (encoding, most, least) = if odd > even { (UTF_16LE, odd, even) } else { (UTF_16BE, even, odd) };
    if units < 2 || most * 50 < units || least * 20 > most {
        return None;
    }
    // Of a text in ASCII letters nearly every unit has a zero byte; a few zero bytes in ASCII are just zero bytes.
    if bytes.is_ascii() && most * 5 < units * 4 {
        return None;
    }
    let (text, bad) = encoding.decode_without_bom_handling(bytes);
    let odd_ones = text.chars().filter(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0c')).count();
    let cut_off = usize::from(!bytes.len().is_multiple_of(2));
    let broken = if bad { text.chars().filter(|&c| c == char::REPLACEMENT_CHARACTER).count() } else { 0 };
    (broken <= cut_off && odd_ones * 50 <= units).then_some(encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], text: &str, encoding: &str, replaced: u64) {
        let got = decode(bytes.to_vec(), None);
        assert_eq!((got.text.as_str(), got.encoding, got.replaced), (text, encoding, replaced), "{bytes:?}");
    }

    fn utf16(text: &str, little: bool) -> Vec<u8> {
        text.encode_utf16().flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() }).collect()
    }

    fn utf32(text: &str, little: bool) -> Vec<u8> {
        text.chars().flat_map(|c| if little { (c as u32).to_le_bytes() } else { (c as u32).to_be_bytes() }).collect()
    }

    #[test]
    fn marks_win() {
        check(b"\xef\xbb\xbfabc", "abc", "UTF-8", 0);
        check(b"\xff\xfea\0b\0", "ab", "UTF-16LE", 0);
        check(b"\xfe\xff\0a\0b", "ab", "UTF-16BE", 0);
        check(&utf32("\u{feff}aé😀", true), "aé😀", "UTF-32LE", 0);
        check(&utf32("\u{feff}aé😀", false), "aé😀", "UTF-32BE", 0);
    }

    #[test]
    fn wide_encodings_without_a_mark() {
        let text = "Two lines.\nÜber die Brücke, 名前はまだ無い。\n";
        for little in [true, false] {
            let order = if little { "LE" } else { "BE" };
            check(&utf16(text, little), text, &format!("UTF-16{order}"), 0);
            check(&utf32(text, little), text, &format!("UTF-32{order}"), 0);
        }
    }

    #[test]
    fn plain_and_empty() {
        check(b"", "", "UTF-8", 0);
        check(b"x", "x", "UTF-8", 0);
        check("naïve café".as_bytes(), "naïve café", "UTF-8", 0);
        check(b"a\0b is not UTF-16", "a\0b is not UTF-16", "UTF-8", 0);
    }

    #[test]
    fn one_bad_byte_does_not_make_mojibake() {
        let mut bytes = "été à la plage, déjà vu. ".repeat(20).into_bytes();
        bytes.push(0xff);
        let got = decode(bytes, None);
        assert_eq!((got.encoding, got.replaced), ("UTF-8", 1));
        assert!(got.text.starts_with("été à"));
        assert!(got.warning().is_some());
    }

    #[test]
    fn a_last_character_that_was_cut_off_is_one_replacement() {
        check(b"abc \xe2\x82", "abc \u{fffd}", "UTF-8", 1);
    }

    #[test]
    fn a_stray_latin_letter_in_a_long_ascii_text_is_latin() {
        let mut bytes = b"plain words and nothing else, ".repeat(50);
        bytes.extend_from_slice(b"caf\xe9 au lait");
        let got = decode(bytes, None);
        assert!(got.text.ends_with("café au lait"), "{got:?}");
        assert_eq!((got.encoding, got.replaced), ("windows-1252", 0));
    }

    #[test]
    fn what_a_file_declares_helps_where_bytes_do_not_tell() {
        let koi8 = b"\xf0\xd2\xc9\xd7\xc5\xd4".to_vec();
        assert_eq!(decode(koi8, Some(encoding_rs::KOI8_R)).text, "Привет");
        assert_eq!(decode("é".into(), Some(encoding_rs::WINDOWS_1252)).text, "é");
    }

    #[test]
    fn encodings_are_told_apart_by_their_bytes() {
        let russian = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.";
        let japanese = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。";
        let chinese = "学而时习之，不亦说乎？有朋自远方来，不亦乐乎？";
        let cases = [
            ("Shift_JIS", japanese),
            ("EUC-JP", japanese),
            ("GBK", chinese),
            ("Big5", "學而時習之，不亦說乎？有朋自遠方來，不亦樂乎？"),
            ("EUC-KR", "나 보기가 역겨워 가실 때에는 말없이 고이 보내 드리우리다"),
            ("windows-1251", russian),
            ("KOI8-U", russian),
            ("IBM866", russian),
            ("windows-1252", "Déjà vu : « Longtemps, je me suis couché de bonne heure », à ce qu’il dit."),
            ("windows-1250", "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl někdo včera večer."),
            ("windows-1253", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, όπως είπε χθες."),
            ("windows-1256", "كل الناس يولدون أحرارا متساوين في الكرامة والحقوق"),
            ("windows-1255", "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם"),
        ];
        for (name, text) in cases {
            let encoding = Encoding::for_label(name.as_bytes()).expect("an encoding of the standard");
            let (bytes, _, lossy) = encoding.encode(text);
            assert!(!lossy, "{name}");
            let got = decode(bytes.into_owned(), None);
            assert_eq!((got.text.as_str(), got.replaced), (text, 0), "{name}, read as {}", got.encoding);
        }
    }

    #[test]
    fn iso_2022_jp() {
        check(b"\x1b$B$3$s$K$A$O\x1b(B ok", "こんにちは ok", "ISO-2022-JP", 0);
    }
}
