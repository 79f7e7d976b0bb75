//! A chat or response whose answer may be kept: from the cache, along with somebody who asks the same, or from the server.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use hyper::{HeaderMap, Response, StatusCode, body::Bytes, header::CONTENT_LENGTH};
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    answer::{Answer, Shape, Shaped},
    body::Piped,
    canonical::canonical,
    flight::{Flight, Head, Joined, Listener},
    handle::{Asked, broken_response, not_cached, respond},
    headers::{self, Outcome, Wish, X_RAG_CACHE, X_RAG_SIMILARITY, X_RAG_USAGE},
    identity::Key,
    rules::{Endpoint, telling},
    semantic::{Question, single_turn},
    server::Inner,
    stats::bump,
    upstream::{Call, Keep, lead},
};

/// A kept answer in the shape that is wanted.
struct Hit {
    shaped: Shaped,
    age_seconds: u64,
    similarity: Option<f32>,
}

/// Answers a request whose answer may be kept.
pub async fn answer(
    inner: Arc<Inner>,
    asked: Asked,
    endpoint: Endpoint,
    body: Map<String, Value>,
    bytes: Bytes,
) -> Response<Body> {
    let told = canonical(&Value::Object(telling(&body)));
    let key = inner.secret.request(endpoint.name(), asked.url.as_str(), &asked.scope, &told);
    let group =
        inner.semantic.as_ref().and_then(|_| single_turn(endpoint, &body)).map(|(rest, text)| {
            (inner.secret.request("alike", asked.url.as_str(), &asked.scope, &canonical(&rest)), text)
        });
    let shape = Shape::of(&Value::Object(body));
    let mut question = None;
    if asked.wish != Wish::Refresh
        && let Some(hit) = look_up(&inner, key, shape, bytes.len()).await
    {
        return serve(&inner, hit, asked.permit, Outcome::Hit);
    }
    if let Some((group, text)) = group {
        let (hit, found) = alike(&inner, group, text, shape, bytes.len(), asked.wish != Wish::Refresh).await;
        if let Some(hit) = hit {
            return serve(&inner, hit, asked.permit, Outcome::Hit);
        }
        question = found;
    }
    if asked.wish == Wish::Only {
        return not_cached();
    }
    ask(inner, asked, Wanted { key, shape, endpoint, question, bytes }).await
}

struct Wanted {
    key: Key,
    shape: Shape,
    endpoint: Endpoint,
    question: Option<Question>,
    bytes: Bytes,
}

/// Asks the server, or listens to somebody who does.
async fn ask(inner: Arc<Inner>, asked: Asked, wanted: Wanted) -> Response<Body> {
    let Wanted { key, shape, endpoint, mut question, bytes } = wanted;
    let mut may_retry = true;
    let mut waited = false;
    loop {
        let joined = match asked.wish {
            // What comes must be new, so it is not shared with those who asked before.
            Wish::Refresh => {
                let flight = Flight::new(shape);
                let listener = flight.listen();
                Joined::First(flight, listener)
            }
            Wish::Usual | Wish::Force | Wish::Bypass | Wish::Only => {
                inner.flights.join(key, shape, || inner.store.has(&key))
            }
        };
        let (mut listener, outcome) = match joined {
            Joined::Stored => match look_up(&inner, key, shape, bytes.len()).await {
                Some(hit) => {
                    let outcome = if waited { Outcome::Coalesced } else { Outcome::Hit };
                    return serve(&inner, hit, asked.permit, outcome);
                }
                // It was there and cannot be read; it is not there any more.
                None => continue,
            },
            Joined::First(flight, listener) => {
                let mut headers = asked.headers.clone();
                headers.remove(hyper::header::ACCEPT_ENCODING);
                let body = reqwest::Body::from(bytes.clone());
                let call = Call { method: asked.method.clone(), url: asked.url.clone(), headers, body };
                let keep = Keep { key, endpoint, question: question.take() };
                tokio::spawn(lead(Arc::clone(&inner), flight, call, keep));
                (listener, Outcome::Miss)
            }
            Joined::Along(listener) => (listener, Outcome::Coalesced),
            Joined::OtherShape(mut listener) => {
                listener.ended().await;
                waited = true;
                continue;
            }
        };
        let head = listener.head().await;
        let failed = head.as_ref().map_or(true, |head| head.failed);
        if failed && outcome == Outcome::Coalesced && may_retry {
            // The one who asked first had no luck. One of those who waited asks once more, for all of them.
            may_retry = false;
            listener.ended().await;
            continue;
        }
        bump(if outcome == Outcome::Miss { &inner.stats.misses } else { &inner.stats.coalesced });
        return match head {
            Ok(head) => relay(head, listener, asked.permit, outcome),
            Err(broken) => broken_response(&broken),
        };
    }
}

/// An answer under way to one who listens.
fn relay(head: Head, mut listener: Listener, permit: OwnedSemaphorePermit, outcome: Outcome) -> Response<Body> {
    let mut headers = head.headers;
    headers.remove(CONTENT_LENGTH);
    headers::set(&mut headers, X_RAG_CACHE, outcome.word());
    let (sender, piped) = Piped::channel(head.length, Some(permit));
    tokio::spawn(async move {
        loop {
            let next = tokio::select! {
                next = listener.next() => next,
                () = sender.closed() => return,
            };
            let message = match next {
                Some(Ok(part)) => Ok(part),
                Some(Err(_)) => Err("the answer broke off".into()),
                None => return,
            };
            if sender.send(message).await.is_err() {
                return;
            }
        }
    });
    respond(head.status, headers, Body::new(piped))
}

/// The kept answer under this key in this shape.
async fn look_up(inner: &Arc<Inner>, key: Key, shape: Shape, prompt_bytes: usize) -> Option<Hit> {
    if !inner.store.has(&key) {
        return None;
    }
    let reading = Arc::clone(inner);
    let read = tokio::task::spawn_blocking(move || {
        let entry = reading.store.get(&key)?;
        let shaped = Answer::decoded(&entry.payload).and_then(|answer| answer.shaped(shape, prompt_bytes));
        if shaped.is_none() {
            reading.store.delete(&key);
        }
        Some(Hit { shaped: shaped?, age_seconds: entry.age_seconds, similarity: None })
    });
    read.await.ok().flatten()
}

/// A kept answer to a question that means the same; and the question, embedded, for its own answer to be kept with.
async fn alike(
    inner: &Arc<Inner>,
    group: Key,
    text: String,
    shape: Shape,
    prompt_bytes: usize,
    look: bool,
) -> (Option<Hit>, Option<Question>) {
    let reading = Arc::clone(inner);
    let found = tokio::task::spawn_blocking(move || {
        let semantic = reading.semantic.as_ref()?;
        let question = semantic.question(group, text)?;
        let near = if look { semantic.nearest(&question, |key| reading.store.has(key)) } else { None };
        let hit = near.and_then(|near| {
            let entry = reading.store.get(&near.key)?;
            let shaped = Answer::decoded(&entry.payload).and_then(|answer| answer.shaped(shape, prompt_bytes));
            if shaped.is_none() {
                reading.store.delete(&near.key);
                semantic.forget(&near.key);
            }
            Some(Hit { shaped: shaped?, age_seconds: entry.age_seconds, similarity: Some(near.similarity) })
        });
        Some((hit, question))
    });
    match found.await {
        Ok(Some((hit, question))) => (hit, Some(question)),
        Ok(None) | Err(_) => (None, None),
    }
}

fn serve(inner: &Arc<Inner>, hit: Hit, permit: OwnedSemaphorePermit, outcome: Outcome) -> Response<Body> {
    let Hit { shaped, age_seconds, similarity } = hit;
    let stats = &inner.stats;
    bump(if outcome == Outcome::Hit { &stats.hits } else { &stats.coalesced });
    for (counter, more) in [
        (&stats.saved_prompt_tokens, shaped.prompt_tokens),
        (&stats.saved_completion_tokens, shaped.completion_tokens),
        (&stats.semantic_hits, u64::from(similarity.is_some())),
    ] {
        counter.fetch_add(more, std::sync::atomic::Ordering::Relaxed);
    }
    let mut headers = HeaderMap::new();
    headers::set(&mut headers, CONTENT_TYPE_NAME, &shaped.content_type);
    headers::set(&mut headers, X_RAG_CACHE, outcome.word());
    headers::set(&mut headers, AGE_NAME, age_seconds.to_string());
    if let Some(similarity) = similarity {
        headers::set(&mut headers, X_RAG_SIMILARITY, format!("{similarity:.4}"));
    }
    if shaped.estimated {
        headers::set(&mut headers, X_RAG_USAGE, "estimated");
    }
    let body = match inner.replay_pace {
        Duration::ZERO => Piped::parts(shaped.parts, Some(permit)),
        pace if shaped.parts.len() > 1 => paced(shaped.parts, pace, permit),
        _ => Piped::parts(shaped.parts, Some(permit)),
    };
    respond(StatusCode::OK, headers, Body::new(body))
}

/// Parts with a pause before each but the first.
fn paced(parts: Vec<Bytes>, pace: Duration, permit: OwnedSemaphorePermit) -> Piped {
    let (sender, piped) = Piped::channel(None, Some(permit));
    tokio::spawn(async move {
        for (at, part) in parts.into_iter().enumerate() {
            if at > 0 {
                tokio::time::sleep(pace).await;
            }
            if sender.send(Ok(part)).await.is_err() {
                return;
            }
        }
    });
    piped
}

const CONTENT_TYPE_NAME: &str = "content-type";
const AGE_NAME: &str = "age";
