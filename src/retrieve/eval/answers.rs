//! How good are answers? Citation precision and recall, whether the place that answers was quoted, and whether an answer
//! was rightly given or withheld.
//!
//! Useful for: questions whose answers stand at known places. Pure: answers come from outside. Not for: style, and for
//! judging the verifier itself, whose verdicts two of the measures take for granted; the others do not.
//! Source: Gao et al., "Enabling Large Language Models to Generate Text with Citations" (ALCE), EMNLP 2023.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::bootstrap::{Estimate, Share, estimate_shares};
use crate::retrieve::{Answer, AnswerStatus, Source, Support};

/// A question with what is known of its answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub id: String,
    pub question: String,
    #[serde(default)]
    pub kind: Kind,
    /// Where the answer stands; each of them answers. None where the documents do not answer.
    #[serde(default)]
    pub gold: Vec<Gold>,
}

/// How a question stands to the documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It uses words of the sentence that answers.
    #[default]
    Direct,
    /// It avoids them.
    Paraphrased,
    /// The documents do not answer it.
    Unanswerable,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Paraphrased => "paraphrased",
            Self::Unanswerable => "unanswerable",
        }
    }
}

impl Question {
    pub fn is_answerable(&self) -> bool {
        self.kind != Kind::Unanswerable
    }
}

/// A stretch of a document that answers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gold {
    /// As the index shows it, or its last parts.
    pub path: String,
    /// Word by word, white space apart.
    pub text: String,
}

impl Gold {
    /// The path of a source is meant: `handbook.md` is `docs/handbook.md`.
    pub fn is_of(&self, path: &str) -> bool {
        path.strip_suffix(self.path.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }

    /// The text holds the stretch, wherever lines break.
    pub fn is_in(&self, text: &str) -> bool {
        plain(text).contains(&plain(&self.text))
    }
}

/// A line that is no question: its number, from 1, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct NotAQuestion {
    pub line: usize,
    pub why: String,
}

/// Reads questions, one JSON object a line. Errors: a line that is none, lacks its gold or has what it must not have, an
/// id that comes twice.
pub fn questions(text: &str) -> Result<Vec<Question>, NotAQuestion> {
    let mut questions: Vec<Question> = Vec::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let wrong = |why: String| NotAQuestion { line: number, why };
        let question: Question = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        match (question.is_answerable(), question.gold.is_empty()) {
            (true, true) => return Err(wrong("it is answerable, but no `gold` says where".to_owned())),
            (false, false) => return Err(wrong("it is unanswerable, but has `gold`".to_owned())),
            (true, false) | (false, true) => {}
        }
        if question.gold.iter().any(|gold| gold.text.trim().is_empty()) {
            return Err(wrong("an empty `gold` text is in every answer".to_owned()));
        }
        if questions.iter().any(|known| known.id == question.id) {
            return Err(wrong(format!("the id `{}` has been used before", question.id)));
        }
        questions.push(question);
    }
    Ok(questions)
}

/// What is measured of answers. Each is a share, 0..1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Of the citations: those that support their sentence, alone or as a part that is needed.
    CitationPrecision,
    /// Of the sentences: those that their citations support together.
    CitationRecall,
    /// Of the answerable questions: those with a gold stretch in the answer or in what its citations quote.
    SpanAtAnswer,
    /// Of the answerable questions: those whose answer cites a passage with a gold stretch in it.
    SpanAtSource,
    /// Of the answerable questions: those that got an answer at all.
    Answered,
    /// Of the answerable questions: those that got none. Lower is better.
    FalseAbstention,
    /// Of the unanswerable questions: those that rightly got no answer.
    Abstention,
}

/// In the order they are shown.
pub const MEASURES: [Measure; 7] = [
    Measure::SpanAtAnswer,
    Measure::SpanAtSource,
    Measure::CitationPrecision,
    Measure::CitationRecall,
    Measure::Abstention,
    Measure::FalseAbstention,
    Measure::Answered,
];

impl fmt::Display for Measure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::CitationPrecision => "citation-precision",
            Self::CitationRecall => "citation-recall",
            Self::SpanAtAnswer => "span@answer",
            Self::SpanAtSource => "span@source",
            Self::Answered => "answered",
            Self::FalseAbstention => "false-abstention",
            Self::Abstention => "abstention",
        })
    }
}

/// The name is none of a measure of answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not measured of answers; there are `span@answer`, `span@source`, `citation-precision`, `citation-recall`, \
     `abstention`, `answered` and `false-abstention`"
)]
pub struct NoMeasure(String);

impl FromStr for Measure {
    type Err = NoMeasure;

    fn from_str(text: &str) -> Result<Self, NoMeasure> {
        let name = text.trim().to_ascii_lowercase();
        MEASURES.into_iter().find(|measure| measure.to_string() == name).ok_or_else(|| NoMeasure(text.to_owned()))
    }
}

/// What one answer is worth. Counts, so that sums of them are means over citations and sentences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    pub answerable: usize,
    pub unanswerable: usize,
    /// Withheld where the documents do not answer.
    pub rightly_withheld: usize,
    /// Answers of answerable questions that were given.
    pub given: usize,
    pub sentences: usize,
    /// Sentences that their citations support together.
    pub supported: usize,
    /// Sentences shown as not supported.
    pub flagged: usize,
    pub citations: usize,
    /// Citations that support their sentence, alone or as a part that is needed.
    pub supporting: usize,
    /// Answers of answerable questions with a gold stretch in them or in what they quote.
    pub gold_quoted: usize,
    /// Those that cite a passage with a gold stretch in it.
    pub gold_cited: usize,
}

/// No answer was given.
pub fn is_withheld(answer: &Answer) -> bool {
    matches!(answer.status, AnswerStatus::NoAnswer | AnswerStatus::Refused)
}

impl Score {
    /// Scores one answer.
    pub fn of(question: &Question, answer: &Answer) -> Self {
        let answerable = question.is_answerable();
        let withheld = is_withheld(answer);
        let mut score = Self {
            answerable: usize::from(answerable),
            unanswerable: usize::from(!answerable),
            rightly_withheld: usize::from(!answerable && withheld),
            ..Self::default()
        };
        if withheld {
            return score;
        }
        let mut quoted = Vec::new();
        for sentence in &answer.sentences {
            score.sentences += 1;
            score.supported += usize::from(sentence.state == Support::Supported);
            score.flagged += usize::from(sentence.state == Support::Unsupported);
            // A citation whose marker was taken away is not the answer's any more.
            let cited = sentence.citations.iter().filter(|c| sentence.text.contains(&format!("[{}]", c.n)));
            for citation in cited {
                score.citations += 1;
                score.supporting += usize::from(citation.support == Support::Supported);
                if citation.support == Support::Supported {
                    let source = answer.sources.iter().find(|source| source.n == citation.n);
                    quoted.extend(source.map(|source| (source.path.as_str(), citation.quote.as_str())));
                }
            }
        }
        if answerable {
            let cited = || answer.sources.iter().filter(|source| source.cited);
            // Words of the answer count where it cites the document they are from.
            let says = |gold: &Gold| {
                quoted.iter().any(|(path, quote)| gold.is_of(path) && gold.is_in(quote))
                    || gold.is_in(&answer.text) && cited().any(|source| gold.is_of(&source.path))
            };
            score.given = 1;
            score.gold_quoted = usize::from(question.gold.iter().any(says));
            score.gold_cited = usize::from(question.gold.iter().any(|gold| cited().any(|source| holds(source, gold))));
        }
        score
    }

    /// Two sets of answers taken together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            answerable: self.answerable + other.answerable,
            unanswerable: self.unanswerable + other.unanswerable,
            rightly_withheld: self.rightly_withheld + other.rightly_withheld,
            given: self.given + other.given,
            sentences: self.sentences + other.sentences,
            supported: self.supported + other.supported,
            flagged: self.flagged + other.flagged,
            citations: self.citations + other.citations,
            supporting: self.supporting + other.supporting,
            gold_quoted: self.gold_quoted + other.gold_quoted,
            gold_cited: self.gold_cited + other.gold_cited,
        }
    }

    /// What a measure counts, and among how many.
    pub fn share(&self, measure: Measure) -> Share {
        let (part, whole) = match measure {
            Measure::CitationPrecision => (self.supporting, self.citations),
            Measure::CitationRecall => (self.supported, self.sentences),
            Measure::SpanAtAnswer => (self.gold_quoted, self.answerable),
            Measure::SpanAtSource => (self.gold_cited, self.answerable),
            Measure::Answered => (self.given, self.answerable),
            Measure::FalseAbstention => (self.answerable - self.given, self.answerable),
            Measure::Abstention => (self.rightly_withheld, self.unanswerable),
        };
        Share { part: part as f64, whole: whole as f64 }
    }
}

/// Each measure over all answers, with its interval; `None` where there was nothing to measure.
pub fn estimates(scores: &[Score], measures: &[Measure]) -> Vec<Option<Estimate>> {
    let rows: Vec<Vec<Share>> =
        scores.iter().map(|score| measures.iter().map(|measure| score.share(*measure)).collect()).collect();
    estimate_shares(&rows, measures.len())
}

/// The passage of a source has the gold stretch.
fn holds(source: &Source, gold: &Gold) -> bool {
    gold.is_of(&source.path) && gold.is_in(&source.text)
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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

    fn question(text: &str) -> Question {
        questions(text).unwrap().remove(0)
    }

    #[test]
    fn scores_are_shares_of_what_was_said() {
        let known = question(r#"{"id":"a","question":"q","gold":[{"path":"a.md","text":"costs £4"}]}"#);
        let unknown = question(r#"{"id":"b","question":"q","kind":"unanswerable"}"#);
        assert_eq!((known.kind, unknown.kind), (Kind::Direct, Kind::Unanswerable));
        let right = answer(AnswerStatus::Answered, &[(1, Support::Supported)], Support::Supported);
        let wrong = answer(AnswerStatus::Answered, &[(1, Support::Unsupported)], Support::Unsupported);
        let mut none = answer(AnswerStatus::NoAnswer, &[], Support::Weak);
        none.sentences.clear();
        let all = [(&known, &right), (&known, &wrong), (&known, &none), (&unknown, &right), (&unknown, &none)];
        let scores: Vec<Score> = all.into_iter().map(|(question, answer)| Score::of(question, answer)).collect();
        let sum = scores.iter().copied().fold(Score::default(), Score::plus);
        let want = [
            (Measure::CitationPrecision, 2.0, 3.0),
            (Measure::CitationRecall, 2.0, 3.0),
            (Measure::SpanAtAnswer, 2.0, 3.0),
            (Measure::SpanAtSource, 2.0, 3.0),
            (Measure::Answered, 2.0, 3.0),
            (Measure::FalseAbstention, 1.0, 3.0),
            (Measure::Abstention, 1.0, 2.0),
        ];
        for (measure, part, whole) in want {
            assert_eq!(sum.share(measure), Share { part, whole }, "{measure}");
        }
        assert_eq!(sum.flagged, 1);
        let found = estimates(&scores, &MEASURES);
        assert_eq!(found[0].map(|estimate| estimate.mean), Some(2.0 / 3.0));
        assert_eq!(estimates(&scores[..1], &[Measure::Abstention]), [None], "nothing unanswerable was asked");
    }

    #[test]
    fn a_gold_stretch_must_be_quoted_from_its_document() {
        let right = answer(AnswerStatus::Answered, &[(1, Support::Supported)], Support::Supported);
        let score = |path: &str, text: &str| {
            let gold = vec![Gold { path: path.into(), text: text.into() }];
            let question = Question { id: "a".into(), question: "q".into(), kind: Kind::Direct, gold };
            let score = Score::of(&question, &right);
            (score.gold_quoted, score.gold_cited)
        };
        assert_eq!(score("a.md", "costs  £4"), (1, 1));
        assert_eq!(score("b.md", "costs £4"), (0, 0));
        assert_eq!(score("a.md", "costs £5"), (0, 0));
        // The end of the answer's own sentence has a marker where the passage has a full stop.
        assert_eq!(score("a.md", "costs £4."), (0, 1));
        let gold = Gold { path: "a.md".into(), text: "x".into() };
        assert!(gold.is_of("docs/a.md") && !gold.is_of("docs/ba.md") && !gold.is_of("a.md/b"));
    }

    #[test]
    fn a_bad_line_is_named() {
        let line = |text: &str| questions(text).unwrap_err();
        assert_eq!(line("\n{}").line, 2);
        let no_gold = r#"{"id":"a","question":"q","kind":"paraphrased"}"#;
        assert!(line(no_gold).to_string().contains("no `gold`"));
        let too_much = r#"{"id":"a","question":"q","kind":"unanswerable","gold":[{"path":"a","text":"b"}]}"#;
        assert!(line(too_much).to_string().contains("has `gold`"));
        let twice = r#"{"id":"a","question":"q","kind":"unanswerable"}"#;
        assert_eq!(line(&format!("{twice}\n{twice}")).line, 2);
        assert!(line(r#"{"id":"a","question":"q","gold":[{"path":"a","text":" "}]}"#).why.contains("empty"));
    }

    #[test]
    fn measures_have_names() {
        for measure in MEASURES {
            assert_eq!(measure.to_string().parse(), Ok(measure));
        }
        assert!("ndcg@10".parse::<Measure>().is_err());
    }
}
