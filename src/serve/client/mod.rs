//! Remote mode: the same verbs against `rag serve`, over HTTP or a socket of this machine.
//!
//! Useful for: requests of [`api`] in, objects of [`wire`] out, each failure with the kind it would
//! have here. Not for: calls from an async task, or deciding what to do without a server.

mod ask;
mod error;
mod sync;

use std::{path::PathBuf, sync::Arc, time::Duration};

pub use error::Error;
use serde::{Serialize, de::DeserializeOwned};
pub use sync::Contents;

use super::{api, api::routes, wire};
use crate::{
    model::http::{
        Clock, Failure, Http, HttpOptions, IfLost, Key, Leave, Method, Reply, Request, SystemClock, Verdict, Waits,
    },
    types::Cancel,
};

pub type Result<T> = std::result::Result<T, Error>;

/// What takes as long as there are documents is waited for so long.
const PATIENCE: Duration = Duration::from_secs(60 * 60);
/// A list is made so often at most where the index changes between two of its pages.
const MAX_LISTINGS: usize = 3;

/// Where the server is, and how it is asked.
#[derive(Debug, Clone)]
pub struct Options {
    /// `https://host`, or with a path where a proxy puts the server below one.
    pub base_url: String,
    pub key: Option<Key>,
    /// Certificates in PEM that are trusted besides those of the system; empty for none.
    pub ca_pem: Vec<u8>,
    /// The key may travel unencrypted to a host that is not this machine.
    pub allow_plaintext: bool,
    /// Connect to this socket of this machine instead; the host of the address counts for nothing then.
    pub socket: Option<PathBuf>,
    pub connect_timeout: Duration,
    /// From a request to its answer, and between two parts of it. What works on all documents has an hour.
    pub answer_timeout: Duration,
    /// How often a request is sent at most, 1..
    pub tries: u32,
    /// Ends waiting.
    pub cancel: Cancel,
    pub clock: Arc<dyn Clock>,
    /// Hears of each pause before a request is sent again.
    pub waits: Waits,
}

impl Options {
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            key: None,
            ca_pem: Vec::new(),
            allow_plaintext: false,
            socket: None,
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(150),
            tries: 4,
            cancel: Cancel::default(),
            clock: Arc::new(SystemClock),
            waits: Waits::default(),
        }
    }
}

/// A server that is asked. Sends nothing until it is.
#[derive(Debug)]
pub struct Client {
    http: Http,
    leave: Leave,
    /// The server's address as people may see it.
    shown: String,
}

/// How long an answer may take, and whether its request may be sent twice.
#[derive(Debug, Clone, Copy)]
struct Manner {
    patient: bool,
    twice: bool,
}

impl Manner {
    /// Reads, and is soon done.
    const ASKS: Self = Self { patient: false, twice: true };
    /// Reads all there is.
    const STUDIES: Self = Self { patient: true, twice: true };
    /// Changes the index; the second time is not the same as the first.
    const CHANGES: Self = Self { patient: true, twice: false };
}

impl Client {
    /// Errors: [`Error::Net`] with `Options` for an address that is none, certificates that are none, or a key that would
    /// travel unencrypted.
    pub fn new(options: Options) -> Result<Self> {
        let base = options.base_url.trim().trim_end_matches('/');
        let base = format!("{}/v1", base.strip_suffix("/v1").unwrap_or(base));
        let http = HttpOptions {
            connect_timeout: options.connect_timeout,
            first_byte_timeout: options.answer_timeout,
            idle_timeout: options.answer_timeout,
            total_timeout: None,
            tries: options.tries,
            allow_plaintext: options.allow_plaintext || options.socket.is_some(),
            ca_pem: options.ca_pem,
            socket: options.socket,
            clock: options.clock,
            waits: options.waits,
        };
        let http = Http::new(&base, options.key.as_ref(), &[], http)?;
        let shown = http.shown("").trim_end_matches('/').trim_end_matches("/v1").to_owned();
        Ok(Self { http, leave: Leave { cancel: options.cancel, finish_first: true }, shown })
    }

    /// What ends waiting.
    pub fn cancel(&self) -> &Cancel {
        &self.leave.cancel
    }

    /// The server's address as people may see it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Who answers, if somebody does within `limit`.
    pub fn hello_within(&self, limit: Duration) -> Result<api::Hello> {
        let request = Request {
            method: Method::GET,
            path: path(routes::HELLO),
            body: None,
            content_type: None,
            first_byte_timeout: Some(limit),
            if_lost: IfLost::GiveUp,
        };
        self.read(self.http.send(&request, &self.leave, &verdict)?)
    }

    pub fn status(&self, request: &api::StatusRequest) -> Result<wire::StatusResult> {
        self.post(routes::STATUS, request, Manner::ASKS)
    }

    pub fn query(&self, request: &api::QueryRequest) -> Result<wire::QueryResult> {
        self.post(routes::QUERY, request, Manner::ASKS)
    }

    /// All pages as one list, of one generation unless the index never rests.
    pub fn list(&self, request: &api::ListRequest) -> Result<wire::ListResult> {
        let mut left = MAX_LISTINGS;
        loop {
            left = left.saturating_sub(1);
            if let Some(list) = self.list_once(request, left == 0)? {
                return Ok(list);
            }
        }
    }

    /// `None`: the index has changed on the way.
    fn list_once(&self, request: &api::ListRequest, whatever: bool) -> Result<Option<wire::ListResult>> {
        // Each page reads the server's whole catalog.
        let mut request = api::ListRequest { limit: request.limit.or(Some(api::MAX_PAGE)), ..request.clone() };
        let mut whole: Option<wire::ListResult> = None;
        loop {
            let page: api::DocumentsPage = self.post(routes::LIST, &request, Manner::ASKS)?;
            match &mut whole {
                Some(list) if list.generation != page.list.generation && !whatever => return Ok(None),
                Some(list) => list.documents.extend(page.list.documents),
                None => whole = Some(page.list),
            }
            // A cursor that leads nowhere must not be followed for ever.
            match page.next {
                Some(next) if request.cursor.as_ref() != Some(&next) => request.cursor = Some(next),
                Some(_) | None => return Ok(whole),
            }
        }
    }

    /// The collections of the index, as far as the key may see them.
    pub fn collections(&self) -> Result<api::Collections> {
        self.send(Method::GET, routes::COLLECTIONS, None, None, Manner::ASKS)
    }

    pub fn show(&self, request: &api::ShowRequest) -> Result<wire::ShowResult> {
        self.post(routes::SHOW, request, Manner::ASKS)
    }

    pub fn remove(&self, request: &api::RemoveRequest) -> Result<wire::RemoveResult> {
        self.post(routes::REMOVE, request, if request.dry_run { Manner::STUDIES } else { Manner::CHANGES })
    }

    pub fn why(&self, request: &api::WhyRequest) -> Result<wire::WhyResult> {
        self.post(routes::WHY, request, Manner::ASKS)
    }

    pub fn why_not(&self, request: &api::WhyNotRequest) -> Result<wire::WhyNotResult> {
        self.post(routes::WHY_NOT, request, Manner::ASKS)
    }

    pub fn check(&self, request: &api::CheckRequest) -> Result<wire::CheckResult> {
        self.post(routes::CHECK, request, Manner::ASKS)
    }

    pub fn verify(&self, request: &api::VerifyRequest) -> Result<wire::VerifyResult> {
        self.post(routes::VERIFY, request, Manner::STUDIES)
    }

    /// Adds a text as a document, or replaces the one of its name.
    pub fn document(&self, request: &api::DocumentRequest) -> Result<wire::IngestReport> {
        self.post(routes::DOCUMENTS, request, Manner { patient: true, twice: true })
    }

    /// Starts an ingest of what the server itself can reach.
    pub fn ingest(&self, request: &api::IngestRequest) -> Result<api::Job> {
        self.post(routes::INGEST, request, Manner { patient: false, twice: false })
    }

    /// How far a job is.
    pub fn job(&self, id: &str) -> Result<api::Job> {
        self.send(Method::GET, &routes::with_id(routes::INGEST_JOB, id), None, None, Manner::ASKS)
    }

    pub fn cancel_job(&self, id: &str) -> Result<api::Job> {
        self.send(Method::DELETE, &routes::with_id(routes::INGEST_JOB, id), None, None, Manner::ASKS)
    }

    pub fn eval(&self, request: &api::EvalRequest) -> Result<wire::EvalResult> {
        self.post(routes::EVAL, request, Manner::STUDIES)
    }

    fn post<T: DeserializeOwned>(&self, route: &str, body: &impl Serialize, manner: Manner) -> Result<T> {
        let body = serde_json::to_vec(body).map_err(|error| Error::Unsayable { why: error.to_string() })?;
        self.send(Method::POST, route, Some(body), None, manner)
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        route: &str,
        body: Option<Vec<u8>>,
        content_type: Option<&'static str>,
        manner: Manner,
    ) -> Result<T> {
        self.read(self.reply(method, route, body, content_type, manner)?)
    }

    fn reply(
        &self,
        method: Method,
        route: &str,
        body: Option<Vec<u8>>,
        content_type: Option<&'static str>,
        manner: Manner,
    ) -> Result<Reply<'_>> {
        let request = Request {
            method,
            path: path(route),
            body,
            content_type,
            first_byte_timeout: manner.patient.then_some(PATIENCE),
            if_lost: if manner.twice { IfLost::Once } else { IfLost::GiveUp },
        };
        Ok(self.http.send(&request, &self.leave, &verdict)?)
    }

    fn read<T: DeserializeOwned>(&self, reply: Reply<'_>) -> Result<T> {
        match reply {
            Reply::Success(body) => {
                let url = body.url();
                let bytes = body.rest()?;
                serde_json::from_slice(&bytes).map_err(|error| Error::not_ours(url, &error.to_string()))
            }
            Reply::Failure(failure) => Err(self.refused(&failure)),
        }
    }

    /// What a job failed of, as if its request had.
    pub fn told(&self, error: api::ErrorDetail) -> Error {
        Error::said(&self.shown, api::ErrorBody { error }, |text| self.http.without_secrets(text))
    }

    fn refused(&self, failure: &Failure) -> Error {
        Error::refused(&self.shown, failure, |text| self.http.without_secrets(text))
    }
}

/// A server that says when to come back has begun nothing.
fn verdict(failure: &Failure) -> Verdict {
    if failure.retry_after.is_some() { Verdict::TryAgain } else { Verdict::GiveUp }
}

/// A route below the base address, which ends in `/v1`.
fn path(route: &str) -> &str {
    route.strip_prefix("/v1/").unwrap_or(route)
}
