//! Connections in, one task each, with limits; and the end, in which what is under way is answered.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{Semaphore, watch},
    time::timeout,
};

use super::{
    flight::Flights,
    gate::Gate,
    handle::handle,
    identity::Secret,
    paths::Upstream,
    rules::Allowed,
    semantic::Semantic,
    stats::{Counters, bump},
    store::Store,
};
use crate::{model::http::Key, serve::server::Tls};

/// A request's headers must be there by then; an idle connection is closed after the same time.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS: usize = 1024;
/// Requests at one time, those that wait for the server included. More are told to come back.
pub const MAX_IN_FLIGHT: usize = 768;
/// How long answers under way may take once the proxy is asked to stop.
const GRACE: Duration = Duration::from_secs(4);

/// Everything a request needs.
pub struct Inner {
    pub upstream: Upstream,
    pub client: reqwest::Client,
    pub store: Store,
    pub secret: Secret,
    pub flights: Flights,
    pub stats: Counters,
    pub semantic: Option<Semantic>,
    pub gate: Gate,
    pub allowed: Allowed,
    pub own_key: Option<Key>,
    pub max_body_bytes: usize,
    pub replay_pace: Duration,
    pub in_flight: Arc<Semaphore>,
    pub started: Instant,
    /// True: nothing under way may go on.
    pub stop: watch::Sender<bool>,
}

impl Inner {
    /// Keeps an entry; what had to go for it is forgotten everywhere. Writes to the disk. Errors: a word.
    pub fn put(
        &self,
        key: super::identity::Key,
        payload: &[u8],
        question: Option<Vec<u8>>,
    ) -> Result<(), &'static str> {
        let gone = self.store.put(key, payload, question).map_err(|_| "store")?;
        if let Some(semantic) = &self.semantic {
            gone.iter().for_each(|key| semantic.forget(key));
        }
        bump(&self.stats.stored);
        Ok(())
    }

    /// Returns when nothing under way may go on.
    pub async fn stopped(&self) {
        // Cannot fail: the sender is ours.
        let _ = self.stop.subscribe().wait_for(|stop| *stop).await;
    }
}

/// Serves until `asked` returns; then lets answers under way come to their end for a while.
pub async fn run(inner: Arc<Inner>, listener: TcpListener, tls: Option<Tls>, asked: impl Future<Output = ()>) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let draining = watch::Sender::new(false);
    tokio::pin!(asked);
    loop {
        let accepted = tokio::select! {
            () = &mut asked => break,
            accepted = async {
                // Never closed.
                let slot = Arc::clone(&slots).acquire_owned().await;
                (listener.accept().await, slot)
            } => accepted,
        };
        match accepted {
            (Ok((stream, peer)), Ok(slot)) => {
                let _ = stream.set_nodelay(true);
                let (inner, drain, tls) = (Arc::clone(&inner), draining.subscribe(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => connection(inner, TokioIo::new(stream), peer, drain).await,
                        // Who does not greet in time, or not in this way, is not answered.
                        Some(tls) => {
                            if let Ok(Ok((stream, _))) = timeout(HEADER_TIMEOUT, tls.accept(stream)).await {
                                connection(inner, TokioIo::new(stream), peer, drain).await;
                            }
                        }
                    }
                    drop(slot);
                });
            }
            // No file handles left, or a client that has gone already.
            (Err(_), _) | (_, Err(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    drop(listener);
    draining.send_replace(true);
    let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
    let _ = timeout(GRACE, slots.acquire_many(all)).await;
    inner.stop.send_replace(true);
    let _ = timeout(Duration::from_millis(500), slots.acquire_many(all)).await;
}

async fn connection(
    inner: Arc<Inner>,
    io: TokioIo<impl AsyncRead + AsyncWrite + Unpin>,
    peer: SocketAddr,
    mut drain: watch::Receiver<bool>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let inner = Arc::clone(&inner);
        async move { Ok::<_, Infallible>(handle(inner, peer, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(64 << 10)
        .serve_connection(io, service);
    tokio::pin!(connection);
    tokio::select! {
        // Why a connection broke is its client's business.
        _ = connection.as_mut() => return,
        _ = drain.wait_for(|drain| *drain) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
