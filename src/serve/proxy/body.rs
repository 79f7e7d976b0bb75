//! Bodies in and out: read with limits, piped part by part, replayed from memory.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// How long the next part of a request's body is waited for.
pub const BODY_IDLE: Duration = Duration::from_secs(30);
/// What is read of a refused body, and for how long.
const DRAINED_BYTES: usize = 64 << 20;
const DRAINED_FOR: Duration = Duration::from_secs(5);
/// Parts that wait for a slow reader.
const QUEUE: usize = 8;

pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// A body that is in memory, or comes from a task.
#[derive(Debug)]
pub struct Piped {
    source: Source,
    /// The length of the whole, where it is known.
    left: Option<u64>,
    /// Held until the body is through.
    _permit: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
enum Source {
    Memory(VecDeque<Bytes>),
    Task(mpsc::Receiver<Result<Bytes, Failed>>),
}

impl Piped {
    /// Parts from memory, each sent by itself.
    pub fn parts(parts: Vec<Bytes>, permit: Option<OwnedSemaphorePermit>) -> Self {
        let length = match parts.as_slice() {
            [] => Some(0),
            [one] => Some(one.len() as u64),
            _ => None,
        };
        Self { source: Source::Memory(parts.into()), left: length, _permit: permit }
    }

    /// Parts from a task, through the sender.
    pub fn channel(
        length: Option<u64>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> (mpsc::Sender<Result<Bytes, Failed>>, Self) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (sender, Self { source: Source::Task(receiver), left: length, _permit: permit })
    }
}

impl Body for Piped {
    type Data = Bytes;
    type Error = Failed;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failed>>> {
        let next = match &mut self.source {
            Source::Memory(parts) => parts.pop_front().map(Ok),
            Source::Task(receiver) => match receiver.poll_recv(cx) {
                Poll::Ready(next) => next,
                Poll::Pending => return Poll::Pending,
            },
        };
        if let (Some(left), Some(Ok(part))) = (&mut self.left, &next) {
            *left = left.saturating_sub(part.len() as u64);
        }
        Poll::Ready(next.map(|part| part.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0) || matches!(&self.source, Source::Memory(parts) if parts.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Why a request's body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLarge,
    TooSlow,
    Broken,
}

/// The next part of a body; `None` at its end. Trailers are passed over.
pub async fn next<B>(body: &mut B) -> Option<Result<Bytes, Unread>>
where
    B: Body<Data = Bytes> + Unpin,
{
    loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
        return match tokio::time::timeout(BODY_IDLE, frame).await {
            Err(_) => Some(Err(Unread::TooSlow)),
            Ok(None) => None,
            Ok(Some(Err(_))) => Some(Err(Unread::Broken)),
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) if data.is_empty() => continue,
                Ok(data) => Some(Ok(data)),
                Err(_) => continue,
            },
        };
    }
}

/// Reads on for a while and forgets it: who is still sending hears a refusal only if nobody hangs up meanwhile.
pub async fn drain<B>(mut body: B)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut left = DRAINED_BYTES;
    let reading = async {
        while let Some(Ok(part)) = next(&mut body).await {
            left = left.saturating_sub(part.len());
            if left == 0 {
                return;
            }
        }
    };
    // However far it came.
    let _ = tokio::time::timeout(DRAINED_FOR, reading).await;
}

/// A whole body of at most `limit` bytes.
pub async fn read<B>(body: &mut B, limit: usize) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let mut parts: Vec<Bytes> = Vec::new();
    let mut length = 0usize;
    while let Some(part) = next(body).await {
        let part = part?;
        length += part.len();
        if length > limit {
            return Err(Unread::TooLarge);
        }
        parts.push(part);
    }
    Ok(match parts.pop() {
        None => Bytes::new(),
        Some(one) if parts.is_empty() => one,
        Some(last) => {
            parts.push(last);
            parts.concat().into()
        }
    })
}
