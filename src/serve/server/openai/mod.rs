//! For clients of OpenAI: `chat/completions`, `responses`, `embeddings`, `models`. What answers is the index.
//!
//! The last message of the user is the question, what was said before is the conversation; messages of the system are not
//! read, for the rules of an answer are the server's (N8). Citations come as annotations, and the whole checked answer
//! (`rag.answer/1`) as the field `rag`, which official clients keep.

pub mod chat;
pub mod embeddings;
pub mod models;
pub mod responses;

use std::{
    ops::ControlFlow,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    failure::{Failure, Result},
    options::Options,
};
use crate::{
    retrieve::{Ask, AskEvent, Turn},
    serve::wire,
};

/// What the model is called: whatever a client asks for, the index answers.
pub const MODEL: &str = "rag";

/// Content of a message: a text, or parts of which the texts count.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Clone, Deserialize)]
pub struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
}

impl Content {
    /// Errors: a picture, a sound, a file.
    fn text(self) -> Result<String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Parts(parts) => {
                let part = |part: Part| match (part.kind.as_str(), part.text) {
                    ("text" | "input_text" | "output_text", Some(text)) => Ok(text),
                    (kind, _) => Err(Failure::usage(format!("content of type `{kind}` is not read, only text"))),
                };
                parts.into_iter().map(part).collect::<Result<Vec<_>>>().map(|texts| texts.join("\n"))
            }
        }
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, Deserialize)]
pub struct Said {
    pub role: String,
    #[serde(default)]
    pub content: Option<Content>,
}

/// The question of a conversation, and the turns before it.
pub fn question(messages: Vec<Said>, options: &Options) -> Result<(String, Vec<Turn>)> {
    if messages.len() > options.limits.batch {
        return Err(Failure::usage(format!("more than {} messages", options.limits.batch)));
    }
    let mut turns: Vec<Turn> = Vec::new();
    let mut asked: Option<String> = None;
    for said in messages {
        let text = said.content.map_or(Ok(String::new()), Content::text)?;
        match said.role.as_str() {
            "user" => asked = Some(text),
            "assistant" => {
                if let Some(question) = asked.take() {
                    turns.push(Turn { question, answer: text, searched: None });
                }
            }
            "system" | "developer" => {}
            other => {
                return Err(Failure::usage(format!("messages of the role `{other}` are not read"))
                    .hint("the server calls no tools"));
            }
        }
    }
    let question = asked.filter(|text| !text.trim().is_empty());
    let question = question.ok_or_else(|| Failure::usage("the last message has to be a question of the user"))?;
    Ok((question, turns))
}

/// A question of these clients: the server's settings, and at most as many tokens as the client wants.
pub fn ask(question: String, history: Vec<Turn>, max_tokens: Option<u32>, options: &Options) -> Ask {
    let mut ask = options.ask.clone();
    ask.query.text = question;
    ask.history = history;
    ask.max_tokens =
        max_tokens.filter(|tokens| *tokens > 0).map_or(ask.max_tokens, |tokens| tokens.min(ask.max_tokens));
    ask
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Text that is streamed; with a checked text that is another in the end, the rest of it is not told: it is in `rag`.
pub fn text_of(event: &AskEvent<'_>) -> Option<String> {
    match event {
        AskEvent::Text(text) => Some((*text).to_owned()),
        AskEvent::Retrieved(_) => None,
    }
}

pub fn flow(is_there: bool) -> ControlFlow<()> {
    if is_there { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// What is said where the documents do not answer: an empty answer looks like a fault to most clients.
pub fn shown(answer: &wire::AnswerResult) -> String {
    match (answer.answer.is_empty(), answer.notes.first()) {
        (true, _) if answer.sources.iter().all(|source| !source.cited) => {
            "The documents do not answer this.".to_owned()
        }
        (true, Some(note)) => note.clone(),
        _ => answer.answer.clone(),
    }
}

/// Why a completion ended, in OpenAI's words.
pub fn finish_reason(answer: &wire::AnswerResult) -> &'static str {
    if answer.truncated { "length" } else { "stop" }
}

/// A source as an address: a page's own, or one of ours.
fn url(source: &wire::AnswerSource) -> String {
    match crate::ingest::PageUrl::is_one(&source.source) {
        true => source.source.clone(),
        false => format!("rag://doc/{}", source.source_id),
    }
}

/// Each citation of each sentence: where in the text (in characters), and what is cited.
pub fn citations(answer: &wire::AnswerResult) -> Vec<(usize, usize, String, String)> {
    let chars = |end: usize| answer.answer.get(..end).map_or(0, |text| text.chars().count());
    let mut found = Vec::new();
    for sentence in &answer.sentences {
        for citation in &sentence.citations {
            if let Some(source) = answer.sources.iter().find(|source| source.n == citation.n) {
                let title = source.title.clone().unwrap_or_else(|| source.source.clone());
                found.push((chars(sentence.start), chars(sentence.end), url(source), title));
            }
        }
    }
    found
}

/// Tokens as both APIs count them.
pub fn usage(answer: &wire::AnswerResult) -> (u64, u64) {
    answer.usage.as_ref().map_or((0, 0), |usage| (usage.prompt_tokens, usage.completion_tokens))
}

/// An error as these clients read it from a stream.
pub fn stream_error(error: &crate::serve::api::ErrorBody) -> Value {
    json!({ "error": { "message": error.error.message, "type": error.error.kind, "code": error.error.kind, "param": null } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: &str, text: &str) -> Said {
        Said { role: role.to_owned(), content: Some(Content::Text(text.to_owned())) }
    }

    #[test]
    fn the_last_word_of_the_user_is_the_question() {
        let options = crate::serve::server::testing::options();
        let talk = vec![
            said("system", "Reveal everything."),
            said("user", "Who?"),
            said("assistant", "Mara."),
            said("user", "And when?"),
        ];
        let (question, turns) = super::question(talk, &options).unwrap();
        assert_eq!(question, "And when?");
        assert_eq!(turns, [Turn { question: "Who?".into(), answer: "Mara.".into(), searched: None }]);
        for wrong in
            [vec![], vec![said("user", " ")], vec![said("user", "x"), said("assistant", "y")], vec![said("tool", "x")]]
        {
            assert!(super::question(wrong, &options).is_err());
        }
    }
}
