//! An answer that is made while it is sent: events of a stream, from the thread that makes them to the connection.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, Response, header},
};
use hyper::body::Frame;
use serde::Serialize;
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep},
};

/// Events that wait for a slow client before the thread that makes them waits too.
const WAITING: usize = 64;
/// A comment is sent when there was nothing else for so long, so that nobody between takes the connection for dead.
const SILENCE: Duration = Duration::from_secs(15);

/// Where events go in.
#[derive(Debug, Clone)]
pub struct Events(mpsc::Sender<Bytes>);

impl Events {
    /// Sends an event from a thread that may block. False: nobody is there any more.
    pub fn send(&self, name: Option<&str>, data: &impl Serialize) -> bool {
        let Ok(data) = serde_json::to_string(data) else { return false };
        self.send_text(name, &data)
    }

    pub fn send_text(&self, name: Option<&str>, data: &str) -> bool {
        let mut text = String::new();
        if let Some(name) = name {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {data}\n\n"));
        self.0.blocking_send(Bytes::from(text)).is_ok()
    }
}

struct Channel {
    events: mpsc::Receiver<Bytes>,
    silence: Pin<Box<Sleep>>,
}

impl hyper::body::Body for Channel {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Poll::Ready(event) = self.events.poll_recv(context) {
            self.silence.as_mut().reset(Instant::now() + SILENCE);
            return Poll::Ready(event.map(|event| Ok(Frame::data(event))));
        }
        if self.silence.as_mut().poll(context).is_ready() {
            self.silence.as_mut().reset(Instant::now() + SILENCE);
            // It has to be polled again to be woken for the next time.
            context.waker().wake_by_ref();
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": \n\n")))));
        }
        Poll::Pending
    }
}

/// A response of server-sent events, and where they go in. It ends when every [`Events`] is dropped.
pub fn events() -> (Events, Response<Body>) {
    let (send, receive) = mpsc::channel(WAITING);
    let silence = Box::pin(tokio::time::sleep(SILENCE));
    let mut response = Response::new(Body::new(Channel { events: receive, silence }));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    (Events(send), response)
}
