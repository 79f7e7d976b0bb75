//! Arabic and Hebrew lines that an engine gives in the order of the eye, from left to right, into reading order.
//!
//! Which order a line has is told by letters that end words and never begin them, and by the Arabic article, which begins
//! them. A line that does not tell goes with its page. A ligature of lam and alef that has become two letters already
//! comes out in the other order; that is mended where no word could be written so.

use super::forms;
use unicode_normalization::char::is_combining_mark;

/// Puts the lines of a page in reading order that are not, and writes presentation forms as letters.
pub fn in_reading_order(page: String) -> String {
    if !page.contains(is_rtl) {
        if !page.contains(forms::is_form) {
            return page;
        }
        let mut out = String::with_capacity(page.len());
        forms::fold(&page, &mut out);
        return out;
    }
    let folded = |line: &str| {
        let mut out = String::with_capacity(line.len());
        forms::fold(line, &mut out);
        out
    };
    let page_votes: i64 = page.lines().map(|line| votes(&folded(line))).sum();
    let mut out = String::with_capacity(page.len());
    for line in page.split_inclusive('\n') {
        let (words, end) = line.split_at(line.trim_end_matches('\n').len());
        let votes = votes(&folded(words));
        if words.contains(is_rtl) && (votes < 0 || (votes == 0 && page_votes < -1)) {
            let mut turned = String::with_capacity(words.len());
            // Forms are folded when their line is turned: a ligature turns as one.
            reverse(words, &mut turned);
            mend_lam_alef(&folded(&turned), &mut out);
        } else {
            mend_lam_alef(&folded(words), &mut out);
        }
        out.push_str(end);
    }
    out
}

/// Alef before an alef with a sign or another alef, and then lam: no word is written so, but for a ligature of lam and alef
/// that was turned round.
fn mend_lam_alef(line: &str, out: &mut String) {
    let letters: Vec<char> = line.chars().collect();
    let mut at = 0;
    let mut in_word = false;
    while let Some(&letter) = letters.get(at) {
        if !in_word
            && let Some(&['ا', second @ ('ا' | 'أ' | 'إ' | 'آ'), 'ل', after]) = letters.get(at..at + 4)
            && after.is_alphabetic()
        {
            out.extend(['ا', 'ل', second]);
            at += 3;
            in_word = true;
            continue;
        }
        // Particles of one letter stand before the article without a space.
        in_word = letter.is_alphabetic() && (in_word || !matches!(letter, 'و' | 'ب' | 'ف' | 'ك'));
        out.push(letter);
        at += 1;
    }
}

/// Letters and signs of Arabic and Hebrew; their digits are none, for they run from left to right.
pub fn is_rtl(letter: char) -> bool {
    matches!(letter, '\u{591}'..='\u{5f4}' | '\u{608}' | '\u{60b}'..='\u{65f}' | '\u{66e}'..='\u{6ef}' | '\u{6fa}'..='\u{8ff}'
        | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Letters that stand at the end of a word only: teh marbuta, alef maksura, and the five final letters of Hebrew.
fn is_final(letter: char) -> bool {
    matches!(letter, 'ة' | 'ى' | 'ך' | 'ם' | 'ן' | 'ף' | 'ץ')
}

/// Words that stand in reading order, less those that stand in the order of the eye.
fn votes(line: &str) -> i64 {
    let mut votes = 0;
    for word in line.split(|c: char| !is_rtl(c)).filter(|word| word.chars().nth(2).is_some()) {
        let begins_final = word.starts_with(is_final);
        let ends_final = word.ends_with(is_final);
        votes += i64::from(ends_final) - i64::from(begins_final);
        votes += i64::from(word.starts_with("ال")) - i64::from(word.ends_with("لا"));
    }
    votes
}

/// Appends a line read from right to left; numbers and words in other letters keep their direction.
fn reverse(line: &str, out: &mut String) {
    // Letters with their marks, last first.
    let mut clusters: Vec<&str> = Vec::new();
    let mut start = 0;
    for (at, letter) in line.char_indices().skip(1) {
        if !is_combining_mark(letter) {
            clusters.push(&line[start..at]);
            start = at;
        }
    }
    clusters.push(&line[start..]);
    clusters.reverse();
    let is_left = |cluster: &str| cluster.starts_with(|c: char| c.is_alphanumeric() && !is_rtl(c));
    let mut at = 0;
    while at < clusters.len() {
        if !is_left(clusters[at]) {
            out.push_str(mirrored(clusters[at]));
            at += 1;
            continue;
        }
        // As far as the last letter or digit of its kind before a letter of ours: signs between them belong to them.
        let run = clusters[at..].iter().take_while(|cluster| !cluster.starts_with(is_rtl));
        let length = run.enumerate().filter(|(_, cluster)| is_left(cluster)).map(|(i, _)| i + 1).last().unwrap_or(1);
        clusters[at..at + length].iter().rev().for_each(|cluster| out.push_str(cluster));
        at += length;
    }
}

/// Brackets face the other way.
fn mirrored(cluster: &str) -> &str {
    match cluster {
        "(" => ")",
        ")" => "(",
        "[" => "]",
        "]" => "[",
        "«" => "»",
        "»" => "«",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_the_order_of_the_eye_are_turned() {
        for (seen, read) in [
            ("ةغلب ةجمربلا", "البرمجة بلغة"),
            ("15.4 ab ةغلب 2024/01 Python 3 ةجمربلا", "البرمجة 2024/01 Python 3 بلغة 15.4 ab"),
            ("םולש", "שלום"),
            ("plain text\nםולש\n(בוט) םולש", "plain text\nשלום\nשלום (טוב)"),
        ] {
            let got = in_reading_order(seen.to_owned());
            assert!(got.starts_with(read), "{got} is not {read}");
        }
    }

    #[test]
    fn lines_in_reading_order_stay() {
        for text in ["البرمجة بلغة Python", "שלום (עולם)", "حبيبي", "no such letters", "", "مَرحبا"]
        {
            assert_eq!(in_reading_order(text.to_owned()), text);
        }
    }

    #[test]
    fn lam_and_alef_are_mended() {
        for (seen, read) in [
            // As forms: the ligature of lam and alef with hamza below is one sign.
            ("\u{fe94}\u{fef4}\u{fe9f}\u{fe8e}\u{fe98}\u{fee7}\u{fef9}\u{fe8d}", "الإنتاجية"),
            ("اإلنتاجية", "الإنتاجية"),
            ("واألول", "والأول"),
            ("قال األب", "قال الأب"),
        ] {
            assert_eq!(in_reading_order(seen.to_owned()), read);
        }
    }

    #[test]
    fn marks_stay_on_their_letters() {
        // beh with fatha, in a line that teh marbuta gives away.
        assert_eq!(in_reading_order("ةب\u{64e}تك".to_owned()), "كتب\u{64e}ة");
    }
}
