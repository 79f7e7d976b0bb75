//! How good are answers? Citation precision and recall, and whether an answer was rightly given or withheld.
//!
//! Useful for: questions whose answers stand at known places. Pure: answers come from outside. Not for: style, and for
//! judging the verifier itself, whose verdicts two of the measures take for granted; the gold ones do not.
//! Source: Gao et al., "Enabling Large Language Models to Generate Text with Citations" (ALCE), EMNLP 2023.

use serde::Deserialize;

use crate::retrieve::{Answer, AnswerStatus, Source, Support};

/// A question with what is known of its answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Question {
    pub id: String,
    pub question: String,
    /// The documents answer it.
    pub answerable: bool,
    /// It uses other words than the documents.
    #[serde(default)]
    pub paraphrased: bool,
    /// Where the answer stands; each of them answers.
    #[serde(default)]
    pub gold: Vec<Gold>,
    /// One sentence that answers rightly.
    #[serde(default)]
    pub answer: String,
}

/// A stretch of a document that answers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Gold {
    /// As the index shows it.
    pub path: String,
    /// Word by word, white space apart.
    pub text: String,
}

/// A line that is no question: its number, from 1, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct NotAQuestion {
    pub line: usize,
    pub why: String,
}

/// Reads questions, one JSON object a line.
pub fn questions(text: &str) -> Result<Vec<Question>, NotAQuestion> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(text, line)| {
            let wrong = |why: String| NotAQuestion { line, why };
            let question: Question = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
            match question.answerable && question.gold.is_empty() {
                true => Err(wrong("it is answerable, but no `gold` says where".to_owned())),
                false => Ok(question),
            }
        })
        .collect()
}

/// What one answer is worth. Counts, so that sums of them are means over citations and sentences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    pub questions: usize,
    /// Answered where the documents answer, withheld where they do not.
    pub rightly_answered: usize,
    pub answerable: usize,
    pub unanswerable: usize,
    /// Withheld where the documents do not answer.
    pub rightly_withheld: usize,
    pub sentences: usize,
    /// Sentences that their citations support together.
    pub supported: usize,
    /// Sentences shown as not supported.
    pub flagged: usize,
    pub citations: usize,
    /// Citations that support their sentence, alone or as a part that is needed.
    pub supporting: usize,
    /// Answers of answerable questions that were given.
    pub given: usize,
    /// Of those, the ones that cite a passage with a gold stretch in it.
    pub gold_cited: usize,
}

impl Score {
    /// Scores one answer.
    pub fn of(question: &Question, answer: &Answer) -> Self {
        let withheld = matches!(answer.status, AnswerStatus::NoAnswer | AnswerStatus::Refused);
        let mut score =
            Self { questions: 1, rightly_answered: usize::from(withheld != question.answerable), ..Self::default() };
        score.answerable = usize::from(question.answerable);
        score.unanswerable = 1 - score.answerable;
        score.rightly_withheld = usize::from(!question.answerable && withheld);
        if withheld {
            return score;
        }
        for sentence in &answer.sentences {
            score.sentences += 1;
            score.supported += usize::from(sentence.state == Support::Supported);
            score.flagged += usize::from(sentence.state == Support::Unsupported);
            // A citation whose marker was taken away is not the answer's any more.
            let cited = sentence.citations.iter().filter(|c| sentence.text.contains(&format!("[{}]", c.n)));
            for citation in cited {
                score.citations += 1;
                score.supporting += usize::from(citation.support == Support::Supported);
            }
        }
        if question.answerable {
            let cited = || answer.sources.iter().filter(|source| source.cited);
            score.given = 1;
            score.gold_cited = usize::from(question.gold.iter().any(|gold| cited().any(|source| holds(source, gold))));
        }
        score
    }

    /// Two sets of answers taken together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            questions: self.questions + other.questions,
            rightly_answered: self.rightly_answered + other.rightly_answered,
            answerable: self.answerable + other.answerable,
            unanswerable: self.unanswerable + other.unanswerable,
            rightly_withheld: self.rightly_withheld + other.rightly_withheld,
            sentences: self.sentences + other.sentences,
            supported: self.supported + other.supported,
            flagged: self.flagged + other.flagged,
            citations: self.citations + other.citations,
            supporting: self.supporting + other.supporting,
            given: self.given + other.given,
            gold_cited: self.gold_cited + other.gold_cited,
        }
    }

    /// Share of citations that support their sentence. 1 where nothing is cited.
    pub fn citation_precision(&self) -> f64 {
        share(self.supporting, self.citations)
    }

    /// Share of sentences that their citations support.
    pub fn citation_recall(&self) -> f64 {
        share(self.supported, self.sentences)
    }

    /// Share of questions rightly answered or rightly left without an answer.
    pub fn abstention_accuracy(&self) -> f64 {
        share(self.rightly_answered, self.questions)
    }

    /// Share of the answers given that cite a gold stretch.
    pub fn gold_precision(&self) -> f64 {
        share(self.gold_cited, self.given)
    }

    /// Share of the answerable questions whose answer cites a gold stretch.
    pub fn gold_recall(&self) -> f64 {
        share(self.gold_cited, self.answerable)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// The passage of a source has the gold stretch, wherever lines break.
fn holds(source: &Source, gold: &Gold) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    source.path == gold.path && plain(&source.text).contains(&plain(&gold.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        retrieve::{AskTimings, Citation, Sentence, Strength},
        types::{SourceId, Span},
    };

    fn answer(status: AnswerStatus, citations: &[(u32, Support)], state: Support) -> Answer {
        let text = "It costs £4 [1].".to_owned();
        let citation = |(n, support): &(u32, Support)| Citation {
            n: *n,
            support: *support,
            score: 1.0,
            quote: String::new(),
            quote_span: Span::new(0, 0),
            attached: false,
        };
        let sentence = Sentence {
            range: 0..text.len(),
            text: text.clone(),
            citations: citations.iter().map(citation).collect(),
            state,
            reason: None,
        };
        let source = Source {
            n: 1,
            chunks: Vec::new(),
            source: SourceId(1),
            path: "a.md".into(),
            title: None,
            heading: Vec::new(),
            lines: None,
            pages: None,
            span: Span::new(0, 12),
            text: "It costs\n£4.".into(),
            hash: String::new(),
            score: 1.0,
            relevance: 1.0,
            cited: true,
            copies: Vec::new(),
            freshness: crate::types::Freshness::default(),
        };
        Answer {
            status,
            question: String::new(),
            searched: None,
            text,
            sentences: vec![sentence],
            sources: vec![source],
            invalid_citations: Vec::new(),
            truncated: false,
            strength: Strength::Found,
            relevance: 1.0,
            model_requested: None,
            model_returned: None,
            usage: None,
            generation: 1,
            notes: Vec::new(),
            timings: AskTimings::default(),
        }
    }

    #[test]
    fn scores_are_shares_of_what_was_said() {
        let text = "{\"id\":\"a\",\"question\":\"q\",\"answerable\":true,\"gold\":[{\"path\":\"a.md\",\"text\":\"costs £4\"}]}\n\n\
            {\"id\":\"b\",\"question\":\"q\",\"answerable\":false}\n";
        let questions = questions(text).unwrap();
        let right = answer(AnswerStatus::Answered, &[(1, Support::Supported)], Support::Supported);
        let wrong = answer(AnswerStatus::Answered, &[(1, Support::Unsupported)], Support::Unsupported);
        let mut none = answer(AnswerStatus::NoAnswer, &[], Support::Weak);
        none.sentences.clear();
        let all = [(0, &right), (0, &wrong), (0, &none), (1, &right), (1, &none)];
        let sum =
            all.into_iter().map(|(at, answer)| Score::of(&questions[at], answer)).fold(Score::default(), Score::plus);
        assert_eq!((sum.questions, sum.answerable, sum.unanswerable), (5, 3, 2));
        assert_eq!((sum.citation_precision(), sum.citation_recall()), (2.0 / 3.0, 2.0 / 3.0));
        assert_eq!(sum.abstention_accuracy(), 3.0 / 5.0);
        assert_eq!((sum.gold_precision(), sum.gold_recall()), (1.0, 2.0 / 3.0));
        assert_eq!((sum.flagged, sum.rightly_withheld), (1, 1));
        assert_eq!(Score::default().citation_precision(), 1.0);
    }

    #[test]
    fn a_bad_line_is_named() {
        assert_eq!(questions("\n{}").unwrap_err().line, 2);
        let no_gold = "{\"id\":\"a\",\"question\":\"q\",\"answerable\":true}";
        assert!(questions(no_gold).unwrap_err().to_string().contains("gold"));
    }
}
