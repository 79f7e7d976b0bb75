//! Where the words of a query stand in a text: the same reading as the index's, with places.

use std::{collections::HashMap, ops::Range};

use unicode_normalization::char::is_combining_mark;

use super::{
    analyzer::{self, is_dense, is_joiner, next_run},
    language::Stems,
    query::LexicalQuery,
};

impl LexicalQuery {
    /// The words of a text that the query asks for: see [`Marker::marks`].
    pub fn marks(&self, text: &str, lang: Option<&str>) -> Vec<(Range<usize>, usize)> {
        self.marker().marks(text, lang)
    }

    /// For several texts.
    pub fn marker(&self) -> Marker<'_> {
        Marker { query: self, tongues: Vec::new() }
    }
}

/// Finds the words of a query in texts. Texts of a collection share most of their words, so each word is stemmed once.
pub struct Marker<'q> {
    query: &'q LexicalQuery,
    /// By language; there are few.
    tongues: Vec<(Option<String>, Tongue)>,
}

impl Marker<'_> {
    /// The words of a text that the query asks for: byte ranges in order, none overlapping, each with its place in
    /// [`words`](LexicalQuery::words). Words are equal if their stems in `lang` are; a name is marked whole for any of its
    /// parts. O(text + query).
    pub fn marks(&mut self, text: &str, lang: Option<&str>) -> Vec<(Range<usize>, usize)> {
        let at = self.tongues.iter().position(|(known, _)| known.as_deref() == lang).unwrap_or_else(|| {
            self.tongues.push((lang.map(str::to_owned), Tongue::new(self.query, lang)));
            self.tongues.len() - 1
        });
        let mut marks = Marks { text, tongue: &mut self.tongues[at].1, found: Vec::new() };
        let mut rest = 0;
        while let Some((start, end)) = next_run(text, rest) {
            marks.run(start, end);
            rest = end;
        }
        marks.found
    }
}

/// A query as one language reads it.
struct Tongue {
    stems: Stems,
    /// Form of a word of the query → its place.
    known: HashMap<String, usize>,
    /// What words of texts came to.
    seen: HashMap<String, Option<usize>>,
}

impl Tongue {
    fn new(query: &LexicalQuery, lang: Option<&str>) -> Self {
        let stems = Stems::of(lang);
        let mut known: HashMap<String, usize> = HashMap::with_capacity(query.words().len());
        for (place, word) in query.words().iter().enumerate() {
            // What comes first of a word is the word itself; its parts are words of their own.
            let mut first = None;
            read(word, &stems, &mut |form| {
                first.get_or_insert_with(|| form.to_owned());
                false
            });
            if let Some(form) = first {
                known.entry(form).or_insert(place);
            }
        }
        Self { stems, known, seen: HashMap::new() }
    }

    /// The place of the first of a piece's forms that is asked for.
    fn place(&mut self, piece: &str) -> Option<usize> {
        if let Some(place) = self.seen.get(piece) {
            return *place;
        }
        let place = self.find(piece, false);
        self.seen.insert(piece.to_owned(), place);
        place
    }

    /// As [`place`](Self::place), without remembering it. `first_only`: of the piece itself, not of its parts.
    fn find(&self, piece: &str, first_only: bool) -> Option<usize> {
        let mut place = None;
        read(piece, &self.stems, &mut |form| {
            place = self.known.get(form).copied();
            place.is_some() || first_only
        });
        place
    }
}

/// Calls `each` with the forms of a text's words, stemmed as in the index, until it says that it has what it wants.
fn read(text: &str, stems: &Stems, each: &mut dyn FnMut(&str) -> bool) {
    let mut done = false;
    analyzer::words(text, &mut |word, _, kind| {
        if !done {
            done = if kind.is_stemmed() { each(&stems.stem(word)) } else { each(word) };
        }
    });
}

struct Marks<'a> {
    text: &'a str,
    tongue: &'a mut Tongue,
    found: Vec<(Range<usize>, usize)>,
}

impl Marks<'_> {
    /// Marks within one run of word characters.
    fn run(&mut self, start: usize, end: usize) {
        let text = self.text;
        let follows = |c: char| is_combining_mark(c) || is_joiner(c);
        let mut at = start;
        while let Some(first) = text[at..end].chars().next() {
            let dense = is_dense(first);
            let piece_end = text[at..end]
                .char_indices()
                .find(|&(_, c)| is_dense(c) != dense && !follows(c))
                .map_or(end, |(length, _)| at + length);
            if dense {
                let letters = text[at..piece_end].char_indices().filter(|&(i, c)| i == 0 || !follows(c));
                let mut places: Vec<usize> = letters.map(|(i, _)| at + i).collect();
                places.push(piece_end);
                self.dense(&places);
            } else {
                self.mark(at, piece_end, false);
            }
            // Not even a mark without its letter may hold the walk up.
            at = piece_end.max(at + first.len_utf8());
        }
    }

    /// Marks pairs of letters of a script without spaces, and letters that the query has alone.
    fn dense(&mut self, places: &[usize]) {
        for (i, letter) in places.windows(2).enumerate() {
            self.mark(letter[0], letter[1], true);
            if let Some(&pair_end) = places.get(i + 2) {
                self.mark(letter[0], pair_end, true);
            }
        }
    }

    /// Marks a piece if any of its forms is asked for (`first_only`: itself, not its parts), or what an earlier mark leaves
    /// of it.
    fn mark(&mut self, start: usize, end: usize, first_only: bool) {
        let Self { text, tongue, found } = self;
        let piece = &text[start..end];
        let place = if first_only { tongue.find(piece, true) } else { tongue.place(piece) };
        let start = found.last().map_or(start, |(last, _)| last.end.max(start));
        if let Some(place) = place.filter(|_| start < end) {
            found.push((start..end, place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The marked parts of a text, for a query of these words.
    fn marked(words: &[&str], text: &str, lang: Option<&str>) -> Vec<String> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let unknown = Vec::new();
        let query = LexicalQuery { words, unknown, groups: Vec::new(), stop_words: Vec::new(), written: None };
        let marks = query.marks(text, lang);
        assert!(
            marks.is_sorted_by(|a, b| a.0.end <= b.0.start)
                && marks.iter().all(|(_, place)| *place < query.words.len())
        );
        marks.into_iter().map(|(range, _)| text[range].to_owned()).collect()
    }

    #[test]
    fn words_are_found_by_their_stems() {
        type Case<'a> = (&'a [&'a str], &'a str, Option<&'a str>, &'a [&'a str]);
        let cases: [Case<'_>; 14] = [
            (&["refund"], "Refunds, REFUNDED; a re-fund", Some("en"), &["Refunds", "REFUNDED"]),
            (&["häuser"], "Das Haus der Häuser", Some("de"), &["Haus", "Häuser"]),
            (&["refund"], "refunds", Some("zh"), &[]),
            (&["книгами"], "О книге и книгах.", Some("ru"), &["книге", "книгах"]),
            (&["user"], "getUserName(user_id, userid)", None, &["getUserName", "user_id"]),
            (&["get_user", "get", "user"], "get_user and get_users", None, &["get_user", "get_users"]),
            (&["1.2", "1", "2"], "v1.2 or 3", None, &["2"]),
            (&["東京", "京都"], "東京都と京都", Some("ja"), &["東京", "都", "京都"]),
            (&["都"], "東京都", Some("ja"), &["都"]),
            (&["東京"], "京東 東", Some("ja"), &[]),
            // Half-width letters are read as full ones, but marked as one run.
            (&["デー", "ータ"], "ﾃﾞｰﾀとデータ", Some("ja"), &["ﾃﾞｰﾀ", "デー", "タ"]),
            (&["full"], "ＦＵＬＬ", None, &["ＦＵＬＬ"]),
            (&[], "anything", None, &[]),
            (&["x"], "", None, &[]),
        ];
        for (words, text, lang, want) in cases {
            assert_eq!(marked(words, text, lang), want, "{words:?} {text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_marked(text in "\\PC{0,60}|[a-zA-Z0-9_.\u{200d}\u{301}漢字ก ]{0,60}", word in "\\PC{0,3}|漢字|字") {
            marked(&[&word, "a", "字"], &text, Some("en"));
        }
    }
}
