//! Which part of the text is the answer? Takes a leading `<think>…</think>` out of a text that comes in pieces.
//! Not good for: servers that drop the opening tag; what they send cannot be told from an answer.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// The state between two pieces. White space before the answer is dropped too.
#[derive(Debug, Default)]
pub struct Thinking {
    stage: Stage,
    /// Text that may be the beginning of a tag.
    held: String,
    /// Bytes of reasoning that were taken out.
    pub hidden_bytes: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing but white space and whole `<think>` parts so far.
    #[default]
    Before,
    Inside,
    Answer,
}

impl Thinking {
    /// The part of the answer that this piece completes.
    pub fn push(&mut self, piece: &str) -> String {
        if self.stage == Stage::Answer {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        loop {
            match self.stage {
                Stage::Before => {
                    let text = self.held.trim_start();
                    if let Some(rest) = text.strip_prefix(OPEN) {
                        self.held = rest.to_owned();
                        self.stage = Stage::Inside;
                    } else if OPEN.starts_with(text) {
                        return String::new();
                    } else {
                        self.stage = Stage::Answer;
                        let answer = text.to_owned();
                        self.held.clear();
                        return answer;
                    }
                }
                Stage::Inside => match self.held.find(CLOSE) {
                    Some(at) => {
                        self.hidden_bytes += at;
                        self.held = self.held.split_off(at + CLOSE.len());
                        self.stage = Stage::Before;
                    }
                    None => {
                        // Only what may be the beginning of the closing tag is still needed.
                        let mut keep = self.held.len().saturating_sub(CLOSE.len() - 1);
                        while !self.held.is_char_boundary(keep) {
                            keep += 1;
                        }
                        self.hidden_bytes += keep;
                        self.held = self.held.split_off(keep);
                        return String::new();
                    }
                },
                Stage::Answer => return std::mem::take(&mut self.held),
            }
        }
    }

    /// What was held back and turned out to be no tag.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        if self.stage == Stage::Before { held.trim_start().to_owned() } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str, piece: usize) -> String {
        let mut thinking = Thinking::default();
        let letters: Vec<char> = text.chars().collect();
        let mut out = String::new();
        for piece in letters.chunks(piece) {
            out.push_str(&thinking.push(&piece.iter().collect::<String>()));
        }
        out + &thinking.finish()
    }

    #[test]
    fn leading_thoughts_are_taken_out_however_they_are_cut() {
        for (text, want) in [
            ("", ""),
            ("plain", "plain"),
            ("\n\n plain \n", "plain \n"),
            ("<think>größe</think>\n\nanswer", "answer"),
            (" \n<think>\n</think> a <think>b</think>", "a <think>b</think>"),
            ("<think>a</think><think>b</think>c", "c"),
            ("<think>a </thin k> </think>b", "b"),
            ("<think>never closed 🦀", ""),
            ("<thin", "<thin"),
            ("<thinking>x", "<thinking>x"),
            ("a < b", "a < b"),
            ("<", "<"),
            ("</think>x", "</think>x"),
        ] {
            for piece in [1, 2, 3, 7, 100] {
                assert_eq!(answer(text, piece), want, "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn long_thoughts_are_not_kept() {
        let mut thinking = Thinking::default();
        thinking.push(OPEN);
        for _ in 0..1000 {
            assert_eq!(thinking.push("thinking and thinking and "), "");
            assert!(thinking.held.len() < CLOSE.len());
        }
        assert_eq!(thinking.push("</think>done"), "done");
        assert_eq!(thinking.hidden_bytes, 26_000);
    }
}
