//! How long a connection is waited for: the head of a request, the next request, a client that takes its answer.
//!
//! While a request is in flight nothing here waits for the client to send: its body has limits of its own, and a client
//! may well be silent while it gets its answer.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

use super::{super::options::Limits, connection::Life};

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first byte of the next request.
    Idle,
    /// The rest of its head.
    Head,
    /// Nothing: a request is in flight.
    Busy,
}

/// See the module.
pub struct Patient<S> {
    stream: S,
    life: Arc<Life>,
    phase: Phase,
    reading: Pin<Box<Sleep>>,
    /// Runs while the client takes nothing.
    writing: Option<Pin<Box<Sleep>>>,
    head: Duration,
    idle: Duration,
    stalled: Duration,
    /// Frames of HTTP/2 are no heads of requests.
    is_h2: bool,
}

impl<S> Patient<S> {
    pub fn new(stream: S, life: Arc<Life>, limits: &Limits, is_h2: bool) -> Self {
        Self {
            stream,
            life,
            // A new connection has no longer for its first request than for the head of one.
            phase: Phase::Head,
            reading: Box::pin(tokio::time::sleep(limits.header_timeout)),
            writing: None,
            head: limits.header_timeout,
            idle: limits.keep_alive,
            stalled: limits.idle_timeout,
            is_h2,
        }
    }

    fn enter(&mut self, phase: Phase, wait: Duration) {
        self.phase = phase;
        self.reading.as_mut().reset(Instant::now() + wait);
    }

    /// Takes note of what came.
    fn came(&mut self) {
        match self.phase {
            _ if self.life.is_busy() => self.phase = Phase::Busy,
            Phase::Idle | Phase::Busy if self.is_h2 => self.enter(Phase::Idle, self.idle),
            Phase::Idle | Phase::Busy => self.enter(Phase::Head, self.head),
            // It has as long as it has, however slowly it comes.
            Phase::Head if self.is_h2 => self.enter(Phase::Idle, self.idle),
            Phase::Head => {}
        }
    }
}

fn late(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Poll::Ready(result) = Pin::new(&mut self.stream).poll_read(context, buffer) {
            if buffer.filled().len() > before {
                self.came();
            }
            return Poll::Ready(result);
        }
        if self.life.watch_busy(context) {
            self.phase = Phase::Busy;
            return Poll::Pending;
        }
        if self.phase == Phase::Busy {
            let idle = self.idle;
            self.enter(Phase::Idle, idle);
        }
        ready!(self.reading.as_mut().poll(context));
        Poll::Ready(Err(late("no request came in time")))
    }
}

impl<S: AsyncWrite + Unpin> Patient<S> {
    /// Gives up on a client that takes nothing.
    fn progressed<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.writing = None;
            return done;
        }
        let stalled = self.stalled;
        let timer = self.writing.get_or_insert_with(|| Box::pin(tokio::time::sleep(stalled)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(late("the client does not take its answer")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.progressed(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.progressed(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(context);
        self.progressed(context, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_shutdown(context);
        self.progressed(context, done)
    }
}
