//! What is kept, under which key, and in which shape it comes back.

use rag::serve::proxy::Allowed;
use serde_json::{Value, json};

use crate::{
    behind::{Behind, Reply, chat, chat_stream, with_message},
    house::{House, and, question},
};

#[tokio::test]
async fn the_second_answer_costs_nothing() {
    let behind = Behind::chatting();
    let house = House::new(&behind.url);
    let first = house.chat(&question("hi")).await;
    assert_eq!((first.status, first.cache(), first.header("age")), (200, "miss", None));
    let second = house.chat(&question("hi")).await;
    assert_eq!((second.status, second.cache()), (200, "hit"));
    assert!(second.header("age").unwrap().parse::<u64>().unwrap() < 60);
    assert_eq!(second.header("content-type"), Some("application/json"));
    assert_eq!(second.bytes(), first.bytes());
    assert_eq!(behind.calls(), 1);
    let stats = house.stats().await;
    assert_eq!((stats.hits, stats.misses, stats.stored, stats.upstream_calls), (1, 1, 1, 1));
    assert_eq!((stats.saved_prompt_tokens, stats.saved_completion_tokens), (9, 3));
    assert_eq!(stats.cache.entries, 1);
}

#[tokio::test]
async fn what_means_the_same_request_is_the_same() {
    let behind = Behind::chatting();
    let house = House::new(&behind.url);
    house.chat(&question("größer 🦀?")).await;
    let spelled = r#"{ "messages":[ {"content":"gr\u00f6\u00dfer \ud83e\udd80?", "role":"user"} ], "temperature": 0.0, "model": "m" }"#;
    let send = |body: String| {
        let request = house.client.post(house.url("/v1/chat/completions")).header("content-type", "application/json");
        crate::house::got(request.body(body))
    };
    assert_eq!(send(spelled.to_owned()).await.cache(), "hit");
    for same in [
        json!({"user": "me"}),
        json!({"metadata": {"a": "b"}}),
        json!({"store": true}),
        json!({"stream": false}),
        json!({"stream_options": null}),
    ] {
        assert_eq!(house.chat(&and(question("größer 🦀?"), same.clone())).await.cache(), "hit", "{same}");
    }
    for other in [
        json!({"model": "n"}),
        json!({"seed": 1}),
        json!({"max_tokens": 5}),
        json!({"top_p": 0.5}),
        json!({"stop": ["x"]}),
        json!({"response_format": {"type": "json_object"}}),
        json!({"anything": "else"}),
    ] {
        assert_eq!(house.chat(&and(question("größer 🦀?"), other.clone())).await.cache(), "miss", "{other}");
    }
    assert_eq!(house.chat(&question("größer 🦀? ")).await.cache(), "miss");
}

#[tokio::test]
async fn path_query_and_server_are_part_of_the_key() {
    let behind = Behind::chatting();
    let house = House::new(&behind.url);
    for path in [
        "/v1/chat/completions",
        "/v1/chat/completions?api-version=2026-01-01",
        "/v1/chat/completions?api-version=2026-02-01",
        "/openai/deployments/gpt/chat/completions?api-version=2026-01-01",
        "/openai/deployments/mini/chat/completions?api-version=2026-01-01",
    ] {
        assert_eq!(house.ask(path, &[], &question("hi")).await.cache(), "miss", "{path}");
        assert_eq!(house.ask(path, &[], &question("hi")).await.cache(), "hit", "{path}");
    }
    let other = Behind::chatting();
    let house = House::again(&other.url, house.end(), |_| {});
    assert_eq!(house.chat(&question("hi")).await.cache(), "miss", "another server");
}

#[tokio::test]
async fn n12_two_keys_never_share() {
    let behind = Behind::chatting();
    let house = House::new(&behind.url);
    let names = ["authorization", "api-key", "x-api-key", "x-goog-api-key", "openai-organization", "cookie"];
    let mut texts = std::collections::BTreeSet::new();
    for name in names {
        for value in ["Bearer tenant-a", "Bearer tenant-b", "Bearer tenant-a "] {
            let got = house.ask("/v1/chat/completions", &[(name, value)], &question("hi")).await;
            let trimmed = value.ends_with(' ');
            assert_eq!(got.cache(), if trimmed { "hit" } else { "miss" }, "{name}: {value}");
            assert_eq!(texts.insert(got.text()), !trimmed, "{name}: {value}");
        }
    }
    let nobody = house.chat(&question("hi")).await;
    assert_eq!(nobody.cache(), "miss");
    assert!(texts.insert(nobody.text()));
    // Nor while both are asking, nor by what only the cache may answer.
    let only = [("x-rag-cache", "only"), ("authorization", "Bearer tenant-c")];
    assert_eq!(house.ask("/v1/chat/completions", &only, &question("hi")).await.status, 504);
    // The embeddings of one are not those of the other.
    let embed = json!({"model": "e", "input": "secret text"});
    let double = crate::llm_double::Double::answering("x");
    let house = House::new(&double.url());
    for (key, want) in [("Bearer a", "miss"), ("Bearer b", "miss"), ("Bearer a", "hit"), ("Bearer b", "hit")] {
        assert_eq!(house.ask("/v1/embeddings", &[("authorization", key)], &embed).await.cache(), want, "{key}");
    }
}

#[tokio::test]
async fn temperature_tools_and_wishes() {
    let behind = Behind::chatting();
    let house = House::new(&behind.url);
    let plain = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    for (more, why) in [
        (json!({}), "temperature"),
        (json!({"temperature": 0.2}), "temperature"),
        (json!({"temperature": 0, "tools": [{"type": "function", "function": {"name": "f"}}]}), "tools"),
        (json!({"temperature": 0, "n": 2}), "n"),
        (json!({"temperature": 0, "logprobs": true}), "logprobs"),
        (json!({"temperature": 0, "modalities": ["audio"]}), "modality"),
    ] {
        for _ in 0..2 {
            let got = house.chat(&and(plain.clone(), more.clone())).await;
            assert_eq!((got.cache(), got.header("x-rag-cache-why")), ("uncacheable", Some(why)), "{more}");
        }
    }
    let seeded = and(plain.clone(), json!({"seed": 4}));
    assert_eq!(house.chat(&seeded).await.cache(), "miss");
    assert_eq!(house.chat(&seeded).await.cache(), "hit");

    let ask = async |wish: &str, body: &Value| {
        let got = house.ask("/v1/chat/completions", &[("x-rag-cache", wish)], body).await;
        (got.status, got.cache().to_owned(), got.text())
    };
    // Force keeps what the temperature speaks against, and finds it again; the usual rules still do not.
    assert_eq!(ask("only", &plain).await.0, 504);
    let forced = ask("force", &plain).await;
    assert_eq!(forced.1, "miss");
    assert_eq!(ask("force", &plain).await, (200, "hit".into(), forced.2.clone()));
    assert_eq!(ask("only", &plain).await, (200, "hit".into(), forced.2));
    assert_eq!(house.chat(&plain).await.cache(), "uncacheable");
    // Bypass neither looks nor keeps; refresh does not look, and keeps.
    let before = house.chat(&seeded).await.text();
    let passed = ask("bypass", &seeded).await;
    assert_eq!(passed.1, "bypass");
    assert_eq!(house.chat(&seeded).await.text(), before);
    let fresh = ask("refresh", &seeded).await;
    assert_eq!(fresh.1, "miss");
    assert_ne!(fresh.2, before);
    assert_eq!(house.chat(&seeded).await.text(), fresh.2);
    assert_eq!(ask("never heard of", &seeded).await.0, 400);
    // The wish is for the proxy alone.
    assert!(behind.heard().iter().all(|heard| heard.headers.get("x-rag-cache").is_none()));

    let house = House::with(&behind.url, |options| options.allowed = Allowed { temperature: 1.0, tools: true });
    let tools = and(plain.clone(), json!({"tools": [{"type": "function", "function": {"name": "f"}}]}));
    for body in [&plain, &tools] {
        assert_eq!(house.chat(body).await.cache(), "miss");
        assert_eq!(house.chat(body).await.cache(), "hit");
    }
}

#[tokio::test]
async fn one_answer_serves_streams_and_wholes() {
    for first_streams in [true, false] {
        for first_counts in [false, true] {
            let behind = Behind::chatting();
            let house = House::new(&behind.url);
            let shaped = |stream: bool, counts: bool| {
                let mut body = and(question("hi"), json!({ "stream": stream }));
                if counts {
                    body["stream_options"] = json!({"include_usage": true});
                }
                body
            };
            let first = house.chat(&shaped(first_streams, first_counts)).await;
            assert_eq!(first.cache(), "miss");
            for (stream, counts) in [(false, false), (true, false), (true, true), (false, false)] {
                let got = house.chat(&shaped(stream, counts)).await;
                let case = format!("{first_streams} {first_counts} → {stream} {counts}");
                assert_eq!((got.cache(), got.text().as_str()), ("hit", "answer number 0"), "{case}");
                let estimated = first_streams && !first_counts && (counts || !stream);
                assert_eq!(got.header("x-rag-usage"), estimated.then_some("estimated"), "{case}");
                if stream {
                    assert!(got.header("content-type").unwrap().starts_with("text/event-stream"), "{case}");
                    assert!(got.bytes().ends_with(b"data: [DONE]\n\n"), "{case}");
                    let chunks = got.chunks();
                    let counted: Vec<&Value> = chunks.iter().filter(|chunk| chunk["usage"].is_object()).collect();
                    assert_eq!(counted.len(), usize::from(counts), "{case}");
                    if counts {
                        assert_eq!(counted[0]["choices"], json!([]), "{case}");
                        assert!(counted[0]["usage"]["total_tokens"].as_u64().unwrap() > 0, "{case}");
                        assert_eq!(chunks.last().unwrap(), counted[0], "{case}");
                    }
                    assert!(chunks.iter().any(|chunk| chunk["choices"][0]["finish_reason"] == "stop"), "{case}");
                } else {
                    let whole = got.json();
                    assert_eq!(whole["object"], "chat.completion", "{case}");
                    assert_eq!(whole["choices"][0]["finish_reason"], "stop", "{case}");
                    if !estimated {
                        assert_eq!(whole["usage"]["total_tokens"], 12, "{case}");
                    }
                }
            }
            assert_eq!(behind.calls(), 1);
        }
    }
}

#[tokio::test]
async fn a_stream_is_replayed_byte_for_byte_in_its_own_parts() {
    let parts = chat_stream("größer than 🦀, said in many small words", true);
    let behind = Behind::saying(Reply::stream(parts.clone()));
    let house = House::new(&behind.url);
    let body = and(question("hi"), json!({"stream": true, "stream_options": {"include_usage": true}}));
    let first = house.chat(&body).await;
    assert_eq!(first.bytes(), parts.concat().as_bytes());
    // As they came to the proxy, so they go out again; a part is never cut or joined by the cache itself.
    let hit = house.chat(&body).await;
    assert_eq!(hit.cache(), "hit");
    assert_eq!(hit.bytes(), parts.concat().as_bytes());
    let house = House::again(&behind.url, house.end(), |options| {
        // With a pause between them, the client sees each part by itself.
        options.replay_pace = std::time::Duration::from_millis(5);
    });
    let paced = house.chat(&body).await;
    assert_eq!(paced.cache(), "hit");
    assert_eq!(paced.bytes(), parts.concat().as_bytes());
    let cuts = |parts: &[Vec<u8>]| {
        let ends = parts.iter().scan(0, |end, part| {
            *end += part.len();
            Some(*end)
        });
        ends.collect::<std::collections::BTreeSet<usize>>()
    };
    let own: Vec<Vec<u8>> = parts.iter().map(|part| part.clone().into_bytes()).collect();
    assert!(cuts(&paced.parts).is_subset(&cuts(&own)), "only at the server's own boundaries");
    assert!(paced.parts.len() > 3, "{}", paced.parts.len());
}

#[tokio::test]
async fn an_end_that_is_none_keeps_nothing_half() {
    // The model says the mark of the end itself; and an end that comes in pieces.
    let mut said = chat_stream("It says [DONE]\n and goes on", false);
    let end = said.pop().unwrap();
    said.extend(end.bytes().map(|byte| char::from(byte).to_string()));
    let behind = Behind::saying(Reply::stream(said.clone()));
    let house = House::new(&behind.url);
    let body = and(question("hi"), json!({"stream": true}));
    for want in ["miss", "hit"] {
        let got = house.chat(&body).await;
        assert_eq!((got.cache(), got.bytes().as_slice()), (want, said.concat().as_bytes()));
    }

    let response = json!({"id": "r", "status": "completed", "output": [{"type": "message", "id": "m", "role": "assistant",
        "content": [{"type": "output_text", "text": "event: response.completed\n"}]}]});
    let done = json!({"type": "response.completed", "response": response});
    let parts = vec!["event: response.completed\n".to_owned(), format!("data: {done}"), "\n\n".to_owned()];
    assert!(parts[1].len() > 100, "the mark is long gone when the event is whole");
    let behind = Behind::saying(Reply::stream(parts.clone()));
    let house = House::new(&behind.url);
    let asked = json!({"model": "m", "input": "hi", "store": false, "temperature": 0, "stream": true});
    for want in ["miss", "hit"] {
        let got = house.ask("/v1/responses", &[], &asked).await;
        assert_eq!((got.cache(), got.bytes().as_slice()), (want, parts.concat().as_bytes()));
    }
}

#[tokio::test]
async fn answers_that_are_never_kept() {
    let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let mut two = chat("hi");
    two["choices"]
        .as_array_mut()
        .unwrap()
        .push(json!({"index": 1, "message": {"content": "x"}, "finish_reason": "stop"}));
    let mut logprobs = chat("hi");
    logprobs["choices"][0]["logprobs"] = json!({"content": [{"token": "hi"}]});
    let streamed = |delta: Value, finish: &str| {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        Reply::stream(vec![format!("data: {chunk}\n\n"), "data: [DONE]\n\n".into()])
    };
    for reply in [
        Reply::json(&with_message(json!({"content": null, "tool_calls": [call]}), "tool_calls")),
        Reply::json(&with_message(json!({"content": "hi", "tool_calls": [call]}), "stop")),
        Reply::json(&with_message(json!({"content": null, "refusal": "no"}), "stop")),
        Reply::json(&with_message(json!({"content": "half"}), "length")),
        Reply::json(&with_message(json!({"content": "half"}), "content_filter")),
        Reply::json(&with_message(json!({"content": null, "audio": {"id": "a"}}), "stop")),
        Reply::json(&two),
        Reply::json(&logprobs),
        Reply::json(&json!({"error": {"message": "in disguise"}})),
        Reply::of(200, "application/json", vec!["{\"choices\": [{".into()]),
        Reply::of(200, "text/html", vec!["<html>sign in</html>".into()]),
        Reply::of(400, "application/json", vec!["{\"error\": {}}".into()]),
        Reply::of(500, "application/json", vec!["{\"error\": {}}".into()]),
        Reply::of(201, "application/json", vec![chat("hi").to_string()]),
        streamed(json!({"tool_calls": [call]}), "tool_calls"),
        streamed(json!({"content": "half"}), "length"),
        streamed(json!({"refusal": "no"}), "stop"),
        // A stream that ends without a reason, one with an error in it, and one that breaks.
        Reply::stream(chat_stream("a b c", false)[..3].to_vec()),
        Reply::stream(vec![
            chat_stream("a b", false)[..2].concat(),
            "data: {\"error\": {\"message\": \"crashed\"}}\n\n".into(),
        ]),
        Reply::stream(chat_stream("a b c", false)[..4].to_vec()).cut(),
    ] {
        let body = String::from_utf8(reply.parts.concat()).unwrap();
        let behind = Behind::saying(reply.clone());
        let house = House::new(&behind.url);
        for _ in 0..2 {
            let got = house.chat(&question("hi")).await;
            assert_eq!((got.status, got.cache()), (reply.status, "miss"), "{body}");
            let heard = String::from_utf8(got.bytes()).unwrap();
            // A connection that breaks may take the last words with it.
            assert!(heard == body || (reply.cut && body.starts_with(&heard)), "{heard} of {body}");
            assert_eq!(got.broken, reply.cut, "{body}");
        }
        assert_eq!(behind.calls(), 2, "{body}");
        assert_eq!(house.stats().await.cache.entries, 0, "{body}");
    }
}

#[tokio::test]
async fn the_responses_api_is_kept_where_nothing_is_stored_upstream() {
    let response = json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null, "model": "m",
        "output": [{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": "It is 12 m high.", "annotations": []}]}],
        "usage": {"input_tokens": 5, "output_tokens": 6, "total_tokens": 11},
    });
    let behind = Behind::saying(Reply::json(&response));
    let house = House::new(&behind.url);
    let asked = json!({"model": "m", "input": "How high?", "store": false, "temperature": 0});
    for (more, want) in [
        (json!({}), "miss"),
        (json!({}), "hit"),
        (json!({"stream": true}), "hit"),
        (json!({"store": true}), "uncacheable"),
        (json!({"previous_response_id": "resp_0"}), "uncacheable"),
        (json!({"background": true}), "uncacheable"),
        (json!({"temperature": 1}), "uncacheable"),
    ] {
        let got = house.ask("/v1/responses", &[], &and(asked.clone(), more.clone())).await;
        assert_eq!(got.cache(), want, "{more}");
        if more == json!({"stream": true}) {
            let events = got.chunks();
            assert_eq!(events.first().unwrap()["type"], "response.created");
            assert_eq!(events.last().unwrap()["response"], response);
            let said: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
            assert_eq!(said, "It is 12 m high.");
        }
    }
}
