//! Who is let in? The rule of the listening address, the host and origin of a request, and the keys of clients.

use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};

use hyper::{
    HeaderMap, Method, StatusCode, Uri,
    header::{AUTHORIZATION, HOST, ORIGIN},
};

use super::{
    error::{Error, Result},
    headers::X_RAG_KEY,
    paths::MAX_URI_BYTES,
};
use crate::serve::host::without_port;

/// All headers of a request together.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// Binds the address of the proxy. Beyond this machine only with keys for its clients, or where the operator insists.
/// Errors: `Options` before anything listens, `Listen`.
pub fn bind(address: &str, has_keys: bool, insecure: bool) -> Result<TcpListener> {
    let failed = |source| Error::Listen { address: address.to_owned(), source };
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
    let open = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback());
    if let Some(open) = open.filter(|_| !has_keys && !insecure) {
        return Err(Error::Options {
            what: format!("`{address}` ({open}) can be reached from other machines, and no key is asked of clients"),
        });
    }
    let listener = TcpListener::bind(addresses.as_slice()).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Decides about each request before anything is done for it.
#[derive(Debug)]
pub struct Gate {
    keys: Vec<blake3::Hash>,
    hosts: Vec<String>,
    bound: SocketAddr,
}

/// Why a request is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: &'static str,
}

const fn refuse(status: StatusCode, code: &'static str, message: &'static str) -> Refusal {
    Refusal { status, code, message }
}

/// How a client showed that it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// It did not, or need not.
    Nothing,
    /// By our own header.
    OwnHeader,
    /// By `authorization`, which is therefore not for the upstream server.
    Authorization,
}

impl Gate {
    /// `keys` are kept as hashes alone. `hosts`: names under which the proxy may be called besides its own.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>, hosts: &[String], bound: SocketAddr) -> Self {
        Self {
            keys: keys.into_iter().map(|key| blake3::hash(key.as_bytes())).collect(),
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            bound,
        }
    }

    /// The form of the request: no proxying of other addresses, of sensible size, for a host and from an origin that are ours.
    pub fn admits(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> std::result::Result<(), Refusal> {
        if *method == Method::CONNECT {
            return Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "connect", "this proxy opens no tunnels"));
        }
        if uri.scheme().is_some() || uri.authority().is_some() {
            return Err(refuse(
                StatusCode::BAD_REQUEST,
                "absolute_uri",
                "this proxy leads to one server alone: ask it by path",
            ));
        }
        if uri.path_and_query().map_or(0, |path| path.as_str().len()) > MAX_URI_BYTES {
            return Err(refuse(StatusCode::URI_TOO_LONG, "uri_too_long", "the path is too long"));
        }
        if headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() > MAX_HEADER_BYTES {
            return Err(refuse(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "headers_too_large",
                "the headers are too large",
            ));
        }
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default(),
            _ => return Err(refuse(StatusCode::BAD_REQUEST, "host", "one host header is wanted")),
        };
        if !self.knows(host) {
            return Err(refuse(
                StatusCode::MISDIRECTED_REQUEST,
                "host",
                "this host is not served here; see --allowed-host",
            ));
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !origin.split_once("://").is_some_and(|(_, host)| self.knows(host)) {
                return Err(refuse(
                    StatusCode::FORBIDDEN,
                    "origin",
                    "pages of this origin may not ask; see --allowed-host",
                ));
            }
        }
        Ok(())
    }

    /// The key of the request, if keys are asked for.
    pub fn identifies(&self, headers: &HeaderMap) -> std::result::Result<Shown, Refusal> {
        if self.keys.is_empty() {
            return Ok(Shown::Nothing);
        }
        // Hashes are compared in constant time.
        let known = |given: &[u8]| {
            let given = blake3::hash(given);
            self.keys.iter().fold(false, |found, key| found | (*key == given))
        };
        let bearer = headers.get(AUTHORIZATION).and_then(|value| {
            let (scheme, key) = value.as_bytes().split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
        });
        // A key of ours that is shown twice must not go upstream by the other header.
        if bearer.is_some_and(known) {
            return Ok(Shown::Authorization);
        }
        match headers.get(X_RAG_KEY).is_some_and(|value| known(value.as_bytes())) {
            true => Ok(Shown::OwnHeader),
            false => Err(refuse(StatusCode::UNAUTHORIZED, "key", "a key of this proxy is wanted")),
        }
    }

    /// Counters and purge are for this machine, or for who has a key.
    pub fn is_operator(&self, peer: SocketAddr, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let local = peer.ip().to_canonical().is_loopback() && is_loopback_name(&name_of(host));
        local || (!self.keys.is_empty() && self.identifies(headers).is_ok())
    }

    fn knows(&self, host: &str) -> bool {
        let name = name_of(host);
        if is_loopback_name(&name) || self.hosts.contains(&name) {
            return true;
        }
        // A page that is tricked into calling here has a name for a host, never a number.
        let bound = self.bound.ip();
        name.parse::<IpAddr>().is_ok_and(|ip| ip == bound || (bound.is_unspecified() && !ip.is_unspecified()))
    }
}

/// A host's name, however it is spelled.
fn name_of(host: &str) -> String {
    without_port(host).trim_end_matches('.').to_ascii_lowercase()
}

fn is_loopback_name(name: &str) -> bool {
    match name.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn gate(bound: &str) -> Gate {
        Gate::new([], &["Proxy.Example".to_owned()], bound.parse().unwrap())
    }

    #[test]
    fn n01_beyond_this_machine_only_with_a_key() {
        for address in ["127.0.0.1:0", "localhost:0", "[::1]:0"] {
            match bind(address, false, false) {
                Ok(_) | Err(Error::Listen { .. }) => {}
                Err(error) => panic!("{address}: {error}"),
            }
        }
        for address in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0", "192.0.2.1:0"] {
            assert!(matches!(bind(address, false, false), Err(Error::Options { .. })), "{address}");
        }
        assert!(bind("0.0.0.0:0", true, false).is_ok());
        assert!(bind("0.0.0.0:0", false, true).is_ok());
    }

    #[test]
    fn n03_host_and_origin_are_ours() {
        let gate = gate("127.0.0.1:80");
        let uri: Uri = "/v1/models".parse().unwrap();
        let asked = |pairs: &[(&'static str, &str)]| {
            gate.admits(&Method::GET, &uri, &headers(pairs)).map_err(|r| r.status.as_u16())
        };
        for host in
            ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:80", "a.localhost", "localhost.", "proxy.example:80"]
        {
            assert_eq!(asked(&[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "",
            "0.0.0.0",
        ] {
            assert_eq!(asked(&[("host", host)]), Err(421), "{host}");
        }
        assert_eq!(asked(&[]), Err(400));
        for (origin, want) in [
            ("http://localhost:3000", Ok(())),
            ("http://127.0.0.1", Ok(())),
            ("https://proxy.example", Ok(())),
            ("http://evil.example", Err(403)),
            ("null", Err(403)),
            ("file://", Err(403)),
        ] {
            assert_eq!(asked(&[("host", "localhost"), ("origin", origin)]), want, "{origin}");
        }
        let open = Gate::new([], &[], "0.0.0.0:80".parse().unwrap());
        assert!(open.admits(&Method::GET, &uri, &headers(&[("host", "192.0.2.1")])).is_ok());
        assert!(open.admits(&Method::GET, &uri, &headers(&[("host", "evil.example")])).is_err());
    }

    #[test]
    fn no_tunnels_and_no_other_addresses() {
        let gate = gate("127.0.0.1:80");
        let asked = |method: Method, uri: &str| {
            gate.admits(&method, &uri.parse().unwrap(), &headers(&[("host", "localhost")]))
                .map_err(|r| r.status.as_u16())
        };
        assert_eq!(asked(Method::CONNECT, "example.org:443"), Err(405));
        assert_eq!(asked(Method::GET, "http://example.org/"), Err(400));
        assert_eq!(asked(Method::GET, &format!("/{}", "x".repeat(MAX_URI_BYTES))), Err(414));
        let big = "x".repeat(MAX_HEADER_BYTES);
        let refused =
            gate.admits(&Method::GET, &"/".parse().unwrap(), &headers(&[("host", "localhost"), ("x-big", &big)]));
        assert_eq!(refused.unwrap_err().status.as_u16(), 431);
    }

    #[test]
    fn n13_counters_and_purge_are_the_operators() {
        let (near, far) = ("127.0.0.1:5".parse().unwrap(), "192.0.2.1:5".parse().unwrap());
        let open = gate("0.0.0.0:80");
        assert!(open.is_operator(near, &headers(&[("host", "localhost:80")])));
        assert!(!open.is_operator(near, &headers(&[("host", "proxy.example")])));
        assert!(!open.is_operator(far, &headers(&[("host", "localhost")])));
        let keyed = Gate::new(["secret"], &[], "0.0.0.0:80".parse().unwrap());
        assert!(!keyed.is_operator(far, &headers(&[("host", "192.0.2.9")])));
        assert!(keyed.is_operator(far, &headers(&[("host", "192.0.2.9"), ("authorization", "Bearer secret")])));
        assert!(keyed.is_operator(far, &headers(&[("host", "192.0.2.9"), ("x-rag-key", "secret")])));
        assert_eq!(keyed.identifies(&headers(&[("authorization", "bearer secret")])), Ok(Shown::Authorization));
        for wrong in ["Bearer secre", "Bearer secret2", "Basic secret", "secret", ""] {
            assert!(keyed.identifies(&headers(&[("authorization", wrong)])).is_err(), "{wrong}");
        }
    }
}
