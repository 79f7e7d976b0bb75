//! What was said before: follow-up questions in words that stand alone, and how much of it a prompt holds.
//!
//! Useful for: conversations of a few turns, with a model or without. Not for: remembering anything by itself; the caller
//! keeps the turns.

use std::ops::ControlFlow;

use super::{Ask, Error, Result, budget, words::Tongue, words::Word};
use crate::model::{self, Chat, ChatRequest, Finish, Message, Role, Usage};

/// Earlier turns take at most this part of a context: passages matter more.
const HISTORY_PART: usize = 4;
/// Turns a model gets to read at most.
const MAX_TURNS: usize = 8;
/// Turns a model gets to read for putting a question in other words.
const REWRITE_TURNS: usize = 3;
/// Characters of an answer that are enough to know what was spoken of.
const REWRITE_ANSWER_CHARS: usize = 500;
const REWRITE_TOKENS: u32 = 120;
/// A longer question is not one that was put in other words.
const MAX_REWRITTEN_CHARS: usize = 400;
/// A question of so few content words is taken for a follow-up.
const SHORT_WORDS: usize = 2;
/// Words carried over from the last question, and from its answer.
const CARRIED_WORDS: usize = 8;
const CARRIED_OF_ANSWER: usize = 3;

const REWRITE: &str = "You are given a conversation and a follow-up question. Put the follow-up question in words that can be \
    understood without the conversation: replace pronouns and add what is left out. Do not answer it. If it can be \
    understood as it is, repeat it unchanged. Keep its language. Reply with the question alone, on one line.";

/// A question and the answer it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub question: String,
    /// With its markers or without.
    pub answer: String,
    /// What was searched for, if it was not the question.
    pub searched: Option<String>,
}

impl Turn {
    /// The answer without markers, which number the passages of its own prompt.
    pub(super) fn without_markers(&self) -> String {
        let mut out = String::with_capacity(self.answer.len());
        let mut rest = self.answer.as_str();
        while let Some(at) = rest.find('[') {
            let (before, bracket) = rest.split_at(at);
            let end = bracket.find(']').filter(|end| bracket[1..*end].bytes().all(|b| b.is_ascii_digit()) && *end > 1);
            match end {
                Some(end) => {
                    out.push_str(before.trim_end_matches(' '));
                    rest = &bracket[end + 1..];
                }
                None => {
                    out.push_str(before);
                    out.push('[');
                    rest = &bracket[1..];
                }
            }
        }
        out.push_str(rest);
        out.trim().to_owned()
    }
}

/// A question put in words that stand alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Standalone {
    pub text: String,
    /// What the model's words cost; `None` if no model was asked.
    pub usage: Option<Usage>,
}

/// The question in words that stand alone: the model's, or, without one, with the words it goes on from. `None` if it
/// stands alone already. Errors: `Cancelled`; any other error of the model is left to the answer to meet.
pub(super) fn standalone(chat: Option<&dyn Chat>, ask: &Ask) -> Result<Option<Standalone>> {
    if ask.history.is_empty() {
        return Ok(None);
    }
    let question = ask.query.text.as_str();
    let mut usage = None;
    if let Some(chat) = chat {
        match chat.chat(&rewrite_request(question, &ask.history), &mut |_| ControlFlow::Continue(())) {
            Ok(completion) => {
                usage = Some(completion.usage);
                if completion.finish == Finish::Stop
                    && let Some(text) = rewritten(&completion.text)
                {
                    return Ok(Some(Standalone { text, usage }));
                }
            }
            Err(error @ model::Error::Cancelled) => return Err(Error::Model(error)),
            Err(_) => {}
        }
    }
    let carried = carried_over(question, &ask.history);
    Ok(carried.or_else(|| usage.map(|_| question.to_owned())).map(|text| Standalone { text, usage }))
}

fn rewrite_request(question: &str, history: &[Turn]) -> ChatRequest {
    let mut content = String::from("Conversation:\n");
    for turn in &history[history.len().saturating_sub(REWRITE_TURNS)..] {
        let answer: String = turn.without_markers().chars().take(REWRITE_ANSWER_CHARS).collect();
        content.push_str(&format!("User: {}\nAssistant: {}\n", one_line(&turn.question), one_line(&answer)));
    }
    content.push_str(&format!("\nFollow-up question: {}\nQuestion that stands alone:", one_line(question)));
    ChatRequest {
        messages: vec![
            Message { role: Role::System, content: REWRITE.to_owned() },
            Message { role: Role::User, content },
        ],
        max_tokens: REWRITE_TOKENS,
        stream: false,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The question in a model's reply, if there is one and nothing else.
fn rewritten(reply: &str) -> Option<String> {
    let mut lines = reply.lines().map(str::trim).filter(|line| !line.is_empty());
    let (line, None) = (lines.next()?, lines.next()) else { return None };
    let line = line.strip_prefix("Question that stands alone:").or(line.strip_prefix("Question:")).unwrap_or(line);
    let line = line.trim().trim_matches(['"', '“', '”', '*', '`']).trim();
    let fits = line.chars().count() <= MAX_REWRITTEN_CHARS && line.chars().any(char::is_alphanumeric);
    // `It costs £4 [1].` is an answer.
    let answers = line.contains("[1]") || line.contains(super::prompt::NO_ANSWER);
    (fits && !answers).then(|| line.to_owned())
}

/// A follow-up question with the content words of what it goes on from; `None` if it stands alone.
fn carried_over(question: &str, history: &[Turn]) -> Option<String> {
    let last = history.last()?;
    // The turns know no language; English function words are told from others by their stop list.
    let lang = whatlang::detect_lang(&format!("{} {question}", last.question)).map(|lang| match lang {
        whatlang::Lang::Deu => "de",
        whatlang::Lang::Spa => "es",
        whatlang::Lang::Fra => "fr",
        _ => "en",
    });
    let mut tongue = Tongue::of(lang);
    let own = tongue.words(question);
    if !goes_on(&own) {
        return None;
    }
    let mut carried: Vec<(String, String)> = Vec::new();
    let mut take = |text: &str, most: usize, words: Vec<Word>, named: bool| {
        let mut taken = 0;
        for word in words.into_iter().filter(|word| !word.stop) {
            let written = &text[word.range.clone()];
            let is_name = written.chars().any(|c| c.is_uppercase() || c.is_numeric()) && word.range.start > 0;
            let known = own.iter().any(|own| own.stem == word.stem);
            let twice = carried.iter().any(|(stem, _)| *stem == word.stem);
            if taken < most && !known && !twice && (is_name || !named) {
                carried.push((word.stem, written.to_owned()));
                taken += 1;
            }
        }
    };
    let before = last.searched.as_deref().unwrap_or(&last.question);
    let words = tongue.words(before);
    take(before, CARRIED_WORDS - CARRIED_OF_ANSWER, words, false);
    let answer = last.without_markers();
    let first = answer.split_inclusive(['.', '。', '\n']).next().unwrap_or_default();
    let words = tongue.words(first);
    take(first, CARRIED_OF_ANSWER, words, true);
    if carried.is_empty() {
        return None;
    }
    let carried: Vec<String> = carried.into_iter().map(|(_, written)| written).collect();
    Some(format!("{question} ({})", carried.join(" ")))
}

/// The question leans on what was said: it is short, begins with `and` or its like, or has a pronoun.
fn goes_on(words: &[Word]) -> bool {
    const BEGINNINGS: &str = "and but or so then also und aber oder y pero o et mais ou";
    const PRONOUNS: &str = "it its they them their theirs this that these those he him his she her hers one ones there then \
        same former latter er ihn ihm sie ihr ihnen es dies diese dieser dieses davon dafür damit dort ello ella ellos ellas \
        eso esto esa ese il elle ils elles lui leur cela ça celui celle";
    let is = |list: &str, word: &Word| list.split_whitespace().any(|known| known == word.norm);
    // `What about …`, `is there a …` name nothing said before.
    let there_is = |at: usize| {
        words[at].norm == "there"
            && at.checked_sub(1).is_some_and(|at| matches!(words[at].norm.as_str(), "is" | "are" | "was" | "were"))
    };
    let content = words.iter().filter(|word| !word.stop).count();
    let pronoun = words.iter().enumerate().any(|(at, word)| is(PRONOUNS, word) && !there_is(at));
    content <= SHORT_WORDS || pronoun || words.first().is_some_and(|word| is(BEGINNINGS, word))
}

/// The last turns that fit into their part of a context.
pub(super) fn recent(history: &[Turn], context_tokens: usize) -> &[Turn] {
    let mut left = context_tokens / HISTORY_PART;
    let mut from = history.len();
    for turn in history.iter().rev().take(MAX_TURNS) {
        let cost = budget::tokens(&turn.question) + budget::tokens(&turn.answer) + 2 * budget::MESSAGE_TOKENS;
        // Nothing was answered, so nothing can be gone on from.
        let Some(rest) = left.checked_sub(cost) else { break };
        left = rest;
        from -= 1;
    }
    &history[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(question: &str, answer: &str) -> Turn {
        Turn { question: question.into(), answer: answer.into(), searched: None }
    }

    #[test]
    fn markers_leave_and_other_brackets_stay() {
        for (answer, want) in [
            ("It costs £4 [1][2]. It is red [12].", "It costs £4. It is red."),
            ("a[i] and [x] and [", "a[i] and [x] and ["),
            ("[1]", ""),
            ("[] [1", "[] [1"),
        ] {
            assert_eq!(turn("", answer).without_markers(), want);
        }
    }

    #[test]
    fn follow_ups_carry_words_over() {
        let history =
            [turn("How long is the warranty of the Otter 3?", "The warranty is 36 months [1]. It covers Leeds.")];
        for (question, want) in [
            ("And of the Heron 200?", Some("And of the Heron 200? (long warranty Otter 3 36)")),
            ("What does it not cover?", Some("What does it not cover? (long warranty Otter 3 36)")),
            ("Why?", Some("Why? (long warranty Otter 3 36)")),
            ("Who leads the design of the brushless motor?", None),
            ("Is there a second test bench in Ghent?", None),
        ] {
            assert_eq!(carried_over(question, &history).as_deref(), want, "{question}");
        }
        let german = [turn("Wie hoch ist der Mindestbestellwert für Händler?", "Er beträgt 250 Euro. [1]")];
        let carried = carried_over("Und für Privatkunden?", &german).unwrap();
        assert!(carried.contains("Mindestbestellwert"), "{carried}");
        assert_eq!(carried_over("Why?", &[]), None);
    }

    #[test]
    fn only_a_question_is_taken_from_a_reply() {
        for (reply, want) in [
            ("How long is the warranty of the Heron 200?", Some("How long is the warranty of the Heron 200?")),
            ("\"What is covered?\"\n", Some("What is covered?")),
            ("Question: What is covered?", Some("What is covered?")),
            ("", None),
            ("Sure!\nWhat is covered?", None),
            ("It costs £4 [1].", None),
            ("NO_ANSWER", None),
        ] {
            assert_eq!(rewritten(reply).as_deref(), want, "{reply}");
        }
        assert_eq!(rewritten(&"x ".repeat(500)), None);
    }

    #[test]
    fn old_turns_leave_first() {
        let history: Vec<Turn> = (0..20).map(|n| turn(&format!("question {n}"), &"word ".repeat(40))).collect();
        let kept = recent(&history, 2000);
        assert!(!kept.is_empty() && kept.len() < 8, "{}", kept.len());
        assert_eq!(kept.last(), history.last());
        assert_eq!(recent(&history, 1_000_000).len(), MAX_TURNS);
        assert!(recent(&history, 100).is_empty() && recent(&[], 1000).is_empty());
    }
}
