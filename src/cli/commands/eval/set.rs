//! Questions and judgements, checked against each other and against the documents there are.

use std::{collections::HashSet, path::Path};

use rag::retrieve::{
    MAX_QUERY_BYTES,
    eval::{Qrels, Question},
};

use super::files;
use crate::cli::{output::count, report::Failure};

/// A set of questions that can be asked.
#[derive(Debug)]
pub struct Set {
    /// The judged ones that have a relevant document.
    pub questions: Vec<Question>,
    pub qrels: Qrels,
    /// What does not fit together.
    pub warnings: Vec<String>,
}

impl Set {
    /// Reads both files. Errors: a file or a line of it cannot be read; no question can be measured.
    pub fn read(dir: Option<&Path>, queries: Option<&Path>, qrels: Option<&Path>) -> Result<Self, Failure> {
        Self::new(files::questions(dir, queries)?, files::qrels(dir, qrels)?)
    }

    /// Errors: no question has both a text and a relevant document.
    pub fn new(questions: Vec<Question>, qrels: Qrels) -> Result<Self, Failure> {
        let mut warnings = Vec::new();
        let known: HashSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
        let answerable: HashSet<&str> = qrels.answerable().collect();
        let judged: HashSet<&str> = qrels.queries().collect();
        let absent: Vec<&str> = qrels.answerable().filter(|id| !known.contains(id)).collect();
        warnings.extend(warning("judged but not among the queries, scored 0", &absent, "question"));
        let irrelevant: Vec<&str> = qrels.queries().filter(|id| !answerable.contains(id)).collect();
        warnings.extend(warning("without a relevant document, left out", &irrelevant, "question"));
        let ids = |is: &dyn Fn(&Question) -> bool| -> Vec<&str> {
            questions.iter().filter(|question| is(question)).map(|question| question.id.as_str()).collect()
        };
        let unjudged = ids(&|question| !judged.contains(question.id.as_str()));
        warnings.extend(warning("not judged, not asked", &unjudged, "question"));
        let is_asked = |question: &Question| answerable.contains(question.id.as_str());
        let long = ids(&|question| is_asked(question) && question.text.len() > MAX_QUERY_BYTES);
        warnings.extend(warning(&format!("cut after {MAX_QUERY_BYTES} bytes"), &long, "question"));
        let empty = ids(&|question| is_asked(question) && question.text.trim().is_empty());
        warnings.extend(warning("without a text, scored 0", &empty, "question"));
        if qrels.repeated > 0 {
            let pairs = count(qrels.repeated as u64, "judgement");
            warnings.push(format!("judged again by a later line, which counts: {pairs}"));
        }
        let asked: Vec<Question> = questions.iter().filter(|question| is_asked(question)).cloned().collect();
        if asked.is_empty() {
            let (judged, questions) = (judged.len() as u64, questions.len() as u64);
            let what = format!("nothing to measure: of {} none has judgements", count(questions, "question"));
            return Err(Failure::usage(format!("{what}; {} judged", count(judged, "other")))
                .hint("do the ids of queries and qrels agree, and is a document relevant?"));
        }
        Ok(Self { questions: asked, qrels, warnings })
    }

    /// Takes note of judged documents that are not there. Errors: none of them is.
    pub fn check_documents(&mut self, unknown: &[String]) -> Result<(), Failure> {
        let judged = self.qrels.documents().len();
        let Some(first) = unknown.first() else { return Ok(()) };
        if unknown.len() == judged {
            return Err(Failure::usage(format!("none of the {judged} judged documents is there, `{first}` for one"))
                .hint("are these the judgements of these documents? documents are named by id or by path"));
        }
        let more = if unknown.len() > 1 { ", …" } else { "" };
        self.warnings.push(format!("judged but not there: {} of {judged} documents (`{first}`{more})", unknown.len()));
        Ok(())
    }
}

/// `what: 2 questions (`q1`, …)`, if there are any.
fn warning(what: &str, ids: &[&str], word: &str) -> Option<String> {
    let more = if ids.len() > 1 { ", …" } else { "" };
    ids.first().map(|first| format!("{what}: {} (`{first}`{more})", count(ids.len() as u64, word)))
}
