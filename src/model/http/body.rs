//! The body of an answer, part by part. Not good for: what the bytes mean.

use std::time::{Duration, Instant};

use reqwest::Url;

use super::{Http, Leave, Waited, shown};
use crate::model::{Error, Result};

/// The most bytes of one answer; the longest real one is a batch of vectors as text, about 4 MiB.
pub const MAX_BODY_BYTES: usize = 64 << 20;

/// An answer that is read only to be described is not waited for any longer.
const DESCRIBED_WITHIN: Duration = Duration::from_secs(5);

/// An answer under way. Dropping it before its end hangs up: the connection is closed, and the server may stop working.
#[derive(Debug)]
pub struct Body<'a> {
    http: &'a Http,
    /// Gone at the end of the body and after an error.
    response: Option<reqwest::Response>,
    url: Url,
    leave: Leave,
    deadline: Option<Instant>,
    read_bytes: usize,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        http: &'a Http,
        response: reqwest::Response,
        url: Url,
        leave: Leave,
        deadline: Option<Instant>,
    ) -> Self {
        Self { http, response: Some(response), url, leave, deadline, read_bytes: 0 }
    }

    /// The address that answers, without secrets.
    pub fn url(&self) -> String {
        shown(self.url.as_str())
    }

    /// The next part, never empty; `None` at the end. Waits for the first part as long as a first byte may take, for
    /// each other as long as a server may idle. Errors: `CutOff` where the connection broke, `TimedOut`, `Cancelled`.
    pub fn next_part(&mut self) -> Result<Option<Vec<u8>>> {
        let options = &self.http.options;
        let (limit, what) = if self.read_bytes == 0 {
            (options.first_byte_timeout, "begin its answer")
        } else {
            (options.idle_timeout, "go on with its answer")
        };
        match self.step(limit)? {
            Some(part) => Ok(part),
            None => Err(self.http.late(&self.url, limit, what, self.deadline)),
        }
    }

    /// [`next_part`](Self::next_part), but a part that takes longer than `limit` counts as the end.
    pub fn next_part_within(&mut self, limit: Duration) -> Result<Option<Vec<u8>>> {
        Ok(self.step(limit)?.flatten())
    }

    /// The rest, whole.
    pub fn rest(mut self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(part) = self.next_part()? {
            all.extend_from_slice(&part);
        }
        Ok(all)
    }

    /// At most `limit` bytes, or what came before it broke or paused: enough to say what went wrong.
    pub fn some(mut self, limit: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while all.len() < limit {
            match self.next_part_within(DESCRIBED_WITHIN) {
                Ok(Some(part)) => all.extend_from_slice(&part),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Ok(None) | Err(_) => break,
            }
        }
        all.truncate(limit);
        Ok(all)
    }

    /// One part; the outer `None` when `limit` has passed. After an error or a pass the connection is closed.
    fn step(&mut self, limit: Duration) -> Result<Option<Option<Vec<u8>>>> {
        let Some(mut response) = self.response.take() else { return Ok(Some(None)) };
        loop {
            let waited = self.http.wait(response.chunk(), limit, &self.leave, self.deadline);
            let result = match waited {
                Waited::Done(Ok(Some(part))) if part.is_empty() => continue,
                Waited::Done(Ok(Some(part))) => {
                    self.read_bytes = self.read_bytes.saturating_add(part.len());
                    if self.read_bytes <= MAX_BODY_BYTES {
                        self.response = Some(response);
                        return Ok(Some(Some(part.into())));
                    }
                    let found = format!("more than {MAX_BODY_BYTES} bytes");
                    Err(Error::BadAnswer { url: self.url(), expected: "an answer of sensible size", found })
                }
                Waited::Done(Ok(None)) => return Ok(Some(None)),
                Waited::Done(Err(_)) => Err(Error::CutOff { url: self.url() }),
                Waited::TimedOut => Ok(None),
                Waited::Left => Err(Error::Cancelled),
            };
            drop(response);
            self.http.settle();
            return result;
        }
    }
}

impl Drop for Body<'_> {
    fn drop(&mut self) {
        if self.response.take().is_some() {
            self.http.settle();
        }
    }
}
