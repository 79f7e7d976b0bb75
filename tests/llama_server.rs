//! Is our client right about a real server? llama.cpp on this machine; its model's wit is not asserted.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod llama;
mod llm_double;

use std::{ops::ControlFlow, time::Duration};

use llama::{DIM, Installed, KEY, LlamaServer, MODEL};
use rag::{
    model::{
        Chat, ChatRequest, Embedder, Error, Finish, Message, Role,
        openai::{ChatOptions, EmbedOptions, OpenAiChat, OpenAiEmbedder},
    },
    types::Cancel,
};
use serde_json::Value;

/// Small, so that it is easily exceeded.
const CONTEXT_TOKENS: u32 = 1024;
/// The server looks for hang-ups between tokens of a stream (never while it makes a whole answer), within 0.4 s on a free
/// machine. The stories asked for below take it ten seconds at least.
const SOON: Duration = Duration::from_secs(5);

fn chat(server: &LlamaServer) -> OpenAiChat {
    OpenAiChat::new(ChatOptions { key: Some(KEY.into()), ..ChatOptions::new(server.url()) }).unwrap()
}

fn request(content: &str, max_tokens: u32, stream: bool) -> ChatRequest {
    let messages = vec![Message { role: Role::User, content: content.to_owned() }];
    ChatRequest { messages, max_tokens, stream }
}

type Step = fn(&LlamaServer);

/// One server for all steps: each test would start its own, and loading it is most of the time.
#[test]
fn llama_server() {
    let Some(installed) = llama::installed() else { return };
    let steps: [(&str, Step); 9] = [
        ("the transcript's frames are the server's", the_transcripts_frames_are_the_servers),
        ("whole answers", whole_answers),
        ("streams", streams),
        ("breaking off stops generation", breaking_off_stops_generation),
        ("a request to stop stops generation", a_request_to_stop_stops_generation),
        ("context overflow", context_overflow),
        ("a wrong key", a_wrong_key),
        ("embeddings", embeddings),
        ("embeddings of long texts", embeddings_of_long_texts),
    ];
    let server = Installed::start(&installed, CONTEXT_TOKENS);
    for (name, step) in steps {
        println!("step: {name}");
        step(&server);
    }
}

/// What the double replays as llama.cpp has the fields that llama.cpp has, each of the same type, and in the same order:
/// the role, words, a reason to finish, the usage.
fn the_transcripts_frames_are_the_servers(server: &LlamaServer) {
    let recorded = llm_double::transcript::read("llamacpp");
    let mut request = recorded[0].request().clone();
    request["max_tokens"] = 8.into();
    let (found, recorded) = (server.events(&request), recorded[0].events());
    let told = |events: &[Value]| -> Vec<String> {
        let mut shapes: Vec<String> = Vec::new();
        for event in events {
            let finish = event["choices"][0]["finish_reason"].is_string();
            let shape = format!("{}{}", shape(event), if finish { " finished" } else { "" });
            if shapes.last() != Some(&shape) {
                shapes.push(shape);
            }
        }
        shapes
    };
    assert_eq!(told(&found), told(&recorded), "the server:\n{found:#?}");
}

/// The names of a value's fields, in the alphabet's order, and the types of what is in them.
fn shape(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => format!("[{}]", items.first().map_or_else(String::new, shape)),
        Value::Object(fields) => {
            let mut fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}: {}", shape(value))).collect();
            fields.sort();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

fn whole_answers(server: &LlamaServer) {
    let chat = chat(server);
    let mut heard = String::new();
    let completion = chat
        .chat(&request("Say hello.", 6, false), &mut |text| {
            heard.push_str(text);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(!completion.text.is_empty());
    assert_eq!(heard, completion.text);
    assert_eq!(completion.finish, Finish::Truncated);
    assert!(!completion.usage.estimated);
    assert_eq!(completion.usage.completion_tokens, 6);
    assert!(completion.usage.prompt_tokens > 3);
    assert_eq!(completion.model.as_deref(), Some(MODEL));
    // No name was given, so the server was asked, and its list says how much it reads.
    assert_eq!((chat.model(), chat.context_tokens()), (MODEL, Some(CONTEXT_TOKENS as usize)));
}

fn streams(server: &LlamaServer) {
    let chat = chat(server);
    let whole = chat.chat(&request("Name a colour.", 12, false), &mut |_| ControlFlow::Continue(())).unwrap();
    let mut pieces = Vec::new();
    let streamed = chat
        .chat(&request("Name a colour.", 12, true), &mut |text| {
            pieces.push(text.to_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(pieces.len() > 1);
    assert_eq!(pieces.concat(), streamed.text);
    // Temperature 0: the same words and the same counts both ways.
    assert_eq!(streamed, whole);
}

fn breaking_off_stops_generation(server: &LlamaServer) {
    let chat = chat(server);
    let mut pieces = 0;
    let error = chat
        .chat(&request("Tell a very long story about the sea.", 900, true), &mut |_| {
            pieces += 1;
            if pieces < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error:?}");
    assert!(server.becomes(false, SOON), "the server goes on generating");
    drop(chat);
}

fn a_request_to_stop_stops_generation(server: &LlamaServer) {
    let chat = chat(server);
    let cancel = Cancel::default();
    let asker = chat.with_cancel(cancel.clone());
    std::thread::scope(|scope| {
        let asked = scope.spawn(move || {
            let request = request("Tell a very long story about the sea.", 900, true);
            asker.chat(&request, &mut |_| ControlFlow::Continue(()))
        });
        let begun = server.becomes(true, SOON);
        cancel.ask();
        assert!(begun, "the server does not begin");
        let error = asked.join().unwrap();
        assert!(matches!(error, Err(Error::Cancelled)), "{error:?}");
    });
    assert!(server.becomes(false, SOON), "the server goes on generating");
    drop(chat);
}

fn context_overflow(server: &LlamaServer) {
    for stream in [false, true] {
        let chat = chat(server);
        let long = "word ".repeat(CONTEXT_TOKENS as usize * 2);
        let error = chat.chat(&request(&long, 10, stream), &mut |_| ControlFlow::Continue(())).unwrap_err();
        let Error::TooLong { found, limit, .. } = error else { panic!("{error:?}") };
        assert!(found > u64::from(CONTEXT_TOKENS) * 2, "{found}");
        assert_eq!(limit, Some(u64::from(CONTEXT_TOKENS)));
        assert_eq!(chat.context_tokens(), Some(CONTEXT_TOKENS as usize));
    }
}

fn a_wrong_key(server: &LlamaServer) {
    for key in [None, Some("sk-canary-0123456789".into())] {
        let options = ChatOptions { key, model: MODEL.to_owned(), ..ChatOptions::new(server.url()) };
        let chat = OpenAiChat::new(options).unwrap();
        let error = chat.chat(&request("Hi", 4, true), &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(matches!(error, Error::Unauthorized { status: 401, .. }), "{error:?}");
        assert!(!format!("{error:?}").contains("canary"));
    }
}

fn embedder(server: &LlamaServer) -> OpenAiEmbedder {
    OpenAiEmbedder::connect(EmbedOptions { key: Some(KEY.into()), ..EmbedOptions::new(server.url()) }).unwrap()
}

fn embeddings(server: &LlamaServer) {
    let embedder = embedder(server);
    let space = embedder.space();
    assert_eq!((space.dim, space.model.as_str(), space.max_tokens), (DIM, MODEL, CONTEXT_TOKENS as usize));
    let texts = ["The cart has two wheels.", "Der Wagen hat zwei Räder.", "The moon is far away."];
    let rows = embedder.embed_passages(&texts).unwrap();
    assert_eq!(rows.len(), texts.len() * DIM);
    for (row, text) in rows.chunks(DIM).zip(texts) {
        let norm: f32 = row.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-5, "{norm}");
        // Without prefixes a query is embedded as a passage is.
        let query = embedder.embed_query(text).unwrap();
        let cosine: f32 = query.iter().zip(row).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.999, "{text}: {cosine}");
    }
    let again = OpenAiEmbedder::with_space(
        EmbedOptions { key: Some(KEY.into()), ..EmbedOptions::new(server.url()) },
        space.clone(),
    )
    .unwrap();
    assert_eq!(again.embed_query(texts[0]).unwrap().len(), DIM);
}

fn embeddings_of_long_texts(server: &LlamaServer) {
    let embedder = embedder(server);
    let long = "word ".repeat(CONTEXT_TOKENS as usize * 2);
    let error = embedder.embed_passages(&["short", &long, "short"]).unwrap_err();
    let Error::TextRefused { index: 1, message, .. } = &error else { panic!("{error:?}") };
    assert!(message.contains("too large") || message.contains("context"), "{message}");
    assert_eq!(embedder.embed_query(&long).unwrap().len(), DIM);
}
