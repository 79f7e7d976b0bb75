//! Answers by meaning: only where it is asked for, only for one question alone, and never over what differs exactly.

use std::sync::Arc;

use rag::{
    model::{Embedder, Error, Result},
    types::EmbeddingSpace,
};
use serde_json::{Value, json};

use crate::{
    behind::Behind,
    house::{House, and, question},
};

/// Sees letters alone, so that questions in other words are near; reads at most 200 bytes.
struct Letters(EmbeddingSpace);

impl Letters {
    fn new() -> Self {
        Self(rag::model::fake::FakeEmbedder::new().space().clone())
    }
}

impl Embedder for Letters {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<f32>> {
        let mut all = Vec::new();
        for text in texts {
            if text.len() > 200 {
                return Err(Error::TextTooLong { model: "letters".into(), found: text.len(), limit: 200 });
            }
            let mut vector = vec![0.0; self.0.dim];
            text.to_lowercase()
                .bytes()
                .filter(u8::is_ascii_alphabetic)
                .for_each(|byte| vector[usize::from(byte) % self.0.dim] += 1.0);
            all.extend(vector);
        }
        Ok(all)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.embed_passages(&[text])
    }

    fn concurrency(&self) -> usize {
        1
    }

    fn batch_size(&self) -> usize {
        1
    }

    fn backend(&self) -> String {
        "letters".into()
    }
}

fn house(behind: &Behind) -> House {
    House::with(&behind.url, |options| options.semantic = Some((0.9, Arc::new(Letters::new()))))
}

#[tokio::test]
async fn nearly_the_same_question_has_the_same_answer() {
    let behind = Behind::chatting();
    let house = house(&behind);
    let first = house.chat(&question("how do i reset my password on the otter 3?")).await;
    assert_eq!((first.cache(), first.header("x-rag-similarity")), ("miss", None));
    let near = house.chat(&question("how do i reset the password on my otter 3")).await;
    assert_eq!((near.cache(), near.text()), ("hit", first.text()));
    assert!(near.header("x-rag-similarity").unwrap().parse::<f32>().unwrap() >= 0.9);
    let streamed =
        house.chat(&and(question("how do i reset the password on my otter 3"), json!({"stream": true}))).await;
    assert_eq!((streamed.cache(), streamed.text()), ("hit", first.text()));
    // The very same is an exact hit, of which no similarity is told.
    let same = house.chat(&question("how do i reset my password on the otter 3?")).await;
    assert_eq!((same.cache(), same.header("x-rag-similarity")), ("hit", None));
    assert_eq!(house.stats().await.semantic_hits, 2);
    for other in [
        "how do i reset my password on the otter 4?",
        "how do i not reset my password on the otter 3?",
        "how do i reset \"my\" password on the otter 3?",
        "how do i reset my password on the otter three million?",
        "what else is there to know about zebras?",
    ] {
        assert_eq!(house.chat(&question(other)).await.cache(), "miss", "{other}");
    }
}

#[tokio::test]
async fn everything_but_the_question_must_be_equal() {
    let behind = Behind::chatting();
    let house = house(&behind);
    let with = |system: &str, text: &str, more: Value| {
        let messages = json!([{"role": "system", "content": system}, {"role": "user", "content": text}]);
        and(json!({"model": "m", "temperature": 0, "messages": messages}), more)
    };
    let (a, b) = ("how do i reset my password?", "how do i reset the password?");
    assert_eq!(house.chat(&with("be brief", a, json!({}))).await.cache(), "miss");
    for other in [
        with("be long", b, json!({})),
        with("be brief", b, json!({"model": "n"})),
        with("be brief", b, json!({"max_tokens": 7})),
        with("be brief", b, json!({"seed": 7})),
    ] {
        assert_eq!(house.chat(&other).await.cache(), "miss", "{other}");
    }
    let key = [("authorization", "Bearer another")];
    assert_eq!(house.ask("/v1/chat/completions", &key, &with("be brief", b, json!({}))).await.cache(), "miss");
    assert_eq!(house.chat(&with("be brief", b, json!({}))).await.cache(), "hit");
    // A conversation is not compared by meaning.
    let turns = |last: &str| {
        json!({"model": "m", "temperature": 0, "messages": [
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}, {"role": "user", "content": last}]})
    };
    assert_eq!(house.chat(&turns(a)).await.cache(), "miss");
    assert_eq!(house.chat(&turns(b)).await.cache(), "miss");
    // Nor is what the model does not read to its end.
    let long = "and so on ".repeat(30);
    assert_eq!(house.chat(&question(&format!("{long} one"))).await.cache(), "miss");
    assert_eq!(house.chat(&question(&format!("{long} none"))).await.cache(), "miss");
}

#[tokio::test]
async fn wishes_and_purge_hold_here_too() {
    let behind = Behind::chatting();
    let house = house(&behind);
    let (a, b) = (question("how do i reset my password?"), question("how do i reset the password?"));
    let ask = async |wish: &str, body: &Value| house.ask("/v1/chat/completions", &[("x-rag-cache", wish)], body).await;
    house.chat(&a).await;
    assert_eq!(ask("bypass", &b).await.cache(), "bypass");
    assert_eq!(ask("only", &b).await.cache(), "hit");
    assert_eq!(ask("refresh", &b).await.cache(), "miss");
    assert_eq!(house.chat(&b).await.header("x-rag-similarity"), None, "it has an answer of its own now");
    crate::house::got(house.client.post(house.url("/purge"))).await;
    assert_eq!(house.chat(&a).await.cache(), "miss");
    // Off by itself.
    let house = House::new(&behind.url);
    house.chat(&a).await;
    assert_eq!(house.chat(&b).await.cache(), "miss");
}
