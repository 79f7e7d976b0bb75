//! Arabic and Hebrew lines that an engine gives in the order of the eye, from left to right, into reading order.
//!
//! Which order a line has is told by letters that end words and never begin them, and by the Arabic article, which begins
//! them. A line that does not tell goes with its page. What is lost: a ligature of lam and alef has become two letters
//! already, and comes out in the other order.

use unicode_normalization::char::is_combining_mark;

/// Puts the lines of a page in reading order that are not.
pub fn in_reading_order(page: String) -> String {
    if !page.contains(is_rtl) {
        return page;
    }
    let page_votes: i64 = page.lines().map(votes).sum();
    let mut out = String::with_capacity(page.len());
    for line in page.split_inclusive('\n') {
        let (words, end) = line.split_at(line.trim_end_matches('\n').len());
        let votes = votes(words);
        if words.contains(is_rtl) && (votes < 0 || (votes == 0 && page_votes < -1)) {
            reverse(words, &mut out);
        } else {
            out.push_str(words);
        }
        out.push_str(end);
    }
    out
}

fn is_rtl(letter: char) -> bool {
    matches!(letter, '\u{591}'..='\u{5f4}' | '\u{620}'..='\u{65f}' | '\u{66e}'..='\u{6ef}' | '\u{6fa}'..='\u{6ff}' | '\u{750}'..='\u{77f}')
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
    fn marks_stay_on_their_letters() {
        // beh with fatha, in a line that teh marbuta gives away.
        assert_eq!(in_reading_order("ةب\u{64e}تك".to_owned()), "كتب\u{64e}ة");
    }
}
