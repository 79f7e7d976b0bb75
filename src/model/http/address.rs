//! Where does a request go? Base URLs as people write them, joined to the paths of an OpenAI-style API.
//! Not good for: addresses of other kinds of server.

use std::{fmt, net::IpAddr};

use reqwest::Url;

use super::{Key, presentable};
use crate::model::{Error, Result};

/// Paths that people paste together with the base URL; the base is what stands before them.
const ENDPOINTS: [&str; 5] = ["/chat/completions", "/embeddings", "/responses", "/models", "/rerank"];
/// Where the API is when the URL names only a host.
const DEFAULT_ROOT: &str = "/v1";
/// The same at Azure.
const AZURE_ROOT: &str = "/openai/v1";
const AZURE_HOSTS: [&str; 3] = [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"];

/// A base URL, its user and password apart.
#[derive(Clone)]
pub struct Address {
    url: Url,
    user: Option<(String, Key)>,
}

impl Address {
    /// Reads `http://…` or `https://…`; anything else is [`Error::Options`], which never repeats user or password.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::Options { what: format!("the address `{}` {why}", shown(text)) };
        let scheme = text.trim_start().to_ascii_lowercase();
        if !(scheme.starts_with("http://") || scheme.starts_with("https://")) {
            return Err(wrong("begins with neither `http://` nor `https://`"));
        }
        let mut url = Url::parse(text.trim()).map_err(|error| wrong(&format!("is not a URL: {error}")))?;
        let user = (!url.username().is_empty() || url.password().is_some())
            .then(|| (decoded(url.username()), Key::new(decoded(url.password().unwrap_or_default()))));
        // Cannot fail: the URL has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        Ok(Self { url, user })
    }

    /// The URL of one endpoint, `path` without a slash at its start. The base path is used as given; a host alone means
    /// `/v1`; an endpoint that was pasted with it is replaced. The query (`api-version=…`) stays.
    pub(in crate::model) fn join(&self, path: &str) -> Url {
        let given = self.url.path().trim_end_matches('/');
        let base = ENDPOINTS.iter().find_map(|end| given.strip_suffix(end)).unwrap_or(given).trim_end_matches('/');
        let base = match (given.is_empty(), self.is_azure()) {
            (true, true) => AZURE_ROOT,
            (true, false) => DEFAULT_ROOT,
            (false, _) => base,
        };
        let mut url = self.url.clone();
        url.set_path(&format!("{base}/{path}"));
        url
    }

    /// User and password that stood in the URL.
    pub(in crate::model) fn user(&self) -> Option<(&str, &Key)> {
        self.user.as_ref().map(|(name, password)| (name.as_str(), password))
    }

    /// Azure wants its key in a header of its own.
    pub fn is_azure(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        AZURE_HOSTS.iter().any(|end| host.ends_with(end))
    }

    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Where to connect: a name or a number, and the port that is given or usual.
    pub fn host_and_port(&self) -> (String, u16) {
        let host = self.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        (host.to_owned(), self.url.port_or_known_default().unwrap_or(80))
    }

    /// The host is this machine by name or number, so nothing leaves it.
    pub fn is_loopback(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
        match host.parse::<IpAddr>() {
            Ok(ip) => ip.to_canonical().is_loopback(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Address({})", shown(self.url.as_str()))
    }
}

/// A URL for people: without user, password, query and fragment, each of which may hold a secret.
pub fn shown(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    // The last `@` anywhere before the query: a password may hold a slash that should have been escaped.
    let place = rest.get(..end).unwrap_or_default();
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let place = presentable(place);
    if scheme.is_empty() { place } else { format!("{}://{place}", presentable(scheme)) }
}

/// Undoes `%41` in a user name or password.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                out.push(value);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_joined_as_given() {
        for (base, want) in [
            ("http://localhost:8080", "http://localhost:8080/v1/chat/completions"),
            ("http://localhost:8080/", "http://localhost:8080/v1/chat/completions"),
            ("http://localhost:8080/v1", "http://localhost:8080/v1/chat/completions"),
            ("http://localhost:8080/v1/", "http://localhost:8080/v1/chat/completions"),
            ("http://localhost:8080/v1//", "http://localhost:8080/v1/chat/completions"),
            ("http://localhost:8080/v1/chat/completions", "http://localhost:8080/v1/chat/completions"),
            ("http://localhost:8080/v1/embeddings", "http://localhost:8080/v1/chat/completions"),
            ("http://localhost:8080/chat/completions", "http://localhost:8080/chat/completions"),
            (" HTTPS://openrouter.ai/api/v1 ", "https://openrouter.ai/api/v1/chat/completions"),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai/",
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            ),
            (
                "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2026-01-01",
                "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2026-01-01",
            ),
            ("https://x.openai.azure.com", "https://x.openai.azure.com/openai/v1/chat/completions"),
            (
                "https://x.openai.azure.com/?api-version=v1",
                "https://x.openai.azure.com/openai/v1/chat/completions?api-version=v1",
            ),
            ("https://x/openai/v1/?a=b#part", "https://x/openai/v1/chat/completions?a=b"),
        ] {
            assert_eq!(Address::parse(base).unwrap().join("chat/completions").as_str(), want, "{base}");
        }
    }

    #[test]
    fn user_and_password_leave_the_url() {
        let address = Address::parse("https://me:p%40ss@host/v1").unwrap();
        assert_eq!(address.join("models").as_str(), "https://host/v1/models");
        let (name, password) = address.user().unwrap();
        assert_eq!((name, password.expose()), ("me", "p@ss"));
        assert!(!format!("{address:?}").contains("p@ss"));
        assert!(Address::parse("https://host/v1").unwrap().user().is_none());
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_secrets() {
        for text in
            ["", "localhost:8080/v1", "ftp://me:canary@host/", "http://", "file:///etc", "http://me:canary@ho st/"]
        {
            let error = Address::parse(text).unwrap_err();
            assert!(matches!(error, Error::Options { .. }), "{text}");
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }

    #[test]
    fn shown_addresses_hold_no_secret() {
        for (text, want) in [
            ("https://me:canary@host:1/v1?key=canary#x", "https://host:1/v1"),
            ("https://me:can/ary@host/v1", "https://host/v1"),
            ("me:canary@host", "host"),
            ("http://host/\u{1b}[2J", "http://host/\\u{1b}[2J"),
        ] {
            assert_eq!(shown(text), want);
        }
    }

    #[test]
    fn loopback_is_known_by_name_and_number() {
        for (url, want) in [
            ("http://localhost/", true),
            ("http://LOCALHOST:80/", true),
            ("http://a.localhost/", true),
            ("http://127.0.0.1/", true),
            ("http://127.9.9.9/", true),
            ("http://2130706433/", true),
            ("http://[::1]:80/", true),
            ("http://[::ffff:127.0.0.1]/", true),
            ("http://127.0.0.1.example.com/", false),
            ("http://localhost.example.com/", false),
            ("http://10.0.0.1/", false),
            ("http://0.0.0.0/", false),
        ] {
            assert_eq!(Address::parse(url).unwrap().is_loopback(), want, "{url}");
        }
    }
}
