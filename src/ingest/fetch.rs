//! One page of the web: fetched once, whole, within limits.
//!
//! The address that a user types is theirs to choose, whatever it names. Where a server sends us from there is not: a
//! redirect is followed to public addresses only (or to the host that was typed), and the connection goes to the very
//! address that was looked at, so that a name cannot change its meaning in between.
//!
//! Not for: following links, running scripts, or sending keys.

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
    time::Duration,
};

use reqwest::{
    Response, StatusCode, Url,
    header::{
        ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
    },
};

use super::{file, given::Bytes};
use crate::{
    index::Problem,
    model::http::{cause, client},
    types::Cancel,
};

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For a page, from the first byte sent to the last one read, redirects apart.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a wait looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(50);

const ACCEPTED: &str = "text/html,application/xhtml+xml,application/pdf,text/markdown,text/plain,*/*;q=0.5";

/// Keys of a record's metadata.
const ETAG_KEY: &str = "etag";
const MODIFIED_KEY: &str = "last_modified";

/// The address of a page: `http://…` or `https://…`, without user, password and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageUrl(Url, Reach);

/// Where the machines may be that a page is fetched from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Wherever the address leads; redirects to other hosts lead to public addresses alone.
    Any,
    /// In the open Internet.
    Public,
}

/// Why a text is no address of a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address of a page: {why}")]
pub struct NoPage {
    text: String,
    why: String,
}

impl PageUrl {
    /// Whether a text is meant as an address.
    pub fn is_one(text: &str) -> bool {
        let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
        lower.starts_with("http://") || lower.starts_with("https://")
    }

    /// The same page, fetched from public addresses alone: for addresses that somebody else chose.
    pub fn public(self) -> Self {
        Self(self.0, Reach::Public)
    }

    /// Root and path in the index, which joined by `/` are the address again.
    pub(super) fn name(&self) -> (&'static str, String) {
        let root = if self.0.scheme() == "https" { "https:/" } else { "http:/" };
        let path = self.0.as_str().strip_prefix(root).map_or(self.0.as_str(), |rest| rest.trim_start_matches('/'));
        (root, path.to_owned())
    }
}

impl FromStr for PageUrl {
    type Err = NoPage;

    fn from_str(text: &str) -> Result<Self, NoPage> {
        let no = |why: &str| NoPage { text: text.to_owned(), why: why.to_owned() };
        let mut url = Url::parse(text.trim()).map_err(|error| no(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(no("it begins with neither `http://` nor `https://` and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let text = "…@…".to_owned();
            return Err(NoPage { text, why: "user and password in an address would be stored with it".to_owned() });
        }
        url.set_fragment(None);
        Ok(Self(url, Reach::Any))
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// What the server answered.
#[derive(Debug)]
pub enum Fetched {
    /// It has nothing newer than what `known` describes.
    Unchanged,
    Page(Bytes),
}

/// Fetches a page of at most `max_bytes`. `known`: metadata of the same page as the index holds it; with its `etag` and
/// `last_modified` the server is asked for a newer one only. Problems, all of them transient: `unreachable`, `timeout`,
/// `http_404` and the like, `redirect` (refused, or one too many), `too_large`, `interrupted`.
pub fn fetch(
    page: &PageUrl,
    known: Option<&BTreeMap<String, String>>,
    max_bytes: u64,
    cancel: &Cancel,
) -> Result<Fetched, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| file::transient("unreachable", &format!("no event loop for the network: {error}")))?;
    let fetched = runtime.block_on(async {
        let fetching = tokio::time::timeout(TOTAL_TIMEOUT, follow(page, known, max_bytes, &Names::System));
        let mut fetching = std::pin::pin!(fetching);
        loop {
            if cancel.is_asked() {
                return Err(file::transient("interrupted", "a stop was asked for"));
            }
            if let Ok(done) = tokio::time::timeout(POLL, &mut fetching).await {
                let late = |_| file::transient("timeout", &format!("not fetched within {} s", TOTAL_TIMEOUT.as_secs()));
                return done.map_err(late)?;
            }
        }
    });
    // A name lookup that hangs must not hold us up.
    runtime.shutdown_background();
    fetched
}

/// A server that calls unchanged what was never fetched.
pub(super) fn nonsense() -> Problem {
    file::transient("unreachable", "the server says that nothing changed, but was not asked that")
}

/// Who knows the addresses of hosts.
enum Names {
    System,
    /// Answers in their order, each for a host: a name may have another address each time it is asked for.
    #[cfg(test)]
    Told(std::sync::Mutex<std::collections::VecDeque<(&'static str, Vec<SocketAddr>)>>),
}

impl Names {
    async fn find(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        match self {
            Self::System => tokio::net::lookup_host((host, port)).await.map(Iterator::collect),
            #[cfg(test)]
            Self::Told(told) => {
                let next = told.lock().unwrap().pop_front();
                let (name, addresses) = next.unwrap_or_else(|| panic!("`{host}` is looked up once more"));
                assert_eq!(name, host);
                Ok(addresses)
            }
        }
    }
}

async fn follow(
    page: &PageUrl,
    known: Option<&BTreeMap<String, String>>,
    max_bytes: u64,
    names: &Names,
) -> Result<Fetched, Problem> {
    let mut url = page.0.clone();
    for hop in 0..=MAX_REDIRECTS {
        let addresses = resolve(&url, page, hop > 0, names).await?;
        let response = send(&url, &addresses, known, page.1).await?;
        let status = response.status();
        if status == StatusCode::NOT_MODIFIED && known.is_some() {
            return Ok(Fetched::Unchanged);
        }
        if status.is_redirection() {
            url = next(&url, response.headers())?;
            continue;
        }
        if !status.is_success() {
            let message = format!("the server answers {status}");
            return Err(file::transient(&format!("http_{}", status.as_u16()), &message));
        }
        let headers = response.headers().clone();
        let bytes = body(response, max_bytes).await?;
        return Ok(Fetched::Page(describe(page, &url, &headers, bytes)));
    }
    Err(file::transient("redirect", &format!("more than {MAX_REDIRECTS} redirects")))
}

/// The addresses of a host. After a redirect to another host only public ones will do.
async fn resolve(url: &Url, page: &PageUrl, redirected: bool, names: &Names) -> Result<Vec<SocketAddr>, Problem> {
    let host = url.host_str().unwrap_or_default();
    let unknown = |why: String| file::transient("unreachable", &format!("`{host}` cannot be found: {why}"));
    let port = url.port_or_known_default().unwrap_or(80);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = names.find(bare, port).await.map_err(|error| unknown(error.to_string()))?;
    if found.is_empty() {
        return Err(unknown("it has no address".to_owned()));
    }
    let is_elsewhere = redirected && url.host_str() != page.0.host_str();
    let inner = found.iter().find(|address| !is_public(address.ip()));
    if page.1 == Reach::Public
        && !is_elsewhere
        && let Some(inner) = inner
    {
        let message = format!("`{host}` ({}) is no public address", inner.ip());
        return Err(file::transient("forbidden", &message));
    }
    if is_elsewhere && let Some(inner) = inner {
        let message = format!("the server redirects to `{host}` ({}), which is no public address", inner.ip());
        return Err(file::transient("redirect", &message));
    }
    Ok(found)
}

async fn send(
    url: &Url,
    addresses: &[SocketAddr],
    known: Option<&BTreeMap<String, String>>,
    reach: Reach,
) -> Result<Response, Problem> {
    let host = url.host_str().unwrap_or_default();
    let failed = |why: &str| file::transient("unreachable", &format!("no answer: {why}"));
    // A proxy would look the name up again, and might find another machine.
    let is_here = reach == Reach::Public || addresses.iter().all(|address| address.ip().is_loopback());
    let client =
        client(url.scheme() == "https", is_here, CONNECT_TIMEOUT, |builder| builder.resolve_to_addrs(host, addresses))
            .map_err(|why| failed(&why))?;
    let mut request = client.get(url.clone()).header(ACCEPT, ACCEPTED);
    for (key, header) in [(ETAG_KEY, IF_NONE_MATCH), (MODIFIED_KEY, IF_MODIFIED_SINCE)] {
        if let Some(value) = known.and_then(|known| known.get(key)) {
            request = request.header(header, value.as_str());
        }
    }
    request.send().await.map_err(|error| failed(&cause(error)))
}

fn next(url: &Url, headers: &HeaderMap) -> Result<Url, Problem> {
    let wrong = |why: &str| file::transient("redirect", why);
    let to = text_of(headers, LOCATION).ok_or_else(|| wrong("the server redirects and does not say where"))?;
    let to = url.join(&to).map_err(|_| wrong("the server redirects to what is no address"))?;
    if !matches!(to.scheme(), "http" | "https") {
        return Err(wrong(&format!("the server redirects to `{}:`, which is not the web", to.scheme())));
    }
    Ok(to)
}

async fn body(mut response: Response, max_bytes: u64) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    loop {
        let part = response
            .chunk()
            .await
            .map_err(|error| file::transient("unreachable", &format!("the answer was cut off: {}", cause(error))))?;
        let Some(part) = part else { return Ok(bytes) };
        if (bytes.len() + part.len()) as u64 > max_bytes {
            return Err(file::transient("too_large", &format!("it is larger than the limit of {max_bytes} bytes")));
        }
        bytes.extend_from_slice(&part);
    }
}

/// What the headers say of the bytes.
fn describe(page: &PageUrl, url: &Url, headers: &HeaderMap, bytes: Vec<u8>) -> Bytes {
    let kind = text_of(headers, CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    let file = url.path_segments().and_then(|mut parts| parts.next_back()).filter(|name| !name.is_empty());
    let file = file.unwrap_or("page");
    let hint = match extension(kind.split(';').next().unwrap_or_default().trim()) {
        Some(extension) => format!("{file}.{extension}"),
        None => file.to_owned(),
    };
    let mut metadata = BTreeMap::new();
    for (key, header) in [(ETAG_KEY, ETAG), (MODIFIED_KEY, LAST_MODIFIED)] {
        if let Some(value) = text_of(headers, header) {
            metadata.insert(key.to_owned(), value);
        }
    }
    if *url != page.0 {
        metadata.insert("url".to_owned(), url.to_string());
    }
    Bytes { bytes: in_utf8(&kind, bytes), hint, title: None, metadata }
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// The extension of what a server calls its bytes; `None` where the address says more.
fn extension(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "text/html" | "application/xhtml+xml" => "html",
        "application/pdf" => "pdf",
        "text/markdown" | "text/x-markdown" => "md",
        "application/json" => "json",
        "text/csv" => "csv",
        "application/epub+zip" => "epub",
        "application/rtf" | "text/rtf" => "rtf",
        "message/rfc822" => "eml",
        _ => return None,
    })
}

/// Text in the encoding that its server names, which counts more than what the text says of itself.
fn in_utf8(kind: &str, bytes: Vec<u8>) -> Vec<u8> {
    let label = kind.split(';').skip(1).find_map(|part| part.trim().strip_prefix("charset="));
    let encoding = label.and_then(|label| encoding_rs::Encoding::for_label(label.trim_matches('"').as_bytes()));
    match encoding {
        Some(encoding) if kind.starts_with("text/") && encoding_rs::Encoding::for_bom(&bytes).is_none() => {
            let (text, _, _) = encoding.decode(&bytes);
            // With a mark, so that no `meta` in it is believed instead.
            [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat()
        }
        _ => bytes,
    }
}

/// Whether an address is of the open Internet: not of this machine, a private network, a link, or reserved.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match v4_inside(v6) {
            Some(v4) => is_public_v4(v4),
            // Global unicast is 2000::/3; documentation lies inside it.
            None => v6.segments()[0] & 0xe000 == 0x2000 && !(v6.segments()[0] == 0x2001 && v6.segments()[1] == 0xdb8),
        },
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped, 6to4 or NAT64.
fn v4_inside(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, _, _, _, g, h] = v6.segments();
    let of = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match (a, b) {
        (0x2002, _) => of(b, c),
        (0x64, 0xff9b) => of(g, h),
        _ => v6.to_ipv4_mapped(),
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, ..] = v4.octets();
    let is_special = v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_broadcast()
        || v4.is_documentation()
        || v4.is_multicast();
    // This network, carrier NAT, protocol assignments, benchmarks, reserved.
    let is_reserved = a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0)
        || (a == 198 && (b & 0xfe) == 18)
        || a >= 240;
    !is_special && !is_reserved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_pages() {
        for (text, want) in [
            ("https://Example.org", Some(("https:/", "example.org/"))),
            ("http://example.org:8080/a/b.html?q=1#part", Some(("http:/", "example.org:8080/a/b.html?q=1"))),
            ("https://user:secret@example.org/", None),
            ("ftp://example.org/", None),
            ("file:///etc/passwd", None),
            ("https://", None),
        ] {
            let page = text.parse::<PageUrl>().ok();
            let name = page.as_ref().map(PageUrl::name);
            assert_eq!(name.as_ref().map(|(root, path)| (*root, path.as_str())), want, "{text}");
            if let (Some(page), Some((root, path))) = (page, name) {
                assert_eq!(page.to_string(), format!("{root}/{path}"), "a display path is the address");
            }
        }
        let error = "https://user:secret@example.org/".parse::<PageUrl>().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn inner_addresses_are_not_public() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "240.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "100.128.0.1", "172.32.0.1"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn the_encoding_of_the_header_counts() {
        let decoded = in_utf8("text/html; charset=windows-1252", b"caf\xe9".to_vec());
        assert_eq!(decoded, "\u{feff}café".as_bytes());
        assert_eq!(in_utf8("application/pdf; charset=latin1", vec![0xe9]), [0xe9]);
        assert_eq!(in_utf8("text/html", vec![0xe9]), [0xe9]);
    }

    /// Follows a page with names that are told, one list of addresses a lookup. Gives the word for what went wrong, and how
    /// many connections the server on this machine saw, which sends everybody to `to`.
    fn followed(text: &str, is_public: bool, to: &str, told: Vec<(&'static str, Vec<&str>)>) -> (String, usize) {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let answer = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let seen = std::thread::spawn(move || {
            let mut seen = 0;
            while let Ok((mut stream, _)) = listener.accept() {
                let mut head = [0; 1024];
                // The last one says nothing: it is ours, and ends the count.
                if stream.read(&mut head).unwrap_or(0) == 0 {
                    break;
                }
                seen += 1;
                let _ = stream.write_all(answer.as_bytes());
            }
            seen
        });
        let address = |text: &str| match text {
            "here" => here,
            ip => SocketAddr::new(ip.parse().unwrap(), 9),
        };
        let told = told.into_iter().map(|(name, ips)| (name, ips.into_iter().map(address).collect())).collect();
        // The port of an address counts, not that of what its name was found to be.
        let page: PageUrl = text.replace("a.test/", &format!("a.test:{}/", here.port())).parse().unwrap();
        let page = if is_public { page.public() } else { page };
        let names = Names::Told(std::sync::Mutex::new(told));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let problem = runtime.block_on(follow(&page, None, 1 << 20, &names)).err().unwrap();
        drop(std::net::TcpStream::connect(here).unwrap());
        let Names::Told(left) = names else { unreachable!("they were told above") };
        assert!(left.into_inner().unwrap().is_empty(), "every hop looks its host up once");
        (problem.reason, seen.join().unwrap())
    }

    #[test]
    fn n08_a_name_that_changes_its_address_leads_nowhere_inside() {
        let forbidden = ("forbidden".to_owned(), 0);
        for inner in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "fd00::1", "::ffff:192.168.0.1", "100.64.0.1"] {
            assert_eq!(followed("http://a.test/", true, "/", vec![("a.test", vec![inner])]), forbidden, "{inner}");
            // One that is public beside it is no excuse: the connection might go to the other.
            let both = vec![("a.test", vec!["1.1.1.1", inner])];
            assert_eq!(followed("http://a.test/", true, "/", both), forbidden, "{inner}");
        }
        // A page of this machine that was typed may be read, and sends nobody to an inner address of another name.
        for inner in ["10.0.0.1", "here"] {
            let told = vec![("a.test", vec!["here"]), ("b.test", vec![inner])];
            let refused = ("redirect".to_owned(), 1);
            assert_eq!(followed("http://a.test/", false, "http://b.test/", told), refused, "{inner}");
        }
    }
}
