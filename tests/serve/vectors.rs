//! A query whose vector the client made itself.

use rag::model::{Embedder, fake::FakeEmbedder};
use serde_json::{Value, json};

use super::server::Server;

/// Results without what each took.
fn untimed(mut found: Value) -> Value {
    found["timing_ms"] = Value::Null;
    found
}

#[test]
fn a_vector_that_is_given_finds_what_the_server_s_own_would() {
    let server = Server::start();
    for n in 0..30 {
        server.add(&format!("{n}.md"), &format!("The quay number {n} keeps tide table {}", n * 7));
    }
    let client = server.client();
    let text = "tide table of the quay 21";
    let vector = FakeEmbedder::new().embed_query(text).unwrap();
    for more in [json!({}), json!({ "mode": "dense" }), json!({ "mode": "hybrid", "fusion": "rrf", "explain": true })] {
        let mut own = json!({ "text": text, "k": 8 });
        own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut given = own.clone();
        given["vector"] = json!(vector);
        let want = untimed(client.post("/v1/query", &own).ok().json());
        assert_eq!(untimed(client.post("/v1/query", &given).ok().json()), want, "{more}");
        // A direction is what counts in this space.
        given["vector"] = json!(vector.iter().map(|value| value * 3.0).collect::<Vec<f32>>());
        let longer = client.post("/v1/query", &given).ok().json();
        let ids = |found: &Value| -> Vec<Value> {
            found["results"].as_array().unwrap().iter().map(|hit| hit["chunk_id"].clone()).collect()
        };
        assert_eq!(ids(&longer), ids(&want), "{more}");
    }
    // Alone it is searched for by meaning; with a text of other words it is what the meaning is.
    let alone = client.post("/v1/query", &json!({ "vector": vector })).ok().json();
    assert_eq!((alone["mode"].as_str(), alone["results"].as_array().unwrap().len()), (Some("dense"), 10));
    let dense = client.post("/v1/query", &json!({ "text": text, "mode": "dense" })).ok().json();
    assert_eq!(alone["results"][0]["chunk_id"], dense["results"][0]["chunk_id"]);
    let other = client.post("/v1/query", &json!({ "text": "zebra", "vector": vector })).ok().json();
    assert_eq!(other["results"][0]["chunk_id"], dense["results"][0]["chunk_id"], "no word of it is there");
}

#[test]
fn a_vector_that_is_none_of_the_index_is_refused_in_words() {
    let server = Server::start();
    server.add("a.md", "one quay");
    let client = server.client();
    let dim = FakeEmbedder::new().space().dim;
    let right = vec![1.0; dim];
    let refused = |body: Value| client.post("/v1/query", &body).is(400).text();
    assert!(
        refused(json!({ "text": "quay", "vector": [1.0, 2.0] }))
            .contains(&format!("2 values, the index holds vectors of {dim}"))
    );
    assert!(refused(json!({ "text": "quay", "vector": [] })).contains("0 values"));
    assert!(refused(json!({ "text": "quay", "vector": vec![0.0; dim] })).contains("no direction"));
    assert!(refused(json!({ "text": "quay", "vector": right, "mode": "lexical" })).contains("by meaning"));
    let mut endless = json!({ "text": "quay", "vector": right }).to_string();
    endless = endless.replacen("1.0", "1e300", 1);
    let headers = [("content-type", "application/json")];
    let answer = client.send("POST", "/v1/query", &headers, endless.as_bytes()).is(400).text();
    assert!(answer.contains("no finite number") || answer.contains("out of range"), "{answer}");
    refused(json!({ "text": "quay", "vector": "AAAA" }));
}
