//! What was found for each question, and the files of TREC that hold it.

use std::{collections::BTreeMap, fmt::Write as _};

use super::beir::{Malformed, Problems};
use crate::types::Score;

/// A document found, with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    pub document: String,
    pub score: Score,
}

/// What was found for one question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answers {
    /// Best first; of equal scores the greater id first, as trec_eval has it. Each document once.
    pub ranking: Vec<Scored>,
    /// Of the question as a whole, 0..1; `None` where it is read from a file.
    pub relevance: Option<f32>,
}

impl Answers {
    /// Sorts what was found; of a document that was found several times the best score counts.
    pub fn new(mut found: Vec<Scored>, relevance: Option<f32>) -> Self {
        found.sort_by(|a, b| a.document.cmp(&b.document).then(b.score.total_cmp(&a.score)));
        found.dedup_by(|next, kept| next.document == kept.document);
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.document.cmp(&a.document)));
        Self { ranking: found, relevance }
    }
}

/// What was found, by question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    pub by_query: BTreeMap<String, Answers>,
}

impl Run {
    /// Reads a file of TREC's: `query Q0 document rank score tag`. The scores decide, not the ranks, as in trec_eval.
    /// Errors: the first line that has other columns, or a score that is no number.
    pub fn read(text: &str) -> Result<Self, Malformed> {
        let mut found: BTreeMap<String, Vec<Scored>> = BTreeMap::new();
        let mut problems = Problems::default();
        for (line, number) in text.lines().zip(1..) {
            let columns: Vec<&str> = line.split_whitespace().collect();
            match columns[..] {
                [] => {}
                [query, _, document, _, score, _] => match score.parse::<Score>() {
                    Ok(score) if !score.is_nan() => {
                        let document = document.to_owned();
                        found.entry(query.to_owned()).or_default().push(Scored { document, score });
                    }
                    Ok(_) | Err(_) => problems.add(number, format!("`{score}` is no score")),
                },
                _ => problems
                    .add(number, format!("{} columns; `query Q0 document rank score tag` are wanted", columns.len())),
            }
        }
        let by_query = found.into_iter().map(|(query, found)| (query, Answers::new(found, None))).collect();
        problems.none_or(Self { by_query })
    }

    /// Writes such a file. Scores are read back as the same numbers; white space in ids becomes `%20` and the like.
    pub fn to_trec(&self, tag: &str) -> String {
        let mut out = String::new();
        for (query, answers) in &self.by_query {
            for (Scored { document, score }, rank) in answers.ranking.iter().zip(1..) {
                let (query, document) = (plain(query), plain(document));
                writeln!(out, "{query} Q0 {document} {rank} {score} {tag}").expect("writing to a string");
            }
        }
        out
    }
}

/// An id as it stands in a run file, whose columns white space parts.
pub(super) fn plain(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for letter in id.chars() {
        if letter.is_whitespace() {
            let mut bytes = [0; 4];
            letter
                .encode_utf8(&mut bytes)
                .bytes()
                .for_each(|byte| write!(out, "%{byte:02X}").expect("writing to a string"));
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(document: &str, score: f32) -> Scored {
        Scored { document: document.into(), score }
    }

    #[test]
    fn a_document_counts_once_and_ties_fall_to_the_greater_id() {
        let found = vec![scored("a", 1.0), scored("b", 2.0), scored("a", 3.0), scored("c", 2.0), scored("a", 2.0)];
        let want = [scored("a", 3.0), scored("c", 2.0), scored("b", 2.0)];
        assert_eq!(Answers::new(found, None).ranking, want);
    }

    #[test]
    fn a_run_is_read_back_as_it_was() {
        let mut run = Run::default();
        let odd = vec![scored("a", 0.1 + 0.2), scored("b", f32::MIN_POSITIVE), scored("c", -7.25), scored("d", 1e30)];
        run.by_query.insert("1".into(), Answers::new(odd, None));
        assert_eq!(Run::read(&run.to_trec("x")), Ok(run));
        let mut spaced = Run::default();
        spaced.by_query.insert("q 1".into(), Answers::new(vec![scored("a\tb.md", 1.0)], None));
        assert_eq!(spaced.to_trec("x"), "q%201 Q0 a%09b.md 1 1 x\n");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, want) in [
            ("1 Q0 a 1 0.5 x\n\n1 Q0 a 1 0.5", "line 3: 5 columns; `query Q0 document rank score tag` are wanted"),
            ("1 Q0 a 1 high x\n1 Q0 a 1 NaN x", "line 1: `high` is no score (and 1 more such lines)"),
        ] {
            assert_eq!(Run::read(text).unwrap_err().to_string(), want, "{text}");
        }
    }
}
