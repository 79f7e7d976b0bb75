//! Signs of typesetting into letters: ligatures, presentation forms, accents set as signs of their own.
//!
//! Only in the ranges named here. Nothing else is normalised: ² stays ².

use unicode_normalization::{UnicodeNormalization, char::compose};

/// Whether a character is a ligature, a presentation form or a radical, which stands for letters.
pub fn is_form(letter: char) -> bool {
    matches!(letter, '\u{2e9f}'..='\u{2fd5}' | '\u{fb00}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// The character that a radical is, where fonts give the radical in its place. Those of 2F00–2FD5 are in Unicode's own
/// compatibility forms; these are in its list of equivalent ideographs.
fn of_radical(letter: char) -> Option<char> {
    const PAIRS: [(char, char); 31] = [
        ('⺟', '母'),
        ('⺠', '民'),
        ('⻄', '西'),
        ('⻅', '见'),
        ('⻆', '角'),
        ('⻉', '贝'),
        ('⻋', '车'),
        ('⻑', '長'),
        ('⻓', '长'),
        ('⻔', '门'),
        ('⻗', '雨'),
        ('⻘', '青'),
        ('⻙', '韦'),
        ('⻚', '页'),
        ('⻛', '风'),
        ('⻜', '飞'),
        ('⻝', '食'),
        ('⻢', '马'),
        ('⻣', '骨'),
        ('⻤', '鬼'),
        ('⻥', '鱼'),
        ('⻦', '鸟'),
        ('⻧', '卤'),
        ('⻨', '麦'),
        ('⻩', '黄'),
        ('⻫', '斉'),
        ('⻬', '齐'),
        ('⻭', '歯'),
        ('⻮', '齿'),
        ('⻯', '竜'),
        ('⻰', '龙'),
    ];
    match letter {
        '\u{2f00}'..='\u{2fd5}' => std::iter::once(letter).nfkc().next(),
        _ => PAIRS.iter().find(|(radical, _)| *radical == letter).map(|(_, whole)| *whole),
    }
}

/// Writes ligatures, Arabic and Hebrew presentation forms as the letters they show.
pub fn fold(text: &str, out: &mut String) {
    for letter in text.chars() {
        if matches!(letter, '\u{2e9f}'..='\u{2fd5}') {
            out.push(of_radical(letter).unwrap_or(letter));
        } else if is_form(letter) {
            out.extend(std::iter::once(letter).nfkc());
        } else {
            out.push(letter);
        }
    }
}

/// Writes bullets as such: the codes that Windows's encoding leaves free show one, and so do some of fonts of signs.
pub fn bullets(page: String) -> String {
    let sign = |letter: char| match letter {
        '\u{7f}' | '\u{81}' | '\u{8d}' | '\u{8f}' | '\u{90}' | '\u{9d}' | '\u{f0b7}' => Some('•'),
        '\u{f0a7}' => Some('▪'),
        '\u{f0d8}' => Some('➢'),
        '\u{f0fc}' => Some('✓'),
        _ => None,
    };
    if !page.contains(|letter| sign(letter).is_some()) {
        return page;
    }
    page.chars().map(|letter| sign(letter).unwrap_or(letter)).collect()
}

/// Makes `\n` the only line end.
pub fn line_ends(page: String) -> String {
    if page.contains('\r') { page.replace("\r\n", "\n").replace('\r', "\n") } else { page }
}

/// The combining mark of an accent that stands alone, as old fonts set them: over, or (cedilla, ogonek) under a letter.
fn mark(letter: char) -> Option<char> {
    Some(match letter {
        '\u{a8}' => '\u{308}',
        '\u{b4}' => '\u{301}',
        '`' => '\u{300}',
        '\u{2c6}' => '\u{302}',
        '\u{2dc}' => '\u{303}',
        '\u{2c7}' => '\u{30c}',
        '\u{2da}' => '\u{30a}',
        '\u{2d8}' => '\u{306}',
        '\u{2d9}' => '\u{307}',
        '\u{2dd}' => '\u{30b}',
        '\u{b8}' => '\u{327}',
        '\u{2db}' => '\u{328}',
        _ => return None,
    })
}

/// Letters that bear a cedilla or an ogonek.
fn letter_of_below(mark: char) -> Option<&'static str> {
    match mark {
        '\u{327}' => Some("cCsStT"),
        '\u{328}' => Some("aAeEiIuUoO"),
        _ => None,
    }
}

/// Accents of their own, before or behind their letter, become one letter with it: `¨o` is `ö`, and `c¸` is `ç`. A space
/// between them goes too; the grave accent is one inside a word only, for elsewhere it quotes.
pub fn compose_accents(page: String) -> String {
    if !page.contains(|c| mark(c).is_some()) {
        return page;
    }
    let letters: Vec<char> = page.chars().collect();
    let mut out = String::with_capacity(page.len());
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        at += 1;
        let Some(mark) = mark(letter) else {
            out.push(letter);
            continue;
        };
        let before = out.chars().next_back();
        let in_word = before.is_some_and(char::is_alphabetic);
        let is_below = matches!(letter, '\u{b8}' | '\u{2db}');
        let may_bear = |letter: &char| match letter_of_below(mark) {
            Some(letters) => letters.contains(*letter),
            None => true,
        };
        if is_below && let Some(whole) = before.filter(may_bear).and_then(|before| compose(before, mark)) {
            out.pop();
            out.push(whole);
            continue;
        }
        let is_spaced = letters.get(at) == Some(&' ');
        let next = letters.get(at + usize::from(is_spaced)).map(|&next| match next {
            'ı' => 'i',
            'ȷ' => 'j',
            next => next,
        });
        let may_join = if letter == '`' { in_word && !is_spaced } else { !is_spaced || in_word };
        let whole =
            next.filter(|next| may_join && next.is_alphabetic() && may_bear(next)).and_then(|next| compose(next, mark));
        match whole {
            Some(whole) => {
                out.push(whole);
                at += 1 + usize::from(is_spaced);
            }
            // Some engines give the letter first.
            None if in_word && letter != '`' && !is_below => {
                match before.filter(|_| !next.is_some_and(char::is_alphabetic)).and_then(|b| compose(b, mark)) {
                    Some(whole) => {
                        out.pop();
                        out.push(whole);
                    }
                    None => out.push(letter),
                }
            }
            None => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_folded_in_their_ranges_only() {
        for (text, want) in [
            ("o\u{fb03}ce \u{fb01}ne ²½ Ⅳ", "office fine ²½ Ⅳ"),
            ("\u{feed}\u{fe8d}", "وا"),
            ("\u{fefb}", "لا"),
            ("⻘い⽇本 ⺀", "青い日本 ⺀"),
            ("\u{fb2a}", "ש\u{5c1}"),
        ] {
            let mut out = String::new();
            fold(text, &mut out);
            assert_eq!(out, want);
        }
        assert_eq!(bullets("\u{7f} one \u{f0b7} two".into()), "• one • two");
        assert_eq!(line_ends("a\r\nb\rc".into()), "a\nb\nc");
    }

    #[test]
    fn accents_meet_their_letters() {
        for (text, want) in [
            ("Sch¨on, caf´e, garc\u{b8}on, na¨ıve, ˇcesk´y", "Schön, café, garçon, naïve, český"),
            ("Sch¨ on", "Schön"),
            ("das ¨Ol", "das Öl"),
            ("voil`a", "voilà"),
            ("use `a` and `ls`", "use `a` and `ls`"),
            ("``quoted''", "``quoted''"),
            ("gar¸con", "garçon"),
            ("ga c\u{b8}a", "ga ça"),
            ("an accent ´ alone", "an accent ´ alone"),
            ("5´ 30¨", "5´ 30¨"),
            ("plain", "plain"),
        ] {
            assert_eq!(compose_accents(text.into()), want);
        }
    }
}
