//! One answer under way, heard by everyone who asked for it: the first asks the server, the others listen to what comes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::{HeaderMap, StatusCode, body::Bytes};
use tokio::{sync::watch, time::Instant};

use super::{answer::Shape, identity::Key};

/// How long an answer that nobody listens to any more is waited for, so that what was paid is kept.
pub const LINGER: Duration = Duration::from_secs(30);

/// Status and headers of an answer.
#[derive(Debug, Clone)]
pub struct Head {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The length of the whole, where it is known.
    pub length: Option<u64>,
    /// The server failed, so that one of those who listen may try again.
    pub failed: bool,
}

/// Why there is no answer, or not all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// No connection, or none that lasted until the answer began.
    Unreachable(String),
    /// The server was silent for too long.
    TimedOut,
    /// The answer ended early.
    CutOff,
    TooLarge,
    /// The proxy ends.
    Stopped,
}

#[derive(Debug, Default)]
struct State {
    head: Option<Head>,
    parts: Vec<Bytes>,
    end: Option<Result<(), Broken>>,
}

/// An answer under way.
#[derive(Debug)]
pub struct Flight {
    pub shape: Shape,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    listeners: watch::Sender<usize>,
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Flight {
    pub fn new(shape: Shape) -> Arc<Self> {
        let (changed, listeners) = (watch::Sender::new(()), watch::Sender::new(0));
        Arc::new(Self { shape, state: Mutex::default(), changed, listeners })
    }

    pub fn begin(&self, head: Head) {
        hold(&self.state).head = Some(head);
        self.changed.send_replace(());
    }

    pub fn push(&self, part: Bytes) {
        if !part.is_empty() {
            hold(&self.state).parts.push(part);
            self.changed.send_replace(());
        }
    }

    /// Nothing comes any more. The first word counts.
    pub fn end(&self, how: Result<(), Broken>) {
        hold(&self.state).end.get_or_insert(how);
        self.changed.send_replace(());
    }

    pub fn listen(self: &Arc<Self>) -> Listener {
        self.listeners.send_modify(|count| *count += 1);
        Listener { changed: self.changed.subscribe(), flight: Arc::clone(self), heard: 0 }
    }

    /// Returns when nobody has listened for so long.
    pub async fn abandoned(&self, linger: Duration) {
        let mut listeners = self.listeners.subscribe();
        loop {
            // Cannot fail: the sender is ours.
            let _ = listeners.wait_for(|count| *count == 0).await;
            let until = Instant::now() + linger;
            if tokio::time::timeout_at(until, listeners.wait_for(|count| *count > 0)).await.is_err() {
                return;
            }
        }
    }
}

/// One who hears an answer from its beginning.
#[derive(Debug)]
pub struct Listener {
    flight: Arc<Flight>,
    changed: watch::Receiver<()>,
    heard: usize,
}

impl Listener {
    /// Status and headers, as soon as they are there.
    pub async fn head(&mut self) -> Result<Head, Broken> {
        loop {
            self.changed.borrow_and_update();
            {
                let state = hold(&self.flight.state);
                if let Some(head) = &state.head {
                    return Ok(head.clone());
                }
                if let Some(end) = &state.end {
                    return Err(end.clone().err().unwrap_or(Broken::CutOff));
                }
            }
            let _ = self.changed.changed().await;
        }
    }

    /// The next part as it came; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, Broken>> {
        loop {
            self.changed.borrow_and_update();
            {
                let state = hold(&self.flight.state);
                if let Some(part) = state.parts.get(self.heard) {
                    self.heard += 1;
                    return Some(Ok(part.clone()));
                }
                if let Some(end) = &state.end {
                    return end.clone().err().map(Err);
                }
            }
            let _ = self.changed.changed().await;
        }
    }

    /// Waits for the end, however it is.
    pub async fn ended(&mut self) {
        loop {
            self.changed.borrow_and_update();
            if hold(&self.flight.state).end.is_some() {
                return;
            }
            let _ = self.changed.changed().await;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.flight.listeners.send_modify(|count| *count -= 1);
    }
}

/// All answers under way.
#[derive(Debug, Default)]
pub struct Flights(Mutex<HashMap<Key, Arc<Flight>>>);

/// What one who asks finds.
#[derive(Debug)]
pub enum Joined {
    /// The answer has been kept in the meantime.
    Stored,
    /// Nobody asks: the caller does.
    First(Arc<Flight>, Listener),
    /// Somebody asks already.
    Along(Listener),
    /// Somebody asks already, for the same answer in another shape.
    OtherShape(Listener),
}

impl Flights {
    /// Joins those who wait for an answer. `is_stored` is asked under the lock, and an answer is stored before its flight is
    /// removed, so that no second request goes out beside the first.
    pub fn join(&self, key: Key, shape: Shape, is_stored: impl FnOnce() -> bool) -> Joined {
        let mut all = hold(&self.0);
        match all.get(&key) {
            Some(flight) if flight.shape == shape => Joined::Along(flight.listen()),
            Some(flight) => Joined::OtherShape(flight.listen()),
            None if is_stored() => Joined::Stored,
            None => {
                let flight = Flight::new(shape);
                let listener = flight.listen();
                all.insert(key, Arc::clone(&flight));
                Joined::First(flight, listener)
            }
        }
    }

    pub fn remove(&self, key: &Key, flight: &Arc<Flight>) {
        let mut all = hold(&self.0);
        if all.get(key).is_some_and(|there| Arc::ptr_eq(there, flight)) {
            all.remove(key);
        }
    }

    pub fn len(&self) -> usize {
        hold(&self.0).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { stream: true, usage: false };

    #[tokio::test]
    async fn everyone_hears_everything_from_the_beginning() {
        let flights = Flights::default();
        let Joined::First(flight, mut first) = flights.join([1; 32], SHAPE, || false) else { panic!("not the first") };
        flight.push(Bytes::from_static(b"a"));
        let Joined::Along(mut second) = flights.join([1; 32], SHAPE, || true) else { panic!("not along") };
        let other = flights.join([1; 32], Shape { stream: false, usage: false }, || false);
        assert!(matches!(other, Joined::OtherShape(_)));
        flight.begin(Head { status: StatusCode::OK, headers: HeaderMap::new(), length: None, failed: false });
        flight.push(Bytes::from_static(b"b"));
        flight.end(Ok(()));
        flight.end(Err(Broken::CutOff));
        for listener in [&mut first, &mut second] {
            assert_eq!(listener.head().await.unwrap().status, StatusCode::OK);
            let mut heard = Vec::new();
            while let Some(part) = listener.next().await {
                heard.extend_from_slice(&part.unwrap());
            }
            assert_eq!(heard, b"ab");
        }
        flights.remove(&[1; 32], &flight);
        assert!(matches!(flights.join([1; 32], SHAPE, || true), Joined::Stored));
    }

    #[tokio::test]
    async fn an_answer_without_listeners_is_waited_for_a_while() {
        let flight = Flight::new(SHAPE);
        let first = flight.listen();
        let second = flight.listen();
        let abandoned = flight.abandoned(Duration::from_millis(1));
        tokio::pin!(abandoned);
        drop(first);
        // Somebody listens, however long it takes.
        let early = tokio::time::timeout(Duration::from_millis(30), &mut abandoned).await;
        assert!(early.is_err());
        drop(second);
        abandoned.await;
    }
}
