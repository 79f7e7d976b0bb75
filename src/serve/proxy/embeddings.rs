//! Vectors by text: only the texts of a request that are not here are asked of the server.

use std::sync::{Arc, atomic::Ordering};

use axum::body::Body;
use hyper::{
    HeaderMap, Response, StatusCode,
    body::Bytes,
    header::{ACCEPT_ENCODING, CONTENT_LENGTH},
};
use serde_json::{Map, Value};

use super::{
    answer::Shape,
    body::Piped,
    canonical::canonical,
    flight::{Broken, Flight, Head, Joined, LINGER},
    handle::{Asked, broken_response, not_cached, respond},
    headers::{self, Outcome, Wish, X_RAG_CACHE, X_RAG_CACHE_WHY, X_RAG_ELEMENTS},
    identity::Key,
    rules::telling,
    server::Inner,
    stats::bump,
    upstream::{Call, broken, send},
    vectors::{Vector, answer as compose, elements, read},
};

/// The most bytes of an answer that is read; a longer one is no answer.
const MAX_ANSWER_BYTES: usize = 512 << 20;

const SHAPE: Shape = Shape { stream: false, usage: false };

/// The texts of a request, with the keys of their vectors.
#[derive(Debug, Clone)]
pub struct Texts {
    /// As they are sent: texts, or lists of tokens.
    values: Vec<Value>,
    keys: Vec<Key>,
    /// In bytes, to share out the tokens.
    lengths: Vec<usize>,
    /// Of all together.
    key: Key,
}

impl Texts {
    /// `None`: the input is nothing that is known.
    pub fn of(inner: &Inner, asked: &Asked, body: &Map<String, Value>) -> Option<Self> {
        let values = elements(body.get("input")?)?;
        let mut rest = telling(body);
        let input = rest.shift_remove("input")?;
        let rest = canonical(&Value::Object(rest));
        let (url, scope) = (asked.url.as_str(), &asked.scope);
        let texts: Vec<String> = values.iter().map(canonical).collect();
        let name = |text: &String| inner.secret.request("vector", url, scope, &format!("{rest}\n{text}"));
        let all = format!("{rest}\n{}", canonical(&input));
        Some(Self {
            keys: texts.iter().map(name).collect(),
            lengths: texts.iter().map(String::len).collect(),
            key: inner.secret.request("embeddings", url, scope, &all),
            values,
        })
    }

    /// The vectors that are here, by text. Reads the disk. What cannot be read is not kept any longer: while it is, others
    /// believe that they need not ask the server.
    fn kept(&self, inner: &Inner) -> Vec<Option<(Vector, u64)>> {
        let read = |key: &Key| {
            let entry = inner.store.get(key)?;
            let vector = Vector::decoded(&entry.payload);
            if vector.is_none() {
                inner.store.delete(key);
            }
            Some((vector?, entry.age_seconds))
        };
        self.keys.iter().map(read).collect()
    }
}

/// Answers a request for vectors.
pub async fn answer(
    inner: Arc<Inner>,
    asked: Asked,
    texts: Texts,
    body: Map<String, Value>,
    bytes: Bytes,
) -> Response<Body> {
    if asked.wish != Wish::Refresh
        && let Some(response) = whole_hit(&inner, &texts).await
    {
        bump(&inner.stats.hits);
        return response;
    }
    if asked.wish == Wish::Only {
        return not_cached();
    }
    let mut may_retry = true;
    loop {
        let joined = if asked.wish == Wish::Refresh {
            let flight = Flight::new(SHAPE);
            let listener = flight.listen();
            Joined::First(flight, listener)
        } else {
            inner.flights.join(texts.key, SHAPE, || texts.keys.iter().all(|key| inner.store.has(key)))
        };
        let (mut listener, outcome) = match joined {
            Joined::Stored => match whole_hit(&inner, &texts).await {
                Some(response) => {
                    bump(&inner.stats.hits);
                    return response;
                }
                None => continue,
            },
            Joined::First(flight, listener) => {
                let mut headers = asked.headers.clone();
                headers.remove(ACCEPT_ENCODING);
                let errand = Errand {
                    texts: texts.clone(),
                    body: body.clone(),
                    bytes: bytes.clone(),
                    headers,
                    url: asked.url.clone(),
                    look: asked.wish != Wish::Refresh,
                };
                tokio::spawn(lead(Arc::clone(&inner), flight, errand));
                (listener, Outcome::Miss)
            }
            Joined::Along(listener) | Joined::OtherShape(listener) => (listener, Outcome::Coalesced),
        };
        let head = listener.head().await;
        let failed = head.as_ref().map_or(true, |head| head.failed);
        if failed && outcome == Outcome::Coalesced && may_retry {
            may_retry = false;
            listener.ended().await;
            continue;
        }
        bump(if outcome == Outcome::Miss { &inner.stats.misses } else { &inner.stats.coalesced });
        let head = match head {
            Ok(head) => head,
            Err(broken) => return broken_response(&broken),
        };
        let mut parts = Vec::new();
        while let Some(part) = listener.next().await {
            match part {
                Ok(part) => parts.push(part),
                Err(broken) => return broken_response(&broken),
            }
        }
        let mut headers = head.headers;
        headers.remove(CONTENT_LENGTH);
        headers::set(&mut headers, X_RAG_CACHE, outcome.word());
        return respond(head.status, headers, Body::new(Piped::parts(parts, Some(asked.permit))));
    }
}

/// The answer, if every vector is here.
async fn whole_hit(inner: &Arc<Inner>, texts: &Texts) -> Option<Response<Body>> {
    if !texts.keys.iter().all(|key| inner.store.has(key)) {
        return None;
    }
    let (reading, asked) = (Arc::clone(inner), texts.clone());
    let kept = tokio::task::spawn_blocking(move || asked.kept(&reading)).await.ok()?;
    let kept: Vec<(Vector, u64)> = kept.into_iter().collect::<Option<_>>()?;
    let age = kept.iter().map(|(_, age)| *age).max().unwrap_or(0);
    let vectors: Vec<Vector> = kept.into_iter().map(|(vector, _)| vector).collect();
    let tokens = vectors.iter().map(|vector| vector.tokens).sum();
    inner.stats.saved_prompt_tokens.fetch_add(tokens, Ordering::Relaxed);
    inner.stats.element_hits.fetch_add(vectors.len() as u64, Ordering::Relaxed);
    let mut headers = HeaderMap::new();
    headers::set(&mut headers, "content-type", "application/json");
    headers::set(&mut headers, X_RAG_CACHE, Outcome::Hit.word());
    headers::set(&mut headers, X_RAG_ELEMENTS, format!("{0}/{0}", vectors.len()));
    headers::set(&mut headers, "age", age.to_string());
    let body = Bytes::from(compose(&vectors).to_string());
    Some(respond(StatusCode::OK, headers, Body::new(Piped::parts(vec![body], None))))
}

/// What the one who asks first has to do.
struct Errand {
    texts: Texts,
    body: Map<String, Value>,
    bytes: Bytes,
    headers: HeaderMap,
    url: reqwest::Url,
    look: bool,
}

async fn lead(inner: Arc<Inner>, flight: Arc<Flight>, errand: Errand) {
    let key = errand.texts.key;
    let end = tokio::select! {
        end = fetch(&inner, &flight, errand) => end,
        () = flight.abandoned(LINGER) => Err(Broken::Stopped),
        () = inner.stopped() => Err(Broken::Stopped),
    };
    inner.flights.remove(&key, &flight);
    flight.end(end);
}

async fn fetch(inner: &Arc<Inner>, flight: &Flight, errand: Errand) -> Result<(), Broken> {
    let kept = match errand.look {
        true => {
            let (reading, texts) = (Arc::clone(inner), errand.texts.clone());
            tokio::task::spawn_blocking(move || texts.kept(&reading)).await.unwrap_or_default()
        }
        false => Vec::new(),
    };
    let here = |at: usize| kept.get(at).and_then(Option::as_ref).map(|(vector, _)| vector);
    let count = errand.texts.values.len();
    let missing: Vec<usize> = (0..count).filter(|at| here(*at).is_none()).collect();
    if missing.len() < count {
        let mut body = errand.body.clone();
        body.insert("input".to_owned(), missing.iter().map(|at| errand.texts.values[*at].clone()).collect());
        let (head, bytes) = call(inner, &errand, Value::Object(body).to_string().into()).await?;
        if let Some(vectors) = understood(&head, &bytes, &errand.texts, &missing) {
            keep(inner, &errand.texts, &missing, &vectors).await?;
            count_elements(inner, count - missing.len(), missing.len());
            let mut new = vectors.into_iter();
            let all: Option<Vec<Vector>> = (0..count).map(|at| here(at).cloned().or_else(|| new.next())).collect();
            if let Some(all) = all {
                tell(flight, head, compose(&all).to_string().into(), count - missing.len(), count);
                return Ok(());
            }
        }
        if !head.status.is_success() {
            tell(flight, head, bytes, count - missing.len(), count);
            return Ok(());
        }
        // A server that does not do what it is asked part by part gets the request as it came.
    }
    let (mut head, bytes) = call(inner, &errand, errand.bytes.clone()).await?;
    let all: Vec<usize> = (0..count).collect();
    match understood(&head, &bytes, &errand.texts, &all) {
        Some(vectors) => {
            keep(inner, &errand.texts, &all, &vectors).await?;
            count_elements(inner, 0, count);
        }
        None => headers::set(&mut head.headers, X_RAG_CACHE_WHY, "shape"),
    }
    tell(flight, head, bytes, 0, count);
    Ok(())
}

fn count_elements(inner: &Inner, hits: usize, misses: usize) {
    inner.stats.element_hits.fetch_add(hits as u64, Ordering::Relaxed);
    inner.stats.element_misses.fetch_add(misses as u64, Ordering::Relaxed);
}

fn tell(flight: &Flight, mut head: Head, body: Bytes, hits: usize, count: usize) {
    head.length = Some(body.len() as u64);
    headers::set(&mut head.headers, X_RAG_ELEMENTS, format!("{hits}/{count}"));
    flight.begin(head);
    flight.push(body);
}

async fn call(inner: &Arc<Inner>, errand: &Errand, body: Bytes) -> Result<(Head, Bytes), Broken> {
    let call = Call {
        method: hyper::Method::POST,
        url: errand.url.clone(),
        headers: errand.headers.clone(),
        body: reqwest::Body::from(body),
    };
    let mut response = send(inner, call).await?;
    let (status, headers) = (response.status(), headers::client_response(response.headers()));
    let (mut parts, mut length) = (Vec::<Bytes>::new(), 0);
    while let Some(part) = response.chunk().await.map_err(|error| broken(error, true))? {
        length += part.len();
        if length > MAX_ANSWER_BYTES {
            return Err(Broken::TooLarge);
        }
        parts.push(part);
    }
    Ok((Head { status, headers, length: None, failed: status.is_server_error() }, parts.concat().into()))
}

/// The vectors of an answer, if it has one for each text that was sent.
fn understood(head: &Head, bytes: &Bytes, texts: &Texts, sent: &[usize]) -> Option<Vec<Vector>> {
    if head.status != StatusCode::OK {
        return None;
    }
    let lengths: Vec<usize> = sent.iter().map(|at| texts.lengths[*at]).collect();
    read(&serde_json::from_slice(bytes).ok()?, &lengths)
}

/// Keeps vectors. What cannot be kept is answered all the same.
async fn keep(inner: &Arc<Inner>, texts: &Texts, sent: &[usize], vectors: &[Vector]) -> Result<(), Broken> {
    let writing = Arc::clone(inner);
    let pairs: Vec<(Key, Vec<u8>)> =
        sent.iter().zip(vectors).map(|(at, vector)| (texts.keys[*at], vector.encoded())).collect();
    let kept = tokio::task::spawn_blocking(move || {
        for (key, bytes) in pairs {
            // What cannot be kept is asked for again.
            let _ = writing.put(key, &bytes, None);
        }
    });
    kept.await.map_err(|_| Broken::Stopped)
}
