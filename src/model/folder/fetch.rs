//! Fetching the files of a model: from where it was cut off, and never more than was asked for.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use reqwest::{StatusCode, Url, header, redirect::Policy};

use crate::{
    model::{
        Error, Result,
        http::{Address, Key, cause, client, shown},
    },
    types::Cancel,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two parts of a file.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Large files are handed on to other servers.
const MAX_REDIRECTS: usize = 5;
/// A file is begun again where it broke off, so often.
const TRIES: u32 = 4;
/// How often a wait looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(100);

/// What is fetched, and from where.
pub struct Fetch {
    /// Files stand below it.
    pub base: Url,
    /// Sent to the host of `base` alone.
    pub key: Option<Key>,
    pub cancel: Cancel,
}

/// How far one file is.
#[derive(Debug, Clone, Copy)]
pub struct Fetching<'a> {
    pub file: &'a str,
    pub bytes: u64,
    /// `None`: the server does not say.
    pub of: Option<u64>,
}

enum Came {
    Whole,
    /// There is no such file.
    Not,
}

impl Fetch {
    /// Reads where files are: `https://host/folder`, or `hf:ORG/NAME` for a repository of Hugging Face, whose address
    /// `hub` is. Errors: `BadModel` for anything else, and for a key that would travel unencrypted.
    pub fn new(from: &str, hub: &str, key: Option<Key>, cancel: Cancel) -> Result<Self> {
        let wrong = |what: &str| Error::BadModel { what: format!("`{}` {what}", shown(from)) };
        let address = match from.strip_prefix("hf:") {
            Some(name) if name.split('/').filter(|part| !part.is_empty()).count() == 2 => {
                format!("{}/{}/resolve/main/", hub.trim_end_matches('/'), name.trim_matches('/'))
            }
            Some(_) => return Err(wrong("names no repository; write hf:ORGANISATION/NAME")),
            None => format!("{}/", from.trim_end_matches('/')),
        };
        let base = Url::parse(&address).map_err(|_| wrong("is no address"))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong("is no address of the web"));
        }
        if key.is_some() && base.scheme() == "http" && !Address::parse(base.as_str())?.is_loopback() {
            return Err(wrong("would get a key unencrypted; use https://"));
        }
        Ok(Self { base, key, cancel })
    }

    /// Fetches `name` into `folder`, where a part of it may be already. `Ok(false)`: the server has no such file.
    /// Errors: `Unreachable`, `Refused`, `CutOff`, `TimedOut`, `Io`, `Cancelled`.
    pub fn file(&self, name: &str, folder: &Path, told: &mut dyn FnMut(Fetching<'_>)) -> Result<bool> {
        let to = folder.join(name);
        if to.is_file() {
            return Ok(true);
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|source| Error::Io { act: "make", path: parent.to_owned(), source })?;
        }
        let url =
            self.base.join(name).map_err(|_| Error::BadModel { what: format!("`{name}` is no name of a file") })?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| Error::Options { what: format!("no event loop for the network: {error}") })?;
        let part = Part::of(&to);
        let mut tried = 0;
        loop {
            tried += 1;
            match runtime.block_on(self.attempt(&url, name, &part, told)) {
                Ok(Came::Not) => return Ok(false),
                Ok(Came::Whole) => break,
                Err(Error::CutOff { .. } | Error::TimedOut { .. }) if tried < TRIES => {}
                Err(error) => return Err(error),
            }
        }
        part.finish(&to)?;
        Ok(true)
    }

    async fn attempt(&self, url: &Url, name: &str, part: &Part, told: &mut dyn FnMut(Fetching<'_>)) -> Result<Came> {
        let is_local = Address::parse(url.as_str())?.is_loopback();
        // reqwest takes the key off a request that is handed on to another host.
        let follow = |builder: reqwest::ClientBuilder| builder.redirect(Policy::limited(MAX_REDIRECTS));
        let client = client(url.scheme() == "https", is_local, CONNECT_TIMEOUT, follow)
            .map_err(|what| Error::Options { what })?;
        let mut request = client.get(url.clone());
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose());
        }
        let (had, tag) = part.so_far();
        if let (true, Some(tag)) = (had > 0, &tag) {
            request = request.header(header::RANGE, format!("bytes={had}-")).header(header::IF_RANGE, tag);
        }
        let unreachable = |error| Error::Unreachable { url: shown(url.as_str()), why: cause(error) };
        let mut response = self.wait(url, "answer", request.send()).await?.map_err(unreachable)?;
        let resumed = match response.status() {
            StatusCode::PARTIAL_CONTENT => true,
            StatusCode::OK => false,
            StatusCode::NOT_FOUND => return Ok(Came::Not),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(Error::Unauthorized { url: shown(url.as_str()), status: response.status().as_u16() });
            }
            // What was there is no beginning of what is there now.
            StatusCode::RANGE_NOT_SATISFIABLE => {
                part.begin_anew()?;
                return Err(Error::CutOff { url: shown(url.as_str()) });
            }
            status => {
                let message = status.canonical_reason().unwrap_or("no reason").to_owned();
                return Err(Error::Refused { url: shown(url.as_str()), status: status.as_u16(), message });
            }
        };
        let mut bytes = if resumed { had } else { 0 };
        let of = response.content_length().map(|rest| rest + bytes);
        let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let mut file = part.open(resumed, tag.as_deref())?;
        told(Fetching { file: name, bytes, of });
        loop {
            let cut_off = |_| Error::CutOff { url: shown(url.as_str()) };
            let Some(more) = self.wait(url, "go on", response.chunk()).await?.map_err(cut_off)? else { break };
            file.write_all(&more).map_err(|source| Error::Io { act: "write", path: part.path.clone(), source })?;
            bytes += more.len() as u64;
            told(Fetching { file: name, bytes, of });
        }
        if of.is_some_and(|of| of != bytes) {
            return Err(Error::CutOff { url: shown(url.as_str()) });
        }
        file.sync_all().map_err(|source| Error::Io { act: "write", path: part.path.clone(), source })?;
        Ok(Came::Whole)
    }

    /// What comes of `work`, unless nothing comes for long, or it is wanted no more.
    async fn wait<T>(&self, url: &Url, what: &'static str, work: impl Future<Output = T>) -> Result<T> {
        let mut work = std::pin::pin!(work);
        let mut waited = Duration::ZERO;
        loop {
            if self.cancel.is_asked() {
                return Err(Error::Cancelled);
            }
            match tokio::time::timeout(POLL, work.as_mut()).await {
                Ok(done) => return Ok(done),
                Err(_) if waited >= IDLE_TIMEOUT => {
                    let seconds = IDLE_TIMEOUT.as_secs();
                    return Err(Error::TimedOut { url: shown(url.as_str()), seconds, what });
                }
                Err(_) => waited += POLL,
            }
        }
    }
}

/// A file that is not whole yet, and the tag by which its server knows the rest.
struct Part {
    path: PathBuf,
    tag: PathBuf,
}

impl Part {
    fn of(to: &Path) -> Self {
        let with = |end: &str| {
            let mut name = to.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        Self { path: with(".part"), tag: with(".part-tag") }
    }

    /// Its length, and its tag if it can be gone on with: a weak tag does not tell bytes apart.
    fn so_far(&self) -> (u64, Option<String>) {
        let length = fs::metadata(&self.path).map_or(0, |meta| meta.len());
        (length, fs::read_to_string(&self.tag).ok().filter(|tag| tag.starts_with('"')))
    }

    fn open(&self, resumed: bool, tag: Option<&str>) -> Result<File> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io { act: "write", path, source }
        };
        fs::write(&self.tag, tag.unwrap_or_default()).map_err(failed(&self.tag))?;
        let mut options = OpenOptions::new();
        options.create(true).append(resumed).write(true).truncate(!resumed);
        options.open(&self.path).map_err(failed(&self.path))
    }

    fn begin_anew(&self) -> Result<()> {
        fs::remove_file(&self.path).map_err(|source| Error::Io { act: "remove", path: self.path.clone(), source })
    }

    fn finish(&self, to: &Path) -> Result<()> {
        fs::rename(&self.path, to).map_err(|source| Error::Io { act: "write", path: to.to_owned(), source })?;
        // Of no use any more, and of no harm.
        let _ = fs::remove_file(&self.tag);
        Ok(())
    }
}
