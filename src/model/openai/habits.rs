//! What does this server accept? The parameters of a chat request, and what was learnt from its refusals.

use serde_json::{Value, json};

use super::{problem::Problem, responses};
use crate::model::{ChatRequest, Message, Role};

/// Sent with every request, so that the same question gets the same answer where the server can do that.
const SEED: u32 = 42;

/// How the longest answer is named in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
    /// The server sets its own limit.
    None,
}

/// What is left out or renamed for one endpoint. Each lesson takes something away, so learning ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Habits {
    /// `max_completion_tokens`, as reasoning models and Azure want it.
    completion_tokens: bool,
    no_max_tokens: bool,
    no_temperature: bool,
    no_seed: bool,
    no_stream_options: bool,
    /// The system message goes into the first message of the user.
    no_system: bool,
    /// The Responses API is spoken.
    responses: bool,
}

impl Habits {
    pub fn new(no_system: bool) -> Self {
        Self { no_system, ..Self::default() }
    }

    /// With the name of the limit known from the start.
    pub fn with_limit(self, field: LimitField) -> Self {
        let (completion_tokens, no_max_tokens) = match field {
            LimitField::MaxTokens => (false, false),
            LimitField::MaxCompletionTokens => (true, false),
            LimitField::None => (true, true),
        };
        Self { completion_tokens, no_max_tokens, ..self }
    }

    pub fn with_responses(self, responses: bool) -> Self {
        Self { responses, ..self }
    }

    /// What to do otherwise after this problem; `None` if nothing we send is at fault.
    pub fn taught(self, problem: &Problem) -> Option<Self> {
        let mut taught = self;
        if self.responses && !self.no_max_tokens && problem.rejects("max_output_tokens") {
            taught.no_max_tokens = true;
        } else if !self.completion_tokens && problem.rejects("max_tokens") {
            taught.completion_tokens = true;
        } else if self.completion_tokens && !self.no_max_tokens && problem.rejects("max_completion_tokens") {
            taught.no_max_tokens = true;
        } else if !self.no_temperature && problem.rejects("temperature") {
            taught.no_temperature = true;
        } else if !self.no_seed && problem.rejects("seed") {
            taught.no_seed = true;
        } else if !self.no_stream_options && (problem.rejects("stream_options") || problem.rejects("include_usage")) {
            taught.no_stream_options = true;
        } else if !self.no_system && problem.wants_no_system() {
            taught.no_system = true;
        }
        (taught != self).then_some(taught)
    }

    /// `temperature`: 0..=2.
    pub fn body(self, model: &str, request: &ChatRequest, temperature: f32) -> Value {
        let mut body = json!({ "model": model, "messages": self.messages(&request.messages) });
        if !self.no_max_tokens {
            let name = if self.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
            body[name] = request.max_tokens.into();
        }
        if !self.no_temperature {
            // Shortest decimals: 0.7, not the nearest double of the nearest float.
            let decimal = format!("{temperature}").parse::<f64>().unwrap_or_default();
            body["temperature"] = if decimal.fract() == 0.0 { (decimal as u64).into() } else { decimal.into() };
        }
        if !self.no_seed {
            body["seed"] = SEED.into();
        }
        body["stream"] = request.stream.into();
        if request.stream && !self.no_stream_options {
            body["stream_options"] = json!({ "include_usage": true });
        }
        if self.responses { responses::request(body) } else { body }
    }

    /// One system message at most, and first: some templates accept no other.
    fn messages(self, messages: &[Message]) -> Vec<Value> {
        let is_system = |message: &&Message| message.role == Role::System;
        let mut system = messages.iter().filter(is_system).map(|m| m.content.as_str()).collect::<Vec<_>>().join("\n\n");
        let mut out = Vec::with_capacity(messages.len() + 1);
        if !self.no_system && !system.is_empty() {
            out.push(json!({ "role": "system", "content": system }));
            system.clear();
        }
        for message in messages {
            match message.role {
                Role::System => {}
                Role::Assistant => out.push(json!({ "role": "assistant", "content": message.content })),
                Role::User if system.is_empty() => out.push(json!({ "role": "user", "content": message.content })),
                Role::User => {
                    let content = format!("{system}\n\n{}", message.content);
                    system.clear();
                    out.push(json!({ "role": "user", "content": content }));
                }
            }
        }
        if !system.is_empty() {
            out.push(json!({ "role": "user", "content": system }));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: Role, content: &str) -> Message {
        Message { role, content: content.to_owned() }
    }

    #[test]
    fn lessons_end() {
        let mut habits = Habits::default();
        let everything = json!({"error": {"code": "unsupported_parameter", "message":
            "max_tokens max_completion_tokens temperature seed stream_options; system role not supported"}});
        let problem = Problem::of_value(400, &everything);
        let mut lessons = 0;
        while let Some(taught) = habits.taught(&problem) {
            habits = taught;
            lessons += 1;
        }
        assert_eq!(lessons, 6);
        let request = ChatRequest { messages: vec![message(Role::User, "q")], max_tokens: 5, stream: true };
        let want = json!({"model": "m", "messages": [{"role": "user", "content": "q"}], "stream": true});
        assert_eq!(habits.body("m", &request, 0.0), want);
    }

    #[test]
    fn system_messages_are_one_and_first_or_none() {
        let messages = [
            message(Role::User, "u"),
            message(Role::System, "a"),
            message(Role::Assistant, "x"),
            message(Role::System, "b"),
        ];
        let said = |habits: Habits, messages: &[Message]| {
            let messages = habits.messages(messages);
            let text = |m: &Value, name: &str| m[name].as_str().unwrap().to_owned();
            messages.iter().map(|m| format!("{}: {}", text(m, "role"), text(m, "content"))).collect::<Vec<_>>()
        };
        assert_eq!(said(Habits::new(false), &messages), ["system: a\n\nb", "user: u", "assistant: x"]);
        assert_eq!(said(Habits::new(true), &messages), ["user: a\n\nb\n\nu", "assistant: x"]);
        assert_eq!(said(Habits::new(true), &messages[1..2]), ["user: a"]);
        assert!(said(Habits::new(true), &[]).is_empty());
    }
}
