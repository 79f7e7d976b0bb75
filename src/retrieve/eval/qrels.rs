//! Judgements: which document answers which question, and how well.

use std::collections::{BTreeMap, BTreeSet};

use super::beir::{Malformed, Problems};

/// Judgements by question. A grade over 0 is relevant; what is not judged is not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Qrels {
    pub(super) by_query: BTreeMap<String, BTreeMap<String, i32>>,
    /// Lines that judged a pair again; the last one counts.
    pub repeated: usize,
}

impl Qrels {
    /// Reads a file: three columns (`query document grade`, with a header line or without) or the four of TREC
    /// (`query 0 document grade`), between tabs, else between spaces. Errors: the first line that is neither.
    pub fn read(text: &str) -> Result<Self, Malformed> {
        let (mut qrels, mut problems) = (Self::default(), Problems::default());
        let mut is_first = true;
        for (line, number) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().zip(1..) {
            if line.trim().is_empty() {
                continue;
            }
            let may_be_header = std::mem::take(&mut is_first);
            match judgement(line) {
                Ok((query, document, grade)) => qrels.judge(query, document, grade),
                // Of the first line a grade in words is the name of the column.
                Err(NoJudgement::Grade(grade)) if may_be_header && grade.starts_with(char::is_alphabetic) => {}
                Err(NoJudgement::Grade(grade)) => {
                    problems.add(number, format!("`{grade}` is no grade: a whole number is"))
                }
                Err(NoJudgement::Columns(found)) => {
                    problems.add(number, format!("{found} columns; `query document grade` are wanted, or TREC's four"));
                }
            }
        }
        problems.none_or(qrels)
    }

    /// Every judgement: question, document, grade.
    pub fn judgements(&self) -> impl Iterator<Item = (&str, &str, i32)> {
        self.by_query.iter().flat_map(|(query, documents)| {
            documents.iter().map(move |(document, grade)| (query.as_str(), document.as_str(), *grade))
        })
    }

    /// Adds one judgement.
    pub fn judge(&mut self, query: &str, document: &str, grade: i32) {
        let judged = self.by_query.entry(query.to_owned()).or_default();
        self.repeated += usize::from(judged.insert(document.to_owned(), grade).is_some());
    }

    /// Questions that have a judgement.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.by_query.keys().map(String::as_str)
    }

    /// Questions that have a relevant document: the ones that are averaged over.
    pub fn answerable(&self) -> impl Iterator<Item = &str> {
        self.by_query.iter().filter(|(_, judged)| judged.values().any(|grade| *grade > 0)).map(|(id, _)| id.as_str())
    }

    /// Whether a document answers a question.
    pub fn is_relevant(&self, query: &str, document: &str) -> bool {
        self.by_query.get(query).and_then(|judged| judged.get(document)).is_some_and(|grade| *grade > 0)
    }

    /// Documents that are judged, each once.
    pub fn documents(&self) -> BTreeSet<&str> {
        self.by_query.values().flat_map(|judged| judged.keys().map(String::as_str)).collect()
    }

    pub fn len(&self) -> usize {
        self.by_query.values().map(BTreeMap::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.by_query.is_empty()
    }

    /// The same judgements of documents under other names.
    pub fn renamed(&self, name: impl Fn(&str) -> String) -> Self {
        let renamed = |judged: &BTreeMap<String, i32>| judged.iter().map(|(id, grade)| (name(id), *grade)).collect();
        let by_query = self.by_query.iter().map(|(query, judged)| (query.clone(), renamed(judged))).collect();
        Self { by_query, repeated: self.repeated }
    }

    /// As a file with BEIR's header.
    pub fn to_tsv(&self) -> String {
        let mut out = String::from("query-id\tcorpus-id\tscore\n");
        for (query, judged) in &self.by_query {
            for (document, grade) in judged {
                out.push_str(&format!("{query}\t{document}\t{grade}\n"));
            }
        }
        out
    }
}

enum NoJudgement<'a> {
    Grade(&'a str),
    Columns(usize),
}

fn judgement(line: &str) -> Result<(&str, &str, i32), NoJudgement<'_>> {
    let columns: Vec<&str> =
        if line.contains('\t') { line.split('\t').map(str::trim).collect() } else { line.split_whitespace().collect() };
    let (query, document, grade) = match columns[..] {
        [query, document, grade] | [query, _, document, grade] => (query, document, grade),
        _ => return Err(NoJudgement::Columns(columns.len())),
    };
    let number = grade.parse::<f64>().ok().filter(|number| number.fract() == 0.0 && number.abs() <= 1e9);
    number.map(|number| (query, document, number as i32)).ok_or(NoJudgement::Grade(grade))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_say_the_same() {
        let want = Qrels::read("q1\td 1\t2\nq1\td2\t-1\nq2\td2\t0\n").expect("three columns");
        assert_eq!((want.len(), want.answerable().collect::<Vec<_>>()), (3, vec!["q1"]));
        assert_eq!(want.queries().collect::<Vec<_>>(), ["q1", "q2"]);
        assert_eq!(want.documents().into_iter().collect::<Vec<_>>(), ["d 1", "d2"]);
        for text in [
            "query-id\tcorpus-id\tscore\nq1\td 1\t2\nq1\td2\t-1\nq2\td2\t0",
            "\u{feff}q1\t0\td 1\t2\r\nq1\t0\td2\t-1\r\n\r\nq2\tQ0\td2\t0\r\n",
            "q1\td 1\t2.0\nq1\td2\t-1.0\nq2\td2\t0",
        ] {
            assert_eq!(Qrels::read(text), Ok(want.clone()), "{text}");
        }
        assert_eq!(Qrels::read(&want.to_tsv()), Ok(want));
        assert_eq!(Qrels::read("q 0 d 1"), Qrels::read("q d 1"));
        assert_eq!(Qrels::read("q d 1\nq d 0\n").map(|qrels| qrels.repeated), Ok(1));
        assert!(Qrels::read("\n \n").expect("nothing").is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, want) in [
            ("q\td\t1\nq\td\tmuch", "line 2: `much` is no grade: a whole number is"),
            ("q d 0.5", "line 1: `0.5` is no grade: a whole number is"),
            ("q d", "line 1: 2 columns; `query document grade` are wanted, or TREC's four"),
            ("a b c\na b c\na b c d e", "line 2: `c` is no grade: a whole number is (and 1 more such lines)"),
        ] {
            assert_eq!(Qrels::read(text).unwrap_err().to_string(), want, "{text}");
        }
    }
}
