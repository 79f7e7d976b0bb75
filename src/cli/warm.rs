//! The warm local process: `rag serve --socket` of the same index answers `query` and `ask` of this user, with its models
//! loaded and its pages read.
//!
//! It never changes an answer: only a process of the same user, program version, index and settings is asked, and whatever
//! it does not answer soon and well is done here, as if it were not there. Flags that this process alone can obey, and
//! models elsewhere, keep it out of the matter.

use std::ops::ControlFlow;

use rag::serve::{
    api::{AskRequest, QueryRequest},
    client::{self, Client},
    wire::{AnswerResult, QueryResult},
};

use super::commands::{Context, query::SearchArgs};

/// Where such a process listens, in the index's own folder.
pub const SOCKET: &str = "serve.sock";

/// What the warm process finds.
pub fn query(context: &Context, search: &SearchArgs, request: impl FnOnce() -> QueryRequest) -> Option<QueryResult> {
    client(context, search)?.query(&request()).ok()
}

/// What the warm process quotes: answers of models are not asked of it.
pub fn quotes(client: &Client, request: AskRequest) -> Option<AnswerResult> {
    let request = AskRequest { extractive: true, ..request };
    client.ask(&request, &mut |_| ControlFlow::Continue(())).ok()
}

/// The warm process, if there is one and it may be asked.
#[cfg(unix)]
pub fn client(context: &Context, search: &SearchArgs) -> Option<Client> {
    use std::time::Duration;

    /// A process that does not even say its name within this time is stopped or at work: it is not asked.
    const HELLO: Duration = Duration::from_millis(150);
    /// What it finds it finds in milliseconds.
    const ANSWER: Duration = Duration::from_secs(2);

    let (place, config) = (&context.place, &context.config);
    let socket = place.dir.join(SOCKET);
    if search.rerank || config.text("embed.url").is_some() || !is_own(&socket) {
        return None;
    }
    let options = client::Options {
        // Whoever can open the socket is who started the server: no key is asked for there.
        key: None,
        socket: Some(socket),
        connect_timeout: HELLO,
        answer_timeout: ANSWER,
        tries: 1,
        ..client::Options::new("http://localhost")
    };
    let client = Client::new(options).ok()?;
    let hello = client.hello_within(HELLO).ok()?;
    let dir = std::fs::canonicalize(&place.dir).ok()?;
    let index = blake3::hash(dir.as_os_str().as_encoded_bytes()).to_hex();
    let is_same = hello.version == env!("CARGO_PKG_VERSION")
        && hello.index == index.as_str()
        && hello.settings == config.fingerprint();
    is_same.then_some(client)
}

/// A socket that this user made and nobody else can open.
#[cfg(unix)]
fn is_own(path: &std::path::Path) -> bool {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    path.symlink_metadata().is_ok_and(|meta| {
        meta.file_type().is_socket() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0
    })
}

/// Elsewhere there are no such sockets.
#[cfg(not(unix))]
pub fn client(_: &Context, _: &SearchArgs) -> Option<Client> {
    None
}
