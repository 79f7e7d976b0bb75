//! How clients reach the server: one over a pair of streams, or many over HTTP.

use std::{io, sync::Arc, time::Duration};

use rmcp::{
    RoleServer, ServerHandler,
    model::JsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        StreamableHttpServerConfig, StreamableHttpService, Transport, async_rw::AsyncRwTransport,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
};

use super::handler::Server;
use crate::{serve::told::Told, types::Kind};

/// The longest message of a client, in bytes.
const MAX_MESSAGE_BYTES: usize = 8 << 20;
/// How long calls may go on that run when the client closes its end, before they are asked to stop.
const LAST_CALLS: Duration = Duration::from_millis(1000);
/// How long they may take to answer then.
const LAST_ANSWERS: Duration = Duration::from_millis(400);
/// How long writing may take then.
const LAST_WRITES: Duration = Duration::from_millis(500);

/// Serves one client until its stream ends: then what was asked is answered, what was taken is durable, and this returns
/// within two seconds. Only messages of the protocol are written to `output`.
///
/// Errors: `Io` where what was taken could not be made durable in time; the client has had no answer to it.
pub async fn serve<R, W>(server: &Server, input: R, output: W) -> Result<(), Told>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let ended = Arc::new(Notify::new());
    let inner = AsyncRwTransport::new(input, output).with_max_line_length(MAX_MESSAGE_BYTES);
    let pipe = Pipe { inner, began: false, ended: Arc::clone(&ended), server: server.clone() };
    let talk = async {
        // A client that goes away before it has said what it wants has taken nothing with it.
        if let Ok(running) = rmcp::serve_server(server.clone(), pipe).await {
            let _ = running.waiting().await;
        }
    };
    tokio::select! {
        () = talk => {}
        () = async {
            ended.notified().await;
            tokio::time::sleep(LAST_CALLS).await;
            server.stop();
            tokio::time::sleep(LAST_ANSWERS).await;
        } => {}
    }
    let closing = server.clone();
    let done = tokio::task::spawn_blocking(move || closing.close(LAST_WRITES)).await.unwrap_or(false);
    if done {
        return Ok(());
    }
    Err(Told::new(Kind::Io, "the client closed its end while something was being written; it was not answered")
        .hint("what was answered is stored; ask for the rest again"))
}

/// A stream that tells when it ends, and that no odd first message breaks.
struct Pipe<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
    /// A request was seen: the protocol has begun.
    began: bool,
    ended: Arc<Notify>,
    server: Server,
}

impl<R, W> Transport<RoleServer> for Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.server.hurry();
                self.ended.notify_one();
                return None;
            };
            // Before the first request there is nothing that a notification or an answer could be about.
            let is_request = matches!(message, JsonRpcMessage::Request(_));
            if self.began || is_request {
                self.began = true;
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Who may come to the HTTP endpoint by what they call it. Keys and TLS are the server's around it.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// Host names (or `host:port`) that requests may name besides loopback ones; a page of a rebound name gets no further.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call besides those of this machine: `https://app.example.com:443`.
    pub allowed_origins: Vec<String>,
    /// The longest body, in bytes; 0: 8 MiB.
    pub max_body_bytes: usize,
}

/// The endpoint of a server: a tower service for `axum::Router::nest_service("/mcp", …)` or `route_service`.
pub type HttpService = StreamableHttpService<Server, LocalSessionManager>;

/// Makes the endpoint for streamable HTTP: sessions for clients of the protocols that have them, none for those of
/// 2026-07-28 and later.
pub fn http_service(server: &Server, options: &HttpOptions) -> HttpService {
    let server = server.clone();
    http_service_of(move || server.clone(), options)
}

/// The same endpoint for another handler; `make` gives one for each session.
pub fn http_service_of<H: ServerHandler>(
    make: impl Fn() -> H + Send + Sync + 'static,
    options: &HttpOptions,
) -> StreamableHttpService<H, LocalSessionManager> {
    let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter().chain(options.allowed_hosts.clone());
    let own = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    let origins = own.into_iter().chain(options.allowed_origins.clone());
    let max = if options.max_body_bytes == 0 { MAX_MESSAGE_BYTES } else { options.max_body_bytes };
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(max);
    StreamableHttpService::new(move || Ok(make()), LocalSessionManager::default().into(), config)
}
