//! Letters of the symbol fonts that Word writes by their place in the font.

/// The character that `w:sym` draws; `None` where no character stands for it.
pub fn symbol(font: &str, code: u32) -> Option<char> {
    let font = font.to_lowercase();
    // Symbol fonts stand in the private use area, from F000 on.
    let place = if (0xf000..=0xf0ff).contains(&code) { code - 0xf000 } else { code };
    if font == "symbol" {
        return greek(place);
    }
    if font.starts_with("wingdings") {
        return ding(&font, place);
    }
    if (0xe000..=0xf8ff).contains(&code) {
        return None;
    }
    char::from_u32(code).filter(|letter| !letter.is_control())
}

fn greek(place: u32) -> Option<char> {
    const UPPER: &str = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";
    const LOWER: &str = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ";
    match place {
        0x41..=0x5a => UPPER.chars().nth(place as usize - 0x41),
        0x61..=0x7a => LOWER.chars().nth(place as usize - 0x61),
        0x22 => Some('∀'),
        0x24 => Some('∃'),
        0x27 => Some('∋'),
        0x2a => Some('∗'),
        0x2d => Some('−'),
        0x40 => Some('≅'),
        0x5c => Some('∴'),
        0x5e => Some('⊥'),
        0x7e => Some('∼'),
        0x20..=0x7d => char::from_u32(place),
        0xa3 => Some('≤'),
        0xa5 => Some('∞'),
        0xab => Some('↔'),
        0xac => Some('←'),
        0xad => Some('↑'),
        0xae => Some('→'),
        0xaf => Some('↓'),
        0xb0 => Some('°'),
        0xb1 => Some('±'),
        0xb2 => Some('″'),
        0xb3 => Some('≥'),
        0xb4 => Some('×'),
        0xb5 => Some('∝'),
        0xb6 => Some('∂'),
        0xb7 => Some('•'),
        0xb8 => Some('÷'),
        0xb9 => Some('≠'),
        0xba => Some('≡'),
        0xbb => Some('≈'),
        0xbc => Some('…'),
        0xc7 => Some('∩'),
        0xc8 => Some('∪'),
        0xcc => Some('⊂'),
        0xce => Some('∈'),
        0xcf => Some('∉'),
        0xd1 => Some('∇'),
        0xd2 => Some('®'),
        0xd3 => Some('©'),
        0xd4 => Some('™'),
        0xd5 => Some('∏'),
        0xd6 => Some('√'),
        0xd9 => Some('∧'),
        0xda => Some('∨'),
        0xdb => Some('⇔'),
        0xde => Some('⇒'),
        0xe5 => Some('∑'),
        0xf2 => Some('∫'),
        _ => None,
    }
}

fn ding(font: &str, place: u32) -> Option<char> {
    match (font, place) {
        ("wingdings", 0x4a) => Some('☺'),
        ("wingdings", 0x6c | 0x9f) => Some('•'),
        ("wingdings", 0x6e | 0xa7) => Some('▪'),
        ("wingdings", 0x6f | 0xa8) => Some('☐'),
        ("wingdings", 0xdf | 0xe7) => Some('←'),
        ("wingdings", 0xe0 | 0xe8) => Some('→'),
        ("wingdings", 0xfb) => Some('✗'),
        ("wingdings", 0xfc) => Some('✓'),
        ("wingdings", 0xfd) => Some('☒'),
        ("wingdings", 0xfe) => Some('☑'),
        ("wingdings 2", 0x50) => Some('✓'),
        ("wingdings 2", 0x52) => Some('☑'),
        ("wingdings 2", 0x53 | 0x54) => Some('☒'),
        ("wingdings 2", 0xa3) => Some('☐'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_characters() {
        for (font, code, want) in [
            ("Symbol", 0xf061, Some('α')),
            ("Symbol", 0x44, Some('Δ')),
            ("Symbol", 0xf07a, Some('ζ')),
            ("Symbol", 0x32, Some('2')),
            ("Wingdings", 0xf0e0, Some('→')),
            ("Wingdings", 0xf0ff, None),
            ("Arial", 0x2713, Some('✓')),
            ("Arial", 0xf000, None),
            ("Arial", 0x7, None),
        ] {
            assert_eq!(symbol(font, code), want, "{font} {code:x}");
        }
    }
}
