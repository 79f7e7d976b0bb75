//! Which headers belong to a connection, which to us, and what a client says of the cache.

use hyper::{
    HeaderMap,
    header::{
        ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, TE, TRAILER,
        TRANSFER_ENCODING, UPGRADE,
    },
};

/// Asks for something of the cache, and tells what it did.
pub const X_RAG_CACHE: &str = "x-rag-cache";
/// Why a request or its answer is not cached.
pub const X_RAG_CACHE_WHY: &str = "x-rag-cache-why";
/// How near the question of the answer is, where it was another one.
pub const X_RAG_SIMILARITY: &str = "x-rag-similarity";
/// `estimated`: the upstream server did not count the tokens of this answer.
pub const X_RAG_USAGE: &str = "x-rag-usage";
/// How many of the texts of a request had their vectors here: `3/5`.
pub const X_RAG_ELEMENTS: &str = "x-rag-cache-elements";
/// A key of the proxy itself; `authorization` does as well.
pub const X_RAG_KEY: &str = "x-rag-key";

/// What a request wants of the cache (`x-rag-cache`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wish {
    /// By the rules.
    #[default]
    Usual,
    /// Keep the answer although its temperature or its tools speak against it.
    Force,
    /// Neither look nor keep.
    Bypass,
    /// Ask anew and keep the new answer.
    Refresh,
    /// Answer from the cache or not at all.
    Only,
}

impl Wish {
    /// `None`: a word that nobody knows.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let Some(value) = headers.get(X_RAG_CACHE) else { return Some(Self::Usual) };
        match value.to_str().ok()?.trim().to_ascii_lowercase().as_str() {
            "" => Some(Self::Usual),
            "force" => Some(Self::Force),
            "bypass" => Some(Self::Bypass),
            "refresh" => Some(Self::Refresh),
            "only" => Some(Self::Only),
            _ => None,
        }
    }
}

/// What the cache did (`x-rag-cache` of the answer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Hit,
    Miss,
    Bypass,
    Uncacheable,
    Coalesced,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Bypass => "bypass",
            Self::Uncacheable => "uncacheable",
            Self::Coalesced => "coalesced",
        }
    }
}

/// Takes out what belongs to one connection alone (RFC 9110, 7.6.1), and what `connection` names.
pub fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    for name in ["keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization"] {
        headers.remove(name);
    }
}

/// The headers of a request as they go upstream. `plain`: its answer is read here, so it must not be compressed.
pub fn upstream_request(headers: &HeaderMap, plain: bool) -> HeaderMap {
    let mut out = headers.clone();
    strip_hop_by_hop(&mut out);
    for name in [HOST, CONTENT_LENGTH, EXPECT] {
        out.remove(name);
    }
    for name in [X_RAG_CACHE, X_RAG_KEY] {
        out.remove(name);
    }
    if plain {
        out.remove(ACCEPT_ENCODING);
    }
    out
}

/// The headers of an answer as they go to the client. What calls itself ours and is not goes out.
pub fn client_response(headers: &HeaderMap) -> HeaderMap {
    let mut out = headers.clone();
    strip_hop_by_hop(&mut out);
    for name in [X_RAG_CACHE, X_RAG_CACHE_WHY, X_RAG_SIMILARITY, X_RAG_USAGE, X_RAG_ELEMENTS] {
        out.remove(name);
    }
    out
}

/// Sets a header of ours; what fits no header is left out.
pub fn set(headers: &mut HeaderMap, name: &'static str, value: impl AsRef<str>) {
    if let Ok(value) = HeaderValue::from_str(value.as_ref()) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn what_belongs_to_a_connection_stays_there() {
        let all = headers(&[
            ("connection", "close, X-Private"),
            ("x-private", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("proxy-authorization", "Basic x"),
            ("host", "proxy"),
            ("accept-encoding", "gzip"),
            ("x-rag-cache", "only"),
            ("x-rag-key", "k"),
            ("authorization", "Bearer x"),
            ("retry-after", "7"),
        ]);
        let mut names: Vec<String> = upstream_request(&all, true).keys().map(ToString::to_string).collect();
        names.sort();
        assert_eq!(names, ["authorization", "retry-after"]);
        assert!(upstream_request(&all, false).contains_key(ACCEPT_ENCODING));
        assert!(!client_response(&all).contains_key(X_RAG_CACHE));
        assert_eq!(client_response(&all)["retry-after"], "7");
    }

    #[test]
    fn wishes() {
        for (word, want) in [
            ("force", Some(Wish::Force)),
            (" Bypass ", Some(Wish::Bypass)),
            ("refresh", Some(Wish::Refresh)),
            ("only", Some(Wish::Only)),
            ("", Some(Wish::Usual)),
            ("maybe", None),
        ] {
            assert_eq!(Wish::of(&headers(&[("x-rag-cache", word)])), want, "{word}");
        }
        assert_eq!(Wish::of(&HeaderMap::new()), Some(Wish::Usual));
    }
}
