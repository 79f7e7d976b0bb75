//! What each vendor's server says, byte by byte, and what our client must make of it. The files are in
//! `tests/fixtures/transcripts/`; each is replayed whole, in small parts, and a byte at a time.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use rag::model::{
    Chat as _, Completion, Error, Finish, Result, Usage,
    openai::{Api, ChatOptions, OpenAiChat},
};

use super::{
    http,
    llm_double::{Double, KEY, transcript},
    request,
};

/// Bytes that are sent at a time: a character of four bytes falls apart in the last two.
const PARTS: [usize; 3] = [1 << 20, 7, 1];

/// What has to come of one question.
enum Want {
    Answer { text: &'static str, finish: Finish, usage: Option<(u64, u64)> },
    Fails(fn(&Error) -> bool),
}
use Want::{Answer, Fails};

fn whole(text: &'static str, usage: (u64, u64)) -> Want {
    Answer { text, finish: Finish::Stop, usage: Some(usage) }
}

fn cut(text: &'static str, usage: Option<(u64, u64)>) -> Want {
    Answer { text, finish: Finish::Truncated, usage }
}

fn refused(text: &'static str, usage: Option<(u64, u64)>) -> Want {
    Answer { text, finish: Finish::Refused, usage }
}

/// How a vendor is reached.
struct Vendor {
    name: &'static str,
    model: &'static str,
    /// What the answers say.
    answers_as: &'static str,
    /// In place of `/v1`.
    base: &'static str,
    key: bool,
    api: Api,
    /// Seconds that must be waited before asking again, all told.
    waits: u64,
}

const VENDOR: Vendor = Vendor { name: "", model: "", answers_as: "", base: "/v1", key: true, api: Api::Chat, waits: 0 };

/// Asks as often as there is something wanted; all requests must be those of the transcript.
fn check(vendor: &Vendor, wanted: &[Want]) {
    let exchanges = transcript::read(vendor.name);
    for part_bytes in PARTS {
        let double = Double::replaying(&exchanges, part_bytes);
        let (http, clock) = http();
        let mut options = ChatOptions {
            model: vendor.model.to_owned(),
            http,
            api: vendor.api,
            ..ChatOptions::new(double.url().replace("/v1", vendor.base))
        };
        match (vendor.name, vendor.key) {
            ("azure", _) => options.headers = vec![("api-key".to_owned(), KEY.into())],
            (_, true) => options.key = Some(KEY.into()),
            (_, false) => {}
        }
        let chat = OpenAiChat::new(options).unwrap();
        for (want, number) in wanted.iter().zip(1..) {
            let what = format!("{}: question {number}, {part_bytes} bytes at a time", vendor.name);
            judge(&what, vendor, want, &ask(&chat));
        }
        let requests = double.requests();
        assert_eq!(requests.len(), exchanges.len(), "{}: every exchange takes place", vendor.name);
        exchanges.iter().zip(&requests).for_each(|(exchange, request)| exchange.check(request));
        let slept = Arc::clone(&clock).slept();
        assert!(slept >= Duration::from_secs(vendor.waits), "{}: {slept:?}", vendor.name);
    }
}

/// The answer, and what was heard of it.
fn ask(chat: &OpenAiChat) -> (Result<Completion>, String) {
    let mut heard = String::new();
    let result = chat.chat(&request(true), &mut |text| {
        heard.push_str(text);
        ControlFlow::Continue(())
    });
    (result, heard)
}

fn judge(what: &str, vendor: &Vendor, want: &Want, (got, heard): &(Result<Completion>, String)) {
    match (want, got) {
        (Answer { text, finish, usage }, Ok(got)) => {
            assert_eq!((got.text.as_str(), got.finish), (*text, *finish), "{what}");
            if *finish != Finish::Refused {
                assert_eq!(heard, text, "{what}: what is streamed is what is said");
            }
            match usage {
                Some((prompt_tokens, completion_tokens)) => {
                    let (prompt_tokens, completion_tokens) = (*prompt_tokens, *completion_tokens);
                    assert_eq!(got.usage, Usage { prompt_tokens, completion_tokens, estimated: false }, "{what}");
                }
                None => assert!(got.usage.estimated && got.usage.prompt_tokens > 0, "{what}: {:?}", got.usage),
            }
            if *finish != Finish::Refused {
                assert_eq!(got.model.as_deref(), Some(vendor.answers_as), "{what}");
            }
        }
        (Fails(is), Err(error)) => {
            assert!(is(error), "{what}: {error:?}");
            assert!(!format!("{error} {error:?}").contains(KEY), "{what}: a key in an error");
        }
        (Answer { .. }, Err(error)) => panic!("{what}: {error:?}"),
        (Fails(_), Ok(got)) => panic!("{what}: {got:?}"),
    }
}

fn too_long(found: u64, limit: u64) -> impl Fn(&Error) -> bool {
    move |error| matches!(error, Error::TooLong { found: f, limit: l, .. } if (*f, *l) == (found, Some(limit)))
}

fn says(error: &Error, status: u16, words: &str) -> bool {
    matches!(error, Error::Refused { status: s, message, .. } if *s == status && message.contains(words))
}

#[test]
fn openai() {
    check(
        &Vendor { name: "openai", model: "gpt-5-mini", answers_as: "gpt-5-mini-2025-08-07", ..VENDOR },
        &[
            whole("It is 12 m high, “größer” than 🦀 [1].", (21, 139)),
            refused("I'm sorry, I cannot help with that.", Some((21, 139))),
        ],
    );
}

#[test]
fn azure() {
    check(
        &Vendor {
            name: "azure",
            model: "gpt-4o",
            answers_as: "gpt-4o-2024-11-20",
            base: "/openai/deployments/gpt?api-version=2024-10-21",
            ..VENDOR
        },
        &[whole("It is 12 m high [1].", (21, 6)), refused("", None), refused("It is", None)],
    );
}

#[test]
fn ollama() {
    check(
        &Vendor { name: "ollama", model: "qwen3:4b", answers_as: "qwen3:4b", key: false, ..VENDOR },
        &[
            whole("It is 12 m high [1].", (21, 17)),
            Answer { text: "It is 12 m high [1].", finish: Finish::Stop, usage: None },
            Fails(|error| says(error, 404, "try pulling it first")),
        ],
    );
}

#[test]
fn lm_studio() {
    check(
        &Vendor { name: "lmstudio", model: "google/gemma-3-4b", answers_as: "google/gemma-3-4b", key: false, ..VENDOR },
        &[
            whole("It is 12 m high [1].", (21, 9)),
            Fails(|error| says(error, 200, "Reached context length of 4096 tokens")),
            cut("It is 12 m", None),
        ],
    );
}

#[test]
fn vllm() {
    check(
        &Vendor { name: "vllm", model: "Qwen/Qwen3-8B", answers_as: "Qwen/Qwen3-8B", ..VENDOR },
        &[
            whole("It is 12 m high [1].", (25, 38)),
            cut("It is 12", Some((25, 38))),
            // Prompt and answer together are what it counts.
            Fails(|error| too_long(5207, 4096)(error)),
        ],
    );
}

#[test]
fn llama_cpp() {
    check(
        &Vendor { name: "llamacpp", model: "smollm2", answers_as: "smollm2", ..VENDOR },
        &[whole("It is 12 m high [1].", (31, 9)), Fails(|error| too_long(5107, 4096)(error))],
    );
}

#[test]
fn open_router() {
    check(
        &Vendor { name: "openrouter", model: "deepseek/deepseek-r1", answers_as: "deepseek/deepseek-r1", ..VENDOR },
        &[
            whole("It is 12 m high [1].", (20, 42)),
            Fails(|error| says(error, 400, "Provider returned error")),
            Fails(|error| says(error, 402, "Insufficient credits")),
        ],
    );
}

#[test]
fn lite_llm() {
    check(
        &Vendor { name: "litellm", model: "claude-sonnet", answers_as: "claude-sonnet", waits: 3, ..VENDOR },
        &[whole("It is 12 m high [1].", (24, 11))],
    );
}

#[test]
fn groq() {
    check(
        &Vendor { name: "groq", model: "openai/gpt-oss-20b", answers_as: "openai/gpt-oss-20b", waits: 2, ..VENDOR },
        &[whole("It is 12 m high [1].", (83, 26))],
    );
}

#[test]
fn mistral() {
    let model = "magistral-small-latest";
    check(&Vendor { name: "mistral", model, answers_as: model, ..VENDOR }, &[whole("It is 12 m high [1].", (19, 33))]);
}

#[test]
fn anthropic_compat() {
    check(
        &Vendor {
            name: "anthropic-compat",
            model: "claude-sonnet-4-5",
            answers_as: "claude-sonnet-4-5-20250929",
            ..VENDOR
        },
        &[whole("It is 12 m high [1].", (27, 12)), Fails(|error| too_long(205_107, 200_000)(error))],
    );
}

#[test]
fn gemini_compat() {
    let model = "gemini-2.5-flash";
    check(
        &Vendor { name: "gemini-compat", model, answers_as: model, base: "/v1beta/openai/", ..VENDOR },
        &[
            whole("It is 12 m high [1].", (21, 9)),
            whole("It is 12 m high [1].", (21, 9)),
            Fails(|error| format!("{error}").contains("exceeded your current quota")),
        ],
    );
}

#[test]
fn responses() {
    check(
        &Vendor {
            name: "responses",
            model: "gpt-5-mini",
            answers_as: "gpt-5-mini-2025-08-07",
            api: Api::Responses,
            ..VENDOR
        },
        &[
            whole("It is 12 m high [1].", (21, 75)),
            cut("It is 12", Some((21, 75))),
            Fails(|error| format!("{error}").contains("could not process the prompt")),
        ],
    );
}
