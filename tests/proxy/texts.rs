//! Vectors, text by text.

use serde_json::{Value, json};

use crate::{
    behind::{Behind, Reply},
    house::{House, and},
    llm_double::{Behaviour, Double, Profile, vector},
};

fn request(texts: &[&str]) -> Value {
    json!({"model": "e", "input": texts})
}

/// The vectors of an answer in order.
fn vectors(answer: &Value) -> Vec<Vec<f32>> {
    let data = answer["data"].as_array().unwrap();
    let numbers =
        |item: &Value| item["embedding"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect();
    assert!(data.iter().enumerate().all(|(at, item)| item["index"] == at));
    data.iter().map(numbers).collect()
}

#[tokio::test]
async fn only_new_texts_are_asked_for() {
    let double = Double::answering("x");
    let house = House::new(&double.url());
    let direct = |texts: &[&str]| texts.iter().map(|text| vector(text, 16)).collect::<Vec<_>>();
    for (texts, cache, elements, sent) in [
        (&["one", "two", "three"][..], "miss", "0/3", Some(json!(["one", "two", "three"]))),
        (&["three", "one"], "hit", "2/2", None),
        (&["four", "two", "five", "one"], "miss", "2/4", Some(json!(["four", "five"]))),
        (&["five", "four", "three", "two", "one"], "hit", "5/5", None),
        (&["six", "six"], "miss", "0/2", Some(json!(["six", "six"]))),
    ] {
        let before = double.requests().len();
        let got = house.ask("/v1/embeddings", &[], &request(texts)).await;
        assert_eq!((got.status, got.cache()), (200, cache), "{texts:?}");
        assert_eq!(got.header("x-rag-cache-elements"), Some(elements), "{texts:?}");
        assert_eq!(vectors(&got.json()), direct(texts), "{texts:?}");
        let tokens: usize = texts.iter().map(|text| text.len()).sum();
        assert_eq!(got.json()["usage"]["prompt_tokens"], tokens, "{texts:?}");
        assert_eq!(got.json()["model"], Profile::OpenAi.model(), "{texts:?}");
        let calls = double.requests();
        assert_eq!(calls.get(before).map(|call| call.body["input"].clone()), sent, "{texts:?}");
    }
    // One text alone is the same text.
    let got = house.ask("/v1/embeddings", &[], &json!({"model": "e", "input": "one"})).await;
    assert_eq!(got.cache(), "hit");
    let stats = house.stats().await;
    assert_eq!((stats.element_hits, stats.element_misses), (2 + 2 + 5 + 1, 3 + 2 + 2));
}

#[tokio::test]
async fn what_changes_a_vector_is_part_of_its_key() {
    let double = Double::answering("x");
    let house = House::new(&double.url());
    for more in [
        json!({}),
        json!({"model": "f"}),
        json!({"dimensions": 8}),
        json!({"encoding_format": "base64"}),
        json!({"input_type": "query"}),
    ] {
        let body = and(request(&["one"]), more.clone());
        assert_eq!(house.ask("/v1/embeddings", &[], &body).await.cache(), "miss", "{more}");
        assert_eq!(house.ask("/v1/embeddings", &[], &body).await.cache(), "hit", "{more}");
    }
    assert_eq!(house.ask("/v1/embeddings", &[], &and(request(&["one"]), json!({"user": "me"}))).await.cache(), "hit");
}

#[tokio::test]
async fn base64_and_numbers_come_back_as_they_were() {
    let double = Double::start(Profile::OpenAi, [Behaviour::Base64]);
    let house = House::new(&double.url());
    let body = json!({"model": "e", "input": ["größer 🦀"], "encoding_format": "base64"});
    let first = house.ask("/v1/embeddings", &[], &body).await;
    let second = house.ask("/v1/embeddings", &[], &body).await;
    assert_eq!((first.cache(), second.cache()), ("miss", "hit"));
    assert_eq!(first.json()["data"], second.json()["data"]);

    let numbers = json!([0.0023064255, -0.009327292, 1e-10, 0.1234567890123456, -0.0, 3]);
    let answer = json!({"object": "list", "model": "e", "data": [{"object": "embedding", "index": 0, "embedding": numbers}],
        "usage": {"prompt_tokens": 1, "total_tokens": 1}});
    let behind = Behind::saying(Reply::json(&answer));
    let house = House::new(&behind.url);
    for want in ["miss", "hit"] {
        let got = house.ask("/v1/embeddings", &[], &request(&["a"])).await;
        assert_eq!(got.cache(), want);
        let back = got.json()["data"][0]["embedding"].clone();
        let floats = |value: &Value| value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
        assert_eq!(floats(&back), floats(&numbers));
    }
}

#[tokio::test]
async fn answers_that_are_none_are_handed_on_and_not_kept() {
    for behaviour in [
        Behaviour::OneMissing,
        Behaviour::NotANumber,
        Behaviour::Fail(500),
        Behaviour::Quota,
        Behaviour::BadJson,
        Behaviour::AtMost(1),
    ] {
        let double = Double::start(Profile::OpenAi, [behaviour.clone()]);
        let house = House::new(&double.url());
        for _ in 0..2 {
            let got = house.ask("/v1/embeddings", &[], &request(&["one", "two"])).await;
            assert_eq!(got.cache(), "miss", "{behaviour:?}");
        }
        assert_eq!(double.requests().len(), 2, "{behaviour:?}");
        assert_eq!(house.stats().await.cache.entries, 0, "{behaviour:?}");
    }
    for input in [json!([]), json!(null), json!([1, "a"]), json!({"a": 1})] {
        let double = Double::answering("x");
        let house = House::new(&double.url());
        let got = house.ask("/v1/embeddings", &[], &json!({"model": "e", "input": input})).await;
        assert_eq!((got.cache(), got.header("x-rag-cache-why")), ("uncacheable", Some("input")), "{input}");
    }
}

#[tokio::test]
async fn a_server_that_answers_parts_wrongly_gets_the_whole() {
    // It answers everything it is asked, unless it is asked for one text alone.
    let behind = Behind::start(|heard| {
        let input = heard.json()["input"].as_array().cloned().unwrap_or_default();
        if input.len() == 1 {
            return Reply::json(&json!({"data": []}));
        }
        let item = |(at, _): (usize, &Value)| json!({"index": at, "embedding": [at as f64 + 0.5]});
        Reply::json(
            &json!({"model": "e", "data": input.iter().enumerate().map(item).collect::<Vec<_>>(), "usage": {"prompt_tokens": 2}}),
        )
    });
    let house = House::new(&behind.url);
    house.ask("/v1/embeddings", &[], &request(&["one", "two"])).await;
    let got = house.ask("/v1/embeddings", &[], &request(&["one", "two", "three"])).await;
    assert_eq!((got.status, got.json()["data"].as_array().unwrap().len()), (200, 3));
    assert_eq!(behind.calls(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_requests_at_one_time_are_one_call() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let answer = json!({"model": "e", "data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 2}});
    let behind = Behind::saying(Reply::json(&answer).held(&gate, true));
    let house = std::sync::Arc::new(House::new(&behind.url));
    let asking: Vec<_> = (0..50)
        .map(|_| {
            let house = std::sync::Arc::clone(&house);
            tokio::spawn(async move { house.ask("/v1/embeddings", &[], &request(&["one"])).await })
        })
        .collect();
    while behind.calls() == 0 {
        tokio::task::yield_now().await;
    }
    gate.add_permits(1000);
    for one in asking {
        assert_eq!(vectors(&one.await.unwrap().json()), [[0.5]]);
    }
    assert_eq!(behind.calls(), 1);
}
