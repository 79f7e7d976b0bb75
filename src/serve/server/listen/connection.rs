//! One connection: HTTP over whatever carries it, counted, and closed when the server stops or needs its place.

use std::{
    collections::HashMap,
    convert::Infallible,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use axum::{Router, body::Body};
use hyper::{
    Request, Response,
    body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Notify, watch},
};
use tower::ServiceExt as _;

use super::{super::guard::Peer, super::options::Limits, patient::Patient};

/// Header fields of a request.
const MAX_HEADERS: usize = 100;
/// Requests of one HTTP/2 connection at once.
const MAX_STREAMS: u32 = 64;
/// Resets of one HTTP/2 connection that may be pending: a rapid reset attack ends the connection.
const MAX_RESETS: usize = 32;

/// All open connections.
pub struct Connections {
    pub limits: Limits,
    open: Mutex<HashMap<u64, Arc<Life>>>,
    next: AtomicU64,
}

/// What is known of a connection while it lives.
#[derive(Debug)]
pub struct Life {
    /// Requests in flight, answers that are being sent among them.
    busy: AtomicUsize,
    /// Since when nothing is in flight.
    idle_since: Mutex<Instant>,
    close: Notify,
    /// The task that saw it busy: it has to look again when it is not, to begin to count the time.
    watcher: Mutex<Option<Waker>>,
}

impl Life {
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst) > 0
    }

    /// As [`is_busy`](Self::is_busy); if so, the task is woken when it changes.
    pub fn watch_busy(&self, context: &Context<'_>) -> bool {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let is_busy = self.is_busy();
        *watcher = is_busy.then(|| context.waker().clone());
        is_busy
    }
}

/// An open connection; when it is dropped its place is free.
pub struct Connection {
    id: u64,
    life: Arc<Life>,
    all: Arc<Connections>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
    }
}

impl Connections {
    pub fn new(limits: Limits) -> Self {
        Self { limits, open: Mutex::default(), next: AtomicU64::new(0) }
    }

    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Life>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place; where all are taken, that of the connection that has done nothing for longest. If none is idle, there
    /// is one more than there may be: it is told to come again by the gates.
    pub fn open(self: &Arc<Self>) -> Connection {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let life = Arc::new(Life {
            busy: AtomicUsize::new(0),
            idle_since: Mutex::new(Instant::now()),
            watcher: Mutex::new(None),
            close: Notify::new(),
        });
        let mut open = self.lock();
        if open.len() >= self.limits.connections {
            close_idlest(&mut open);
        }
        open.insert(id, Arc::clone(&life));
        Connection { id, life, all: Arc::clone(self) }
    }

    /// Closes the connection that has done nothing for longest, if any is idle: something else needs what it holds.
    pub fn shed(&self) {
        close_idlest(&mut self.lock());
    }
}

fn close_idlest(open: &mut HashMap<u64, Arc<Life>>) {
    let since = |life: &Life| *life.idle_since.lock().unwrap_or_else(PoisonError::into_inner);
    let idlest = open.iter().filter(|(_, life)| !life.is_busy()).min_by_key(|(_, life)| since(life));
    if let Some(id) = idlest.map(|(id, _)| *id)
        && let Some(life) = open.remove(&id)
    {
        life.close.notify_one();
    }
}

/// A request in flight, until its answer is sent.
struct Busy(Arc<Life>);

impl Busy {
    fn new(life: &Arc<Life>) -> Self {
        life.busy.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(life))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        *self.0.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        if let Some(watcher) = self.0.watcher.lock().unwrap_or_else(PoisonError::into_inner).take() {
            watcher.wake();
        }
    }
}

/// The body of an answer, which keeps its connection busy.
struct Sending {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Serves one connection until it ends.
pub async fn serve<S>(
    stream: S,
    is_h2: bool,
    peer: Peer,
    app: Router,
    connection: Connection,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = connection.all.limits.clone();
    let life = Arc::clone(&connection.life);
    let io = TokioIo::new(Patient::new(stream, Arc::clone(&life), &limits, is_h2));
    let of_service = Arc::clone(&life);
    let service = service_fn(move |request: Request<Incoming>| {
        let busy = Busy::new(&of_service);
        let app = app.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        async move {
            let response = app.oneshot(request).await.unwrap_or_else(|never: Infallible| match never {});
            Ok::<Response<Sending>, Infallible>(response.map(|body| Sending { body, _busy: busy }))
        }
    });
    // Each waits for whichever comes first: the end of the connection, the end of the server, somebody who needs the place.
    macro_rules! drive {
        ($connection:expr) => {{
            let mut driven = pin!($connection);
            let mut is_stopping = false;
            loop {
                tokio::select! {
                    _ = driven.as_mut() => break,
                    _ = stop.wait_for(|stopped| *stopped), if !is_stopping => {
                        is_stopping = true;
                        driven.as_mut().graceful_shutdown();
                    }
                    () = life.close.notified() => break,
                }
            }
        }};
    }
    if is_h2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_pending_accept_reset_streams(MAX_RESETS)
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .keep_alive_interval(limits.idle_timeout)
            .keep_alive_timeout(Duration::from_secs(10));
        drive!(builder.serve_connection(io, service));
    } else {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            // `Patient` tells the head of a request from a connection that is kept alive.
            .header_read_timeout(None)
            .max_headers(MAX_HEADERS)
            .max_header_size(limits.header_bytes);
        drive!(builder.serve_connection(io, service));
    }
    drop(connection);
}
