//! Where does a path of a client lead upstream? Always below the one address that was given at the start.

use reqwest::Url;

use super::error::{Error, Result};
use crate::model::http::{Address, shown};

/// Longest path with its query.
pub const MAX_URI_BYTES: usize = 8 << 10;

/// Endpoints that clients call without `/v1` if their base URL lacks it.
const BARE: [&str; 5] = ["/chat/completions", "/embeddings", "/responses", "/completions", "/models"];

/// The server behind the proxy.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Scheme, host and port.
    origin: String,
    /// What stands before `/v1`, or in place of it.
    base: String,
    /// The base holds the version itself: `/v1/x` of a client is `base/x`.
    has_version: bool,
    query: Option<String>,
    pub is_https: bool,
    pub is_loopback: bool,
    pub is_azure: bool,
}

impl Upstream {
    /// Reads an address as people write it; a host alone means `/v1` (`/openai/v1` at Azure). Errors: `Options`.
    pub fn parse(text: &str) -> Result<Self> {
        let address = Address::parse(text).map_err(|error| Error::Options { what: error.to_string() })?;
        let wrong = |why: &str| Error::Options { what: format!("the upstream address `{}` {why}", shown(text)) };
        let url = Url::parse(text.trim()).map_err(|_| wrong("is not a URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("holds a user name or a password; put the key into RAG_LLM_API_KEY and use `--own-key`"));
        }
        let given = url.path().trim_end_matches('/');
        let base = match (given, address.is_azure()) {
            ("", true) => "/openai/v1",
            ("", false) => "/v1",
            (given, _) => given,
        };
        let base = BARE.iter().find_map(|end| base.strip_suffix(end)).unwrap_or(base);
        let (base, has_version) = match base.strip_suffix("/v1") {
            Some(before) => (before, false),
            None => (base, true),
        };
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            base: base.to_owned(),
            has_version,
            query: url.query().filter(|query| !query.is_empty()).map(str::to_owned),
            is_https: address.is_https(),
            is_loopback: address.is_loopback(),
            is_azure: address.is_azure(),
        })
    }

    /// For people.
    pub fn shown(&self) -> String {
        format!("{}{}{}", self.origin, self.base, if self.has_version { "" } else { "/v1" })
    }

    /// The URL for a client's path and query. `None`: the path tries to climb, or is no path.
    pub fn url(&self, path: &str, query: Option<&str>) -> Option<Url> {
        if !path.starts_with('/') || path.contains('\\') || path.split('/').any(climbs) {
            return None;
        }
        let below = |base: &str| !base.is_empty() && path.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'));
        let target = if below(&self.base) {
            path.to_owned()
        } else if self.has_version {
            format!("{}{}", self.base, path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path))
        } else if BARE.contains(&path) {
            format!("{}/v1{path}", self.base)
        } else {
            format!("{}{path}", self.base)
        };
        let mut text = format!("{}{target}", self.origin);
        let own = self.query.iter().flat_map(|own| own.split('&')).filter(|pair| {
            let name = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
            !query.unwrap_or_default().split('&').any(|given| name(given) == name(pair))
        });
        let pairs: Vec<&str> = query.into_iter().filter(|query| !query.is_empty()).chain(own).collect();
        if !pairs.is_empty() {
            text = format!("{text}?{}", pairs.join("&"));
        }
        let url = Url::parse(&text).ok()?;
        (url.origin().ascii_serialization() == self.origin).then_some(url)
    }
}

/// `.` and `..`, also in disguise.
fn climbs(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    matches!(plain.as_str(), "." | "..") || plain.contains("%2f..") || plain.contains("..%2f") || plain.contains("%5c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_below_the_base() {
        for (upstream, path, want) in [
            ("https://api.openai.com/v1", "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com", "/v1/models", "https://api.openai.com/v1/models"),
            ("https://api.openai.com/v1/chat/completions", "/v1/models", "https://api.openai.com/v1/models"),
            ("http://localhost:8080", "/chat/completions", "http://localhost:8080/v1/chat/completions"),
            ("http://localhost:8080/v1", "/props", "http://localhost:8080/props"),
            ("https://openrouter.ai/api/v1", "/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
            ("https://g.com/v1beta/openai/", "/v1/chat/completions", "https://g.com/v1beta/openai/chat/completions"),
            ("https://g.com/v1beta/openai/", "/chat/completions", "https://g.com/v1beta/openai/chat/completions"),
            (
                "https://x.openai.azure.com",
                "/openai/deployments/gpt/chat/completions",
                "https://x.openai.azure.com/openai/deployments/gpt/chat/completions",
            ),
            ("https://x.openai.azure.com", "/v1/responses", "https://x.openai.azure.com/openai/v1/responses"),
            ("https://g/team/v1", "/v1x", "https://g/team/v1x"),
        ] {
            assert_eq!(Upstream::parse(upstream).unwrap().url(path, None).unwrap().as_str(), want, "{upstream} {path}");
        }
    }

    #[test]
    fn queries_are_joined() {
        let upstream = Upstream::parse("https://x.openai.azure.com/?api-version=v1").unwrap();
        let url = |query| upstream.url("/v1/models", query).unwrap().query().map(str::to_owned);
        assert_eq!(url(None).as_deref(), Some("api-version=v1"));
        assert_eq!(url(Some("a=b")).as_deref(), Some("a=b&api-version=v1"));
        assert_eq!(url(Some("api-version=v2")).as_deref(), Some("api-version=v2"));
    }

    #[test]
    fn n08_nobody_climbs_out() {
        let upstream = Upstream::parse("https://gateway.example/team/v1").unwrap();
        for path in [
            "/v1/../../other/v1/models",
            "/v1/%2e%2e/x",
            "/v1/.%2E/x",
            "/./x",
            "/v1/..",
            "x",
            "",
            "/v1\\..\\x",
            "/v1/..%2fx",
            "/v1/%5c..",
        ] {
            assert!(upstream.url(path, None).is_none(), "{path}");
        }
        for path in ["//evil.example/v1/models", "/@evil.example/", "/v1/a..b", "/:80/"] {
            let url = upstream.url(path, None).unwrap();
            assert_eq!(url.host_str(), Some("gateway.example"), "{path}");
            assert!(url.path().starts_with("/team/"), "{path}");
        }
    }

    #[test]
    fn secrets_do_not_belong_into_the_address() {
        let error = Upstream::parse("https://me:canary@host/v1").unwrap_err().to_string();
        assert!(!error.contains("canary"), "{error}");
        assert!(Upstream::parse("ftp://host").is_err());
    }
}
