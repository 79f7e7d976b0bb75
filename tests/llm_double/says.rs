//! What does the double say in a chat? Turns a behaviour and a prompt into an answer in the profile's shape.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, http::Response};
use serde_json::{Value, json};

use super::{Behaviour, End, Request, Shared, parts, whole};

/// What it says where the behaviour does not matter.
pub const FILLER: &str = "One two three four five six seven eight nine ten.";

pub fn answer(shared: &Arc<Shared>, behaviour: &Behaviour, request: &Request) -> Response<Body> {
    let profile = shared.profile;
    let prompt = request.prompt();
    let is_stream = request.body["stream"] == json!(true);
    let mut said = Said::of(behaviour, &prompt);
    let usage = said.counts.then(|| (words(&prompt).len() as u64, said.deltas.len() as u64));
    if !is_stream || matches!(behaviour, Behaviour::NoStream(_)) {
        let value = profile.whole(said.message(), said.finish.unwrap_or("stop"), usage);
        return match said.end {
            End::Whole => whole(200, said.content_type.unwrap_or("application/json"), value.to_string()),
            end => {
                let text = value.to_string();
                let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
                parts(shared, "application/json", vec![text[..half].to_owned()], Duration::ZERO, end)
            }
        };
    }
    let wants_usage = request.body["stream_options"]["include_usage"] == json!(true);
    let finish = said.finish.take();
    let mut frames = profile.stream(&said.deltas, finish, usage.filter(|_| wants_usage && finish.is_some()));
    if let Behaviour::ErrorAfter(_) = behaviour {
        frames.push(profile.frame(&profile.error(502, "the model crashed").to_string()));
    }
    if said.says_done {
        frames.push(profile.frame("[DONE]"));
    }
    parts(shared, said.content_type.unwrap_or("text/event-stream; charset=utf-8"), frames, said.pause, said.end)
}

struct Said {
    deltas: Vec<Value>,
    finish: Option<&'static str>,
    says_done: bool,
    counts: bool,
    end: End,
    pause: Duration,
    content_type: Option<&'static str>,
}

impl Said {
    fn of(behaviour: &Behaviour, prompt: &str) -> Self {
        let mut said = Self {
            deltas: Vec::new(),
            finish: Some("stop"),
            says_done: true,
            counts: true,
            end: End::Whole,
            pause: Duration::ZERO,
            content_type: None,
        };
        let passages = passages(prompt);
        let first = passages.first().map_or_else(|| "Nothing was offered".to_owned(), |(_, text)| sentence(text));
        let text = match behaviour {
            Behaviour::CiteRight => format!("{first} [{}].", passages.first().map_or(1, |(n, _)| *n)),
            Behaviour::CiteWrong => format!("{first} [{}].", passages.last().map_or(1, |(n, _)| *n)),
            Behaviour::CiteOutOfRange => format!("{first} [99]."),
            Behaviour::NoCite => format!("{first}."),
            Behaviour::EchoObey => {
                prompt.split_once("IGNORE").map_or("NO_ANSWER", |(_, order)| order).trim().to_owned()
            }
            Behaviour::Empty | Behaviour::Refuse => String::new(),
            Behaviour::Answer(text)
            | Behaviour::Slow { text, .. }
            | Behaviour::Length(text)
            | Behaviour::NoDone(text)
            | Behaviour::NoEnd(text)
            | Behaviour::NoStream(text)
            | Behaviour::NoUsage(text)
            | Behaviour::WrongContentType(text) => text.clone(),
            Behaviour::Thinks { thought, answer } => format!("<think>{thought}</think>\n\n{answer}"),
            _ => FILLER.to_owned(),
        };
        said.deltas = words(&text).iter().map(|word| json!({ "content": word })).collect();
        match behaviour {
            Behaviour::Refuse => said.deltas.push(json!({"refusal": "I cannot help with that."})),
            Behaviour::Thinks { thought, .. } => {
                said.deltas.insert(0, json!({"content": null, "reasoning_content": thought}));
                said.deltas.insert(1, json!({"content": "", "reasoning": thought}));
            }
            Behaviour::Slow { ms_per_word, .. } => said.pause = Duration::from_millis(*ms_per_word),
            Behaviour::StallAfter(words) => said.stop_after(*words, End::Stall),
            Behaviour::CutAfter(words) => said.stop_after(*words, End::Cut),
            Behaviour::ErrorAfter(words) => said.stop_after(*words, End::Whole),
            Behaviour::Length(_) => said.finish = Some("length"),
            Behaviour::NoDone(_) => said.says_done = false,
            Behaviour::NoEnd(_) => (said.finish, said.says_done) = (None, false),
            Behaviour::NoUsage(_) => said.counts = false,
            Behaviour::WrongContentType(_) => said.content_type = Some("text/html"),
            _ => {}
        }
        said
    }

    fn stop_after(&mut self, words: usize, end: End) {
        self.deltas.truncate(words);
        (self.finish, self.says_done, self.end) = (None, false, end);
    }

    fn message(&self) -> Value {
        let joined = |name: &str| self.deltas.iter().filter_map(|delta| delta[name].as_str()).collect::<String>();
        let mut message = json!({ "content": joined("content") });
        for name in ["refusal", "reasoning_content", "reasoning"] {
            let text = joined(name);
            if !text.is_empty() {
                message[name] = text.into();
            }
        }
        message
    }
}

/// A text in pieces, each a word with the space before it.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in text.chars() {
        match words.last_mut() {
            Some(word) if letter != ' ' => word.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    words
}

/// The passages of a prompt: a line that begins with `[n]`, or holds `<<doc n`, and the lines up to the next one.
fn passages(prompt: &str) -> Vec<(u32, String)> {
    let mut passages: Vec<(u32, String)> = Vec::new();
    for line in prompt.lines() {
        let number = line.strip_prefix('[').or_else(|| line.split_once("<<doc ").map(|(_, rest)| rest));
        let digits: String = number.unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
        match digits.parse() {
            Ok(number) if passages.last().is_none_or(|(last, _)| *last != number) => {
                passages.push((number, String::new()));
            }
            Ok(_) => {}
            Err(_) => {
                if let Some((_, text)) = passages.last_mut().filter(|_| !line.starts_with("<<")) {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    passages
}

/// The first sentence of at least three words, without its full stop.
fn sentence(text: &str) -> String {
    let sentences = text.split(['\n', '.', '!', '?']).map(str::trim);
    sentences.into_iter().find(|s| s.split(' ').count() >= 3).unwrap_or(text.trim()).to_owned()
}
