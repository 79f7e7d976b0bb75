//! Searches and answers: the same objects as on the command line, and events while an answer grows.

use std::sync::Arc;

use rag::model::fake::{Reply, ScriptedChat};
use serde_json::{Value, json};

use super::{
    http::events,
    server::{Fakes, Server},
};

fn with_chat(pieces: &[&str]) -> Server {
    let turns: Vec<Reply> = (0..8).map(|_| Reply::pieces(pieces)).collect();
    let server = Server::with(|options| {
        options.models = Arc::new(Fakes { chat: Some(Arc::new(ScriptedChat::new(turns))), ..Fakes::default() })
    });
    server.add("quay.md", "# Quay\n\nThe quay is closed on Mondays. The ferry sails at six.");
    server
}

const PIECES: [&str; 3] = ["The quay is ", "closed on Mondays", " [1]."];

#[test]
fn an_answer_comes_whole_or_as_events() {
    let server = with_chat(&PIECES);
    let client = server.client();
    let question = json!({ "text": "When is the quay closed?" });
    let whole = client.post("/v1/ask", &question).ok().json();
    assert_eq!((whole["schema"].as_str(), whole["status"].as_str()), (Some("rag.answer/1"), Some("answered")));
    assert_eq!(whole["sources"][0]["source"], "api/quay.md");
    let streamed = client.post("/v1/ask", &json!({ "text": "When is the quay closed?", "stream": true })).ok();
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    let events = events(&streamed);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("retrieved", "answer"));
    let data = |at: usize| -> Value { serde_json::from_str(&events[at].1).unwrap() };
    let text: String = (1..events.len() - 1).map(|at| data(at)["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(text.trim_end(), whole["answer"].as_str().unwrap());
    let untimed = |mut answer: Value| {
        answer["timing_ms"] = Value::Null;
        answer
    };
    assert_eq!(untimed(data(events.len() - 1)), untimed(whole));
    let quoted = client.post("/v1/ask", &json!({ "text": "When is the quay closed?", "extractive": true })).ok().json();
    assert_eq!(quoted["status"], "extractive");
}

#[test]
fn a_failure_in_the_middle_is_the_last_event() {
    let server = Server::start();
    let client = server.client();
    let failed = client.post("/v1/ask", &json!({ "text": "x", "stream": true })).ok();
    let events = events(&failed);
    assert_eq!(events.len(), 1);
    let error: Value = serde_json::from_str(&events[0].1).unwrap();
    assert_eq!((events[0].0.as_str(), &error["error"]["type"]), ("error", &json!("not_found")));
}

#[test]
fn n10_what_the_model_s_server_says_stays_between_it_and_us() {
    let url = "http://inner.example:9/v1".to_owned();
    let turns = vec![
        Reply::error(rag::model::Error::Unauthorized { url: url.clone(), status: 401 }),
        Reply::error(rag::model::Error::Refused { url, status: 500, message: "x".repeat(5000) }),
    ];
    let server = Server::with(|options| {
        options.models = Arc::new(Fakes { chat: Some(Arc::new(ScriptedChat::new(turns))), ..Fakes::default() })
    });
    server.add("quay.md", "The quay is closed on Mondays.");
    let ask = || server.client().post("/v1/ask", &json!({ "text": "When is the quay closed?" }));
    let refused = ask().is(502);
    assert!(refused.text().contains("rejected the server's key") && !refused.text().contains("inner.example"));
    let long = ask().is(502);
    assert!(long.text().len() < 900, "{}", long.text().len());
}

#[test]
fn clients_of_openai_get_answers_with_citations() {
    let server = with_chat(&PIECES);
    let client = server.client();
    let messages = json!([
        { "role": "system", "content": "You are a pirate." },
        { "role": "user", "content": [{ "type": "text", "text": "When is the quay closed?" }] },
    ]);
    let body = json!({ "model": "gpt-x", "messages": messages, "temperature": 1.5, "seed": 3 });
    let whole = client.post("/v1/chat/completions", &body).ok().json();
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], "The quay is closed on Mondays [1].");
    let citation = &message["annotations"][0]["url_citation"];
    assert!(citation["url"].as_str().unwrap().starts_with("rag://doc/"), "{citation}");
    assert_eq!((citation["title"].as_str(), citation["end_index"].as_u64()), (Some("Quay"), Some(34)));
    assert_eq!(whole["rag"]["schema"], "rag.answer/1");
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    streamed["stream_options"] = json!({ "include_usage": true });
    let chunks = events(&client.post("/v1/chat/completions", &streamed).ok());
    assert_eq!(chunks.last().unwrap().1, "[DONE]");
    let chunks: Vec<Value> =
        chunks[..chunks.len() - 1].iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
    let text: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "The quay is closed on Mondays [1].");
    assert_eq!(chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"] == "stop").count(), 1);
    assert!(chunks.last().unwrap()["usage"]["total_tokens"].is_u64());
    let whole = client.post("/v1/responses", &json!({ "input": "When is the quay closed?" })).ok().json();
    let content = &whole["output"][0]["content"][0];
    assert_eq!(
        (content["text"].as_str(), whole["status"].as_str()),
        (Some("The quay is closed on Mondays [1]."), Some("completed"))
    );
    assert_eq!(content["annotations"][0]["type"], "url_citation");
    let events =
        events(&client.post("/v1/responses", &json!({ "input": "When is the quay closed?", "stream": true })).ok());
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("response.created", "response.completed"));
    for (at, (name, data)) in events.iter().enumerate() {
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&data["type"], &data["sequence_number"]), (&json!(name), &json!(at)));
    }
    client.post("/v1/responses", &json!({ "input": "x", "previous_response_id": "resp_1" })).is(400);
    client.post("/v1/chat/completions", &json!({ "messages": [] })).is(400);
    client.post("/v1/chat/completions", &json!({ "messages": messages, "n": 2 })).is(400);
    let models = client.get("/v1/models").ok().json();
    assert_eq!((&models["data"][0]["id"], &models["data"][1]["id"]), (&json!("rag"), &json!("fake-hash")));
    client.get("/v1/models/rag").ok();
    client.get("/v1/models/gpt-x").is(404);
}

#[test]
fn embeddings_are_the_index_s_own_in_either_form() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use rag::model::{Embedder as _, fake::FakeEmbedder};
    let server = with_chat(&PIECES);
    let client = server.client();
    let texts = ["the quay", "a tide"];
    let floats = client.post("/v1/embeddings", &json!({ "input": texts, "model": "x" })).ok().json();
    let packed = client.post("/v1/embeddings", &json!({ "input": texts, "encoding_format": "base64" })).ok().json();
    for (at, text) in texts.iter().enumerate() {
        let want = FakeEmbedder::new().embed_passages(&[text]).unwrap();
        let got: Vec<f32> = serde_json::from_value(floats["data"][at]["embedding"].clone()).unwrap();
        assert_eq!(got, want);
        let bytes = STANDARD.decode(packed["data"][at]["embedding"].as_str().unwrap()).unwrap();
        let got: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        assert_eq!(got, want);
    }
    for bad in [
        json!({ "input": [] }),
        json!({ "input": [1, 2] }),
        json!({ "input": "x", "dimensions": 3 }),
        json!({ "input": "" }),
    ] {
        client.post("/v1/embeddings", &bad).is(400);
    }
}

#[test]
fn reading_explaining_and_counting() {
    let server = with_chat(&PIECES);
    let client = server.client();
    let hello = client.get("/v1/hello").ok().json();
    assert_eq!(
        (hello["version"].as_str(), hello["settings"].as_str()),
        (Some(env!("CARGO_PKG_VERSION")), Some("of a test"))
    );
    let why = client.post("/v1/why", &json!({ "file": "api/quay.md" })).ok().json();
    assert_eq!((why["indexed"].as_bool(), why["reason"].as_str()), (Some(true), Some("indexed")));
    for file in ["/etc/passwd", "../x", "api/nothing.md"] {
        let why = client.post("/v1/why", &json!({ "file": file })).ok().json();
        assert_eq!(why["indexed"], false, "{why}");
    }
    let why_not = client.post("/v1/why-not", &json!({ "text": "quay", "file": "api/quay.md" })).ok().json();
    assert_eq!(why_not["found"], 1);
    let answer = client.post("/v1/ask", &json!({ "text": "When is the quay closed?" })).ok().text();
    let checked = client.post("/v1/check", &json!({ "answer": answer })).ok().json();
    assert_eq!(checked["holds"], true);
    client.post("/v1/check", &json!({ "answer": "nothing" })).is(400);
    let metrics = client.get("/metrics").ok().text();
    assert!(metrics.contains("rag_requests_total{route=\"/v1/why\",status=\"200\"} 4"), "{metrics}");
    client.get("/ready").ok();
    let eval = json!({
        "queries": [{ "id": "q1", "text": "quay closed" }], "qrels": { "q1": { "quay.md": 1 } }, "metrics": ["mrr@10"],
    });
    let measured = client.post("/v1/eval", &eval).ok().json();
    assert_eq!(measured["metrics"]["mrr@10"]["mean"], 1.0);
    let tools = client.send(
        "POST",
        "/mcp",
        &[("content-type", "application/json"), ("accept", "application/json, text/event-stream")],
        json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } },
        })
        .to_string()
        .as_bytes(),
    );
    assert!(tools.ok().text().contains("serverInfo"));
}
