//! An answer on its way to the screen: the text as it comes, without what a reader must not see.
//!
//! Useful for: showing text while it is made. Not for: the final text, which is checked and marked afterwards.

use super::cite::{self, Offered, Piece, Reader};

/// Passes text on with markers in one form, those that point nowhere taken out, and `NO_ANSWER` never shown. Holds back
/// only what is undecided. However the text is cut into pieces, what comes out is the same.
pub(super) struct Stream<'a, O: Offered> {
    reader: Reader<'a, O>,
}

impl<'a, O: Offered> Stream<'a, O> {
    pub fn new(offered: &'a O) -> Self {
        Self { reader: Reader::new(offered) }
    }

    /// What can be shown after more text has come; may be empty.
    pub fn push(&mut self, text: &str) -> String {
        joined(self.reader.push(text))
    }

    /// What was held back.
    pub fn finish(&mut self) -> String {
        joined(self.reader.finish())
    }
}

fn joined(pieces: Vec<Piece>) -> String {
    let text = |piece| match piece {
        Piece::Text(text) => text,
        Piece::Marker(numbers) => cite::marker(&numbers),
    };
    pieces.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::cite::tests::Some5, *};

    const ANSWERS: [&str; 12] = [
        "The office opened in 1987 [1]. It has two doors [2, 9].",
        "【1】一。【2†source】二[3]。",
        "NO_ANSWER",
        "  NO ANSWER. ",
        "NO is not NOT. N",
        "Use arr[1] and `x[2]`:\n```\na[3]\n```\n[4]",
        "See https://acme.example/docs, ![x](https://evil.example/a b) [1].",
        "a [b [1] [c] [12345678901234] [",
        "trailing  \n\n",
        "[1][2] [3-5] [^2]",
        "é🦀[1]🦀 [9] x",
        "**NO_ANSWER** *NO* _ANSWER_",
    ];

    fn streamed(pieces: &[&str]) -> String {
        let mut stream = Stream::new(&Some5);
        let mut out: String = pieces.iter().map(|piece| stream.push(piece)).collect();
        out.push_str(&stream.finish());
        out
    }

    #[test]
    fn every_cut_gives_the_same_text() {
        for answer in ANSWERS {
            let whole = cite::read(answer, &Some5).text;
            assert_eq!(streamed(&[answer]).trim_end(), whole, "{answer}");
            let places: Vec<usize> = (0..=answer.len()).filter(|at| answer.is_char_boundary(*at)).collect();
            for (i, a) in places.iter().enumerate() {
                for b in &places[i..] {
                    let cut = streamed(&[&answer[..*a], &answer[*a..*b], &answer[*b..]]);
                    assert_eq!(cut.trim_end(), whole, "{answer} at {a} and {b}");
                }
            }
            let letters: Vec<&str> = answer.split_inclusive(|_| true).collect();
            assert_eq!(streamed(&letters).trim_end(), whole, "{answer}");
        }
    }

    #[test]
    fn what_is_undecided_is_held_back_and_no_more() {
        let mut stream = Stream::new(&Some5);
        assert_eq!(stream.push("One two"), "One ");
        assert_eq!(stream.push(" [1"), "two");
        assert_eq!(stream.push("] "), " [1]");
        assert_eq!(stream.push("x [not a marker at all"), " x [not a marker at ");
        assert_eq!(stream.push("。"), "all。");
        assert_eq!(stream.push(" NO_"), " ");
        assert_eq!(stream.push("ANSW"), "");
        assert_eq!(stream.push("ER"), "");
        assert_eq!(stream.finish(), "");
    }

    #[test]
    fn no_answer_never_shows() {
        for answer in ["NO_ANSWER", "NO ANSWER", "Well, NO_ANSWER.", "**NO_ANSWER**"] {
            let letters: Vec<&str> = answer.split_inclusive(|_| true).collect();
            let shown = streamed(&letters);
            assert!(!shown.contains("NO") && !shown.contains("ANSWER"), "{answer}: {shown}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_in_any_pieces(pieces in proptest::collection::vec("[a-c\\[\\]0-9,^`\\n NOASWER_.:/【】é-]{0,12}", 0..8)) {
            let whole = pieces.concat();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let out = streamed(&pieces);
            assert_eq!(out.trim_end(), cite::read(&whole, &Some5).text);
        }
    }
}
