//! The models: does the embedder of this index load and make the vectors it should, and do the endpoints answer?

use std::{
    net::{TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};

use rag::{
    index::Snapshot,
    model::{
        http::{Address, shown},
        same_vector,
    },
    retrieve::Mode,
    types::{Cancel, PROBE},
};

use super::Doctor;
use crate::cli::{commands::ingest::EmbedArgs, report::Failure};

const CONNECT: Duration = Duration::from_secs(5);

impl Doctor<'_> {
    pub(super) fn models(&mut self, snapshot: Option<&Snapshot>) {
        self.embedder(snapshot);
        for key in ["embed.url", "llm.url"] {
            if let Some(url) = self.config.text(key) {
                self.endpoint(key, url);
            }
        }
    }

    fn embedder(&mut self, snapshot: Option<&Snapshot>) {
        let started = Instant::now();
        let made = match snapshot {
            Some(snapshot) if snapshot.space().is_none() => {
                return self.ok("embedder", "the index has no vectors, none is needed");
            }
            Some(snapshot) => self.place.query_embedder(self.config, snapshot, Mode::Hybrid),
            None => self.place.embedder(self.config, &EmbedArgs::default(), &Cancel::default()),
        };
        let embedder = match made {
            Ok(Some(embedder)) => embedder,
            Ok(None) => return,
            Err(failure) => return self.no_embedder(&failure),
        };
        match embedder.embed_passages(&[PROBE]) {
            Ok(vector) if embedder.space().probe.is_empty() || same_vector(&embedder.space().probe, &vector) => {
                let (model, backend) = (&embedder.space().model, embedder.backend());
                let milliseconds = started.elapsed().as_millis();
                self.ok("embedder", format!("{model} by {backend}, a sentence in {milliseconds} ms"));
            }
            Ok(_) => {
                let what = format!("{} makes other vectors than those of the index", embedder.backend());
                self.failed("embedder", what, self.rag("reembed"));
            }
            Err(error) => self.no_embedder(&error.into()),
        }
    }

    fn no_embedder(&mut self, failure: &Failure) {
        let fix = failure.hint_text().unwrap_or_else(|| self.rag("reembed"));
        self.failed("embedder", failure.message(), fix);
    }

    /// Whether somebody listens there. Asks nothing: an answer may cost.
    fn endpoint(&mut self, key: &'static str, url: &str) {
        let name = shown(url);
        let fix = format!("start that server, or set `{key}` to another");
        let address = match Address::parse(url) {
            Ok(address) => address,
            Err(error) => return self.failed("endpoint", error.to_string(), fix),
        };
        let (host, port) = address.host_and_port();
        let found = match (host.as_str(), port).to_socket_addrs() {
            Ok(found) => found,
            Err(error) => return self.failed("endpoint", format!("`{key}` {name}: {error}"), fix),
        };
        let mut said = "it has no address".to_owned();
        for address in found {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(_) => return self.ok("endpoint", format!("`{key}` {name} takes connections")),
                Err(error) => said = error.to_string(),
            }
        }
        self.failed("endpoint", format!("`{key}` {name}: {said}"), fix);
    }
}
