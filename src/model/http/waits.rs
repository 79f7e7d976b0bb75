//! Who is told that a request waits to be sent again: a pause of seconds looks like a program that hangs.

use std::{fmt, sync::Arc, time::Duration};

/// A request that is going to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait<'a> {
    /// The endpoint, as people may see it.
    pub url: &'a str,
    pub why: Why,
    pub pause: Duration,
    /// Which try comes after the pause, the first request counting as 1, and how many there are at most.
    pub next: u32,
    pub of: u32,
}

/// Why a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The server answered this.
    Status(u16),
    /// The connection, or the answer, broke.
    Lost,
    /// The server says that it is not ready; it is asked again for as long as a first byte may take.
    Loading,
}

type Tell = dyn Fn(&Wait<'_>) + Send + Sync;

/// Hears of each pause before it begins, from the thread that waits; nobody unless given.
#[derive(Clone, Default)]
pub struct Waits(Option<Arc<Tell>>);

impl Waits {
    pub fn new(tell: impl Fn(&Wait<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    pub(super) fn tell(&self, wait: &Wait<'_>) {
        if let Some(tell) = &self.0 {
            tell(wait);
        }
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Waits(told)" } else { "Waits(silent)" })
    }
}
