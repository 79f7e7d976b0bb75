//! Asks a running proxy for its counters, or to forget.

use std::time::Duration;

use serde_json::Value;

use super::{
    Stats,
    error::{Error, Result},
    headers::X_RAG_KEY,
};
use crate::model::http::{Key, cause, client};

/// A proxy on this machine answers at once, or not at all.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The counters of the proxy at this address (`http://127.0.0.1:8187`). Errors: `Answer`.
pub fn stats(url: &str, key: Option<&Key>) -> Result<Stats> {
    serde_json::from_value(ask(url, "/stats", false, key)?).map_err(|_| wrong(url, "answered with something else"))
}

/// Lets the proxy forget everything, or what is so old; gives the number of entries. Errors: `Answer`.
pub fn purge(url: &str, key: Option<&Key>, older_than: Option<Duration>) -> Result<u64> {
    let path = older_than.map_or("/purge".to_owned(), |time| format!("/purge?older_than_seconds={}", time.as_secs()));
    ask(url, &path, true, key)?["purged"].as_u64().ok_or_else(|| wrong(url, "answered with something else"))
}

fn wrong(url: &str, why: impl Into<String>) -> Error {
    Error::Answer { url: url.to_owned(), why: why.into() }
}

fn ask(url: &str, path: &str, post: bool, key: Option<&Key>) -> Result<Value> {
    // A wildcard is an address to listen on, not to call.
    let target = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
    let client = client(false, true, TIMEOUT, |builder| builder.timeout(TIMEOUT)).map_err(|why| wrong(url, why))?;
    let target = format!("{target}{path}");
    let mut request = if post { client.post(target) } else { client.get(target) };
    if let Some(key) = key {
        request = request.header(X_RAG_KEY, key.expose());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| wrong(url, format!("cannot be asked: {error}")))?;
    runtime.block_on(async {
        let unreachable = |error| wrong(url, format!("cannot be reached: {}", cause(error)));
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let value: Value = response.json().await.map_err(|_| wrong(url, format!("answered {status}")))?;
        if status.is_success() {
            return Ok(value);
        }
        let message = value["error"]["message"].as_str().unwrap_or_default();
        Err(wrong(url, format!("answered {status}: {message}")))
    })
}
