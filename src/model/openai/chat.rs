//! How is a chat model behind an OpenAI-style endpoint asked? One request, its lessons, and the reading of its answer.
//!
//! What an end means: a reason to finish, `[DONE]`, or the end of the answer. Text that ends with none of the first two is
//! [`Finish::Truncated`]; where nothing had come, the error is `CutOff`. A server that errs or stalls amid its answer is an
//! error even if text has come (`on_text` has had it). Nothing is asked again once text has come; an answer that breaks before
//! that is asked for once more.

use std::{
    fmt,
    ops::ControlFlow,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;

use super::{
    assemble::{Assembler, prompt_tokens},
    habits::{Habits, LimitField},
    models,
    problem::{Problem, describe, is_error},
    responses,
};
use crate::{
    model::{
        Chat, ChatRequest, Completion, Error, Finish, Result, Usage,
        http::{Body, Failure, Http, HttpOptions, Key, Leave, Reply, Verdict, Why, is_passing, shown},
        sse::{Event, SseParser},
    },
    types::Cancel,
};

/// Which of its two dialogue APIs a server is asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Api {
    #[default]
    Chat,
    Responses,
}

impl Api {
    fn path(self) -> &'static str {
        match self {
            Self::Chat => "chat/completions",
            Self::Responses => "responses",
        }
    }
}

/// How long the usage may come after the reason to finish; some servers send none and leave the connection open.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// The most bytes read of a body that is not what we asked for.
const MAX_DESCRIBED: usize = 16 << 10;

/// How a chat model is reached.
#[derive(Clone)]
pub struct ChatOptions {
    /// With or without `/v1`, or the whole address of the endpoint.
    pub base_url: String,
    /// The name the server knows it by; empty for the first one it lists.
    pub model: String,
    pub key: Option<Key>,
    /// Sent with every request, in place of ours of the same name; values are kept as secrets.
    pub headers: Vec<(String, Key)>,
    pub http: HttpOptions,
    /// Tokens of prompt and answer together, if known better than the server says.
    pub context_tokens: Option<usize>,
    /// The model knows no system message: it goes into the user's.
    pub no_system: bool,
    pub api: Api,
    /// 0..=2.
    pub temperature: f32,
    /// How the limit of an answer is named, if it is known; else it is learnt.
    pub limit_field: Option<LimitField>,
    /// Hangs up when it is asked.
    pub cancel: Cancel,
}

impl ChatOptions {
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: String::new(),
            key: None,
            headers: Vec::new(),
            http: HttpOptions::default(),
            context_tokens: None,
            no_system: false,
            api: Api::Chat,
            temperature: 0.0,
            limit_field: None,
            cancel: Cancel::default(),
        }
    }
}

impl fmt::Debug for ChatOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            base_url,
            model,
            key,
            headers,
            http,
            context_tokens,
            no_system,
            api,
            temperature,
            limit_field,
            cancel,
        } = self;
        out.debug_struct("ChatOptions")
            .field("base_url", &shown(base_url))
            .field("model", model)
            .field("key", key)
            .field("headers", headers)
            .field("http", http)
            .field("context_tokens", context_tokens)
            .field("no_system", no_system)
            .field("api", api)
            .field("temperature", temperature)
            .field("limit_field", limit_field)
            .field("cancel", cancel)
            .finish()
    }
}

/// A chat model. Clones share the connection and what was learnt of the endpoint.
#[derive(Debug, Clone)]
pub struct OpenAiChat {
    endpoint: Arc<Endpoint>,
    leave: Leave,
}

#[derive(Debug)]
struct Endpoint {
    http: Http,
    /// Set at once if a name was given, else when the server was asked.
    model: OnceLock<String>,
    habits: Mutex<Habits>,
    configured_context: Option<usize>,
    api: Api,
    temperature: f32,
    /// What the server said of its context; 0 if nothing.
    learnt_context: AtomicUsize,
}

impl OpenAiChat {
    /// Prepares a client; sends nothing. Errors: `Options`, as of [`Http::new`].
    pub fn new(options: ChatOptions) -> Result<Self> {
        let ChatOptions {
            base_url,
            model,
            key,
            headers,
            http,
            context_tokens,
            no_system,
            api,
            temperature,
            limit_field,
            cancel,
        } = options;
        let habits = Habits::new(no_system).with_responses(api == Api::Responses);
        let habits = limit_field.map_or(habits, |field| habits.with_limit(field));
        let name = OnceLock::new();
        if !model.trim().is_empty() {
            name.get_or_init(|| model.trim().to_owned());
        }
        let endpoint = Endpoint {
            http: Http::new(&base_url, key.as_ref(), &headers, http)?,
            model: name,
            habits: Mutex::new(habits),
            configured_context: context_tokens,
            api,
            temperature,
            learnt_context: AtomicUsize::new(0),
        };
        Ok(Self { endpoint: Arc::new(endpoint), leave: Leave { cancel, finish_first: false } })
    }

    /// The same model for one asker, who may hang up alone.
    pub fn with_cancel(&self, cancel: Cancel) -> Self {
        Self { endpoint: Arc::clone(&self.endpoint), leave: Leave { cancel, finish_first: false } }
    }

    fn path(&self) -> &'static str {
        self.endpoint.api.path()
    }

    fn model_name(&self) -> Result<&str> {
        let endpoint = &*self.endpoint;
        if let Some(name) = endpoint.model.get() {
            return Ok(name);
        }
        let listed = models::first(&endpoint.http, &self.leave, models::Purpose::Chat)?;
        self.learn_context(listed.context_tokens);
        Ok(endpoint.model.get_or_init(|| listed.name))
    }

    fn learn_context(&self, tokens: Option<usize>) {
        if let Some(tokens) = tokens {
            self.endpoint.learnt_context.store(tokens, Ordering::Relaxed);
        }
    }

    /// Learns from a problem what the endpoint does not accept; false if there is nothing to learn.
    fn learn(&self, sent: Habits, problem: &Problem) -> bool {
        let Some(taught) = sent.taught(problem) else { return false };
        *self.endpoint.habits.lock().unwrap_or_else(PoisonError::into_inner) = taught;
        true
    }

    fn error(&self, problem: Problem, request: &ChatRequest) -> Error {
        let error = problem.into_error(&self.endpoint.http, self.path(), prompt_tokens(request));
        if let Error::TooLong { limit, .. } = &error {
            self.learn_context(limit.and_then(|limit| usize::try_from(limit).ok()));
        }
        if let Error::TooLong { url, found, limit: None } = error {
            return Error::TooLong { url, found, limit: self.context_tokens().map(|limit| limit as u64) };
        }
        error
    }

    fn bad_answer(&self, found: &str) -> Error {
        let http = &self.endpoint.http;
        Error::BadAnswer { url: http.shown(self.path()), expected: "a chat completion", found: http.clean(found) }
    }

    /// Reads the body of a success, whatever its content type claims.
    fn read(
        &self,
        mut body: Body<'_>,
        request: &ChatRequest,
        assembler: &mut Assembler,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Read> {
        let mut start = Vec::new();
        let shape = loop {
            let part = body.next_part()?;
            start.extend_from_slice(part.as_deref().unwrap_or_default());
            if let Some(shape) = shape(&start, part.is_none()) {
                break shape;
            }
        };
        match shape {
            Shape::Stream => self.read_stream(&start, body, request, assembler, on_text),
            Shape::Json => {
                start.extend(body.rest()?);
                let value = serde_json::from_slice::<Value>(&start)
                    .map_err(|_| self.bad_answer(&describe(&String::from_utf8_lossy(&start))))?;
                self.take(&value, request, assembler, on_text)?;
                if !assembler.has_begun() {
                    return Err(self.bad_answer(&describe(&String::from_utf8_lossy(&start))));
                }
                Ok(Read { said_done: true })
            }
            Shape::Other => {
                start.extend(body.some(MAX_DESCRIBED)?);
                Err(self.bad_answer(&describe(&String::from_utf8_lossy(&start))))
            }
        }
    }

    fn read_stream(
        &self,
        start: &[u8],
        mut body: Body<'_>,
        request: &ChatRequest,
        assembler: &mut Assembler,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Read> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        let mut part = Some(start.to_vec());
        while let Some(bytes) = part {
            parser.push(&bytes, &mut events).map_err(|_| self.bad_answer("an event without an end"))?;
            for event in events.drain(..) {
                if self.take_event(&event, request, assembler, on_text)?.is_break() {
                    return self.done(assembler);
                }
            }
            let next = if assembler.has_finished() { body.next_part_within(AFTER_FINISH) } else { body.next_part() };
            part = match next {
                Ok(part) => part,
                Err(Error::CutOff { .. }) if assembler.has_finished() => None,
                // What has come is kept, and marked as not whole.
                Err(Error::CutOff { .. }) if assembler.has_text() => None,
                Err(error) => return Err(error),
            };
        }
        if let Some(event) = parser.finish()
            && self.take_event(&event, request, assembler, on_text)?.is_break()
        {
            return self.done(assembler);
        }
        if assembler.has_text() || assembler.has_finished() {
            return Ok(Read { said_done: false });
        }
        Err(Error::CutOff { url: self.endpoint.http.shown(self.path()) })
    }

    /// The stream has said that it is complete.
    fn done(&self, assembler: &Assembler) -> Result<Read> {
        if assembler.has_begun() { Ok(Read { said_done: true }) } else { Err(self.bad_answer("an empty answer")) }
    }

    /// Takes one event of a stream; `Break` at `[DONE]`.
    fn take_event(
        &self,
        event: &Event,
        request: &ChatRequest,
        assembler: &mut Assembler,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let data = event.data.trim();
        // Gateways send keep-alives as data too: nothing, or a comment.
        if data.is_empty() || data.starts_with(':') {
            return Ok(ControlFlow::Continue(()));
        }
        if data == "[DONE]" {
            return Ok(ControlFlow::Break(()));
        }
        let value: Value = match serde_json::from_str(data) {
            Ok(value) => value,
            Err(_) if event.name == "error" => Value::String(data.to_owned()),
            Err(_) => return Err(self.bad_answer(&describe(data))),
        };
        if event.name == "error" && value.get("error").is_none() {
            return Err(self.error(Problem::of_value(200, &serde_json::json!({ "error": value })), request));
        }
        self.take(&value, request, assembler, on_text)?;
        Ok(ControlFlow::Continue(()))
    }

    fn take(
        &self,
        value: &Value,
        request: &ChatRequest,
        assembler: &mut Assembler,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<()> {
        let chunk = responses::as_chunk(value);
        let value = chunk.as_ref().unwrap_or(value);
        if is_error(value) {
            return Err(self.error(Problem::of_value(200, value), request));
        }
        let text = assembler.take(value);
        say(&text, on_text)
    }
}

/// How reading ended, if it ended well.
struct Read {
    said_done: bool,
}

fn say(text: &str, on_text: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<()> {
    if !text.is_empty() && on_text(text).is_break() { Err(Error::Cancelled) } else { Ok(()) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Stream,
    Json,
    Other,
}

/// What a body is by its first bytes; `None` while they do not tell.
fn shape(start: &[u8], is_all: bool) -> Option<Shape> {
    const FIELDS: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b":"];
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    match start.first() {
        None => is_all.then_some(Shape::Other),
        Some(b'{' | b'[') => Some(Shape::Json),
        Some(_) if FIELDS.iter().any(|field| start.starts_with(field)) => Some(Shape::Stream),
        Some(_) if !is_all && FIELDS.iter().any(|field| field.starts_with(start)) => None,
        // A byte order mark may be cut.
        Some(0xef) if !is_all && start.len() < 3 => None,
        Some(_) => Some(Shape::Other),
    }
}

/// Which failures are worth another try as they are.
fn judge(sent: Habits, failure: &Failure) -> Verdict {
    let problem = Problem::of(failure);
    if problem.is_loading() {
        Verdict::Loading
    } else if problem.is_quota() || problem.is_overflow() || problem.is_filtered() || sent.taught(&problem).is_some() {
        Verdict::GiveUp
    } else {
        Verdict::TryAgain
    }
}

/// The error came in a body whose status was a success, and may pass as the status itself would.
fn may_pass(error: &Error) -> bool {
    if let Error::Refused { status, .. } = error { is_passing(*status) } else { matches!(error, Error::CutOff { .. }) }
}

impl Chat for OpenAiChat {
    fn chat(&self, request: &ChatRequest, on_text: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<Completion> {
        let endpoint = &*self.endpoint;
        let model = self.model_name()?;
        let mut may_ask_again = true;
        loop {
            let habits = *endpoint.habits.lock().unwrap_or_else(PoisonError::into_inner);
            let body = habits.body(model, request, endpoint.temperature);
            let body = match endpoint.http.post(self.path(), &body, &self.leave, &|failure| judge(habits, failure))? {
                Reply::Success(body) => body,
                Reply::Failure(failure) => {
                    let problem = Problem::of(&failure);
                    if problem.is_filtered() {
                        let prompt_tokens = prompt_tokens(request);
                        let usage = Usage { prompt_tokens, completion_tokens: 0, estimated: true };
                        return Ok(Completion { text: String::new(), finish: Finish::Refused, usage, model: None });
                    }
                    if self.learn(habits, &problem) {
                        continue;
                    }
                    return Err(self.error(problem, request));
                }
            };
            let mut assembler = Assembler::default();
            match self.read(body, request, &mut assembler, on_text) {
                Ok(Read { said_done }) => {
                    say(&assembler.rest(), on_text)?;
                    return Ok(assembler.into_completion(request, said_done));
                }
                Err(error) if may_ask_again && may_pass(&error) && !assembler.has_text() => {
                    may_ask_again = false;
                    let Some(pause) = endpoint.http.pause_after(1, None) else { return Err(error) };
                    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else may pass")]
                    let why = match &error {
                        Error::Refused { status, .. } => Why::Status(*status),
                        _ => Why::Lost,
                    };
                    endpoint.http.tell_wait(self.path(), why, pause, (2, 2));
                    endpoint.http.pause(pause, &self.leave)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Empty until the server was asked for its list, where no name was given.
    fn model(&self) -> &str {
        self.endpoint.model.get().map_or("", String::as_str)
    }

    /// The smaller of what was configured and what the server said.
    fn context_tokens(&self) -> Option<usize> {
        let learnt = self.endpoint.learnt_context.load(Ordering::Relaxed);
        [self.endpoint.configured_context, (learnt > 0).then_some(learnt)].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_known_by_their_first_bytes() {
        for (start, is_all, want) in [
            ("", false, None),
            ("", true, Some(Shape::Other)),
            (" \r\n", false, None),
            ("{", false, Some(Shape::Json)),
            (" [", false, Some(Shape::Json)),
            ("d", false, None),
            ("dat", false, None),
            ("dat", true, Some(Shape::Other)),
            ("data: {", false, Some(Shape::Stream)),
            (": OPENROUTER PROCESSING", false, Some(Shape::Stream)),
            ("\n\nevent: x", false, Some(Shape::Stream)),
            ("\u{feff}data:", false, Some(Shape::Stream)),
            ("denied", false, Some(Shape::Other)),
            ("<html>", false, Some(Shape::Other)),
        ] {
            assert_eq!(shape(start.as_bytes(), is_all), want, "{start:?}");
        }
        assert_eq!(shape(b"\xef\xbb", false), None);
        assert_eq!(shape(b"\xef\xbb", true), Some(Shape::Other));
    }

    #[test]
    fn options_show_no_secret() {
        let mut options = ChatOptions::new("https://me:pw-canary@host/v1?key=q-canary");
        options.key = Some("sk-canary-and-more".into());
        options.headers = vec![("x-key".to_owned(), "h-canary".into())];
        let shown = format!("{options:?}");
        assert!(!shown.contains("canary"), "{shown}");
        let chat = OpenAiChat::new(options).unwrap();
        let shown = format!("{chat:?}");
        assert!(!shown.contains("canary"), "{shown}");
    }
}
