//! Connections: accepting them, as many as there may be, and ending them in good order.
//!
//! When there are as many as may be, a new one takes the place of the one that has been doing nothing for longest, so that
//! sockets that only wait (N6) keep nobody out. One that has a request in flight is never closed for another.

mod connection;
mod patient;
mod tls;

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::Router;
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use self::connection::{Connections, serve};
use super::{guard::Peer, router::app, state::State};
pub use tls::Tls;

/// After an error of accepting (too many open files, mostly) there is a breath before the next try.
const BREATH: Duration = Duration::from_millis(50);

/// Where connections come from.
pub enum Listener {
    Tcp {
        listener: TcpListener,
        tls: Option<Tls>,
    },
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

/// Tells a running server to stop; clones tell the same one.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }
}

impl Stop {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// Whether an address can be reached from elsewhere than this machine.
pub fn is_open(address: &SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

/// Serves until it is told to stop; then takes no more connections and lets those that have a request in flight answer it,
/// for as long as the limits grant. Jobs are asked to commit what is whole. Says whether everything ended by itself.
pub async fn run(state: State, listeners: Vec<Listener>, stop: Stop) -> bool {
    let app = app(state.clone());
    let connections = Arc::new(Connections::new(state.options().limits.clone()));
    let mut accepting = JoinSet::new();
    for listener in listeners {
        accepting.spawn(accept(listener, app.clone(), Arc::clone(&connections), stop.0.subscribe()));
    }
    let mut stopped = stop.0.subscribe();
    // An error says that nobody can tell us any more.
    let _ = stopped.wait_for(|stopped| *stopped).await;
    state.options().cancel.ask();
    accepting.shutdown().await;
    let begun = Instant::now();
    let grace = state.options().limits.grace;
    let answered = async {
        while !connections.is_empty() && begun.elapsed() < grace {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // A job is told at once: somebody who listens for long must not take its time to commit.
    let ((), jobs_ended) = tokio::join!(answered, state.0.jobs.wait(grace));
    let left = grace.saturating_sub(begun.elapsed());
    let is_durable = tokio::task::spawn_blocking(move || state.close(left)).await.unwrap_or(false);
    connections.is_empty() && jobs_ended && is_durable
}

async fn accept(listener: Listener, app: Router, connections: Arc<Connections>, stop: watch::Receiver<bool>) {
    loop {
        match next(&listener).await {
            Ok(Incoming::Tcp(stream, peer, tls)) => {
                // A small answer is to be sent at once.
                let _ = stream.set_nodelay(true);
                let (app, connections, stop) = (app.clone(), Arc::clone(&connections), stop.clone());
                let connection = connections.open();
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, false, peer, app, connection, stop).await,
                        Some(tls) => {
                            let limit = connections.limits.header_timeout;
                            if let Ok(Ok((stream, is_h2))) = tokio::time::timeout(limit, tls.accept(stream)).await {
                                serve(stream, is_h2, peer, app, connection, stop).await;
                            }
                        }
                    }
                });
            }
            #[cfg(unix)]
            Ok(Incoming::Unix(stream)) => {
                let (app, connection, stop) = (app.clone(), connections.open(), stop.clone());
                tokio::spawn(serve(stream, false, Peer::Unix, app, connection, stop));
            }
            Err(error) => {
                if is_out_of_files(&error) {
                    connections.shed();
                }
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// Neither this process nor the system has an open file to give.
fn is_out_of_files(error: &io::Error) -> bool {
    // EMFILE and ENFILE, alike on every Unix.
    cfg!(unix) && matches!(error.raw_os_error(), Some(24 | 23))
}

enum Incoming {
    Tcp(tokio::net::TcpStream, Peer, Option<Tls>),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

async fn next(listener: &Listener) -> io::Result<Incoming> {
    match listener {
        Listener::Tcp { listener, tls } => {
            let (stream, peer) = listener.accept().await?;
            let local = stream.local_addr()?;
            Ok(Incoming::Tcp(stream, Peer::Tcp { peer, local }, tls.clone()))
        }
        #[cfg(unix)]
        Listener::Unix(listener) => Ok(Incoming::Unix(listener.accept().await?.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n01_what_is_open_to_others() {
        for (address, want) in [
            ("127.0.0.1:1", false),
            ("127.8.0.1:1", false),
            ("[::1]:1", false),
            ("[::ffff:127.0.0.1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
            ("192.168.0.2:1", true),
            ("[fe80::1]:1", true),
        ] {
            assert_eq!(is_open(&address.parse().unwrap()), want, "{address}");
        }
    }
}
