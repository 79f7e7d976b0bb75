//! How much goes on at once: so many run, so many wait, and the rest is told to come again.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::failure::{Failure, Result};

/// Lets a number of requests in; a further number may wait at it.
#[derive(Debug)]
pub struct Gate {
    inside: Arc<Semaphore>,
    size: usize,
    waiting: AtomicUsize,
    most_waiting: usize,
}

/// A place inside; given back when it is dropped, wherever it was carried to.
#[derive(Debug)]
pub struct Place {
    _permit: OwnedSemaphorePermit,
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Gate {
    pub fn new(size: usize, most_waiting: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Self { inside: Arc::new(Semaphore::new(size)), size, waiting: AtomicUsize::new(0), most_waiting }
    }

    /// Waits for a place. Errors: `Busy` at once where too many wait already.
    pub async fn enter(&self) -> Result<Place> {
        self.enter_as(1).await
    }

    /// As [`enter`](Self::enter), by somebody who takes several places, and never more than there are.
    pub async fn enter_as(&self, places: u32) -> Result<Place> {
        let places = places.clamp(1, u32::try_from(self.size).unwrap_or(u32::MAX));
        if let Ok(permit) = Arc::clone(&self.inside).try_acquire_many_owned(places) {
            return Ok(Place { _permit: permit });
        }
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= self.most_waiting {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(Failure::busy());
        }
        let _waiting = Waiting(&self.waiting);
        let permit = Arc::clone(&self.inside).acquire_many_owned(places).await.map_err(|_| Failure::busy())?;
        Ok(Place { _permit: permit })
    }

    /// How many are inside, and how many wait.
    pub fn load(&self) -> (usize, usize) {
        (self.size.saturating_sub(self.inside.available_permits()), self.waiting.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn n06_what_cannot_wait_is_told_to_come_again() {
        let gate = Arc::new(Gate::new(1, 1));
        let first = gate.enter().await.unwrap();
        let second = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter().await.map(drop) }
        });
        while gate.load().1 == 0 {
            tokio::task::yield_now().await;
        }
        let third = gate.enter().await.unwrap_err();
        assert_eq!(third.kind.status(), 503);
        assert!(third.headers.iter().any(|(name, value)| name == "retry-after" && value == "1"));
        drop(first);
        second.await.unwrap().unwrap();
        assert_eq!(gate.load(), (0, 0));
    }

    #[tokio::test]
    async fn who_is_large_takes_several_places_and_never_more_than_there_are() {
        let gate = Arc::new(Gate::new(6, 4));
        let two = gate.enter_as(2).await.unwrap();
        let one = gate.enter_as(0).await.unwrap();
        assert_eq!(gate.load(), (3, 0), "nobody takes none");
        let large = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter_as(1000).await }
        });
        while gate.load().1 == 0 {
            tokio::task::yield_now().await;
        }
        drop((two, one));
        let large = large.await.unwrap().unwrap();
        assert_eq!(gate.load(), (6, 0));
        drop(large);
        assert_eq!(gate.load(), (0, 0));
    }
}
