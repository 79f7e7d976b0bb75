//! What a door that knows its callers says along with each request of theirs.

use std::{fmt, sync::Arc};

use crate::index::Room;

/// Hears of each write of a call once it is durable: the tool, and the collection it wrote to.
pub type Wrote = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// How much a caller may store, and who hears of it. A door over HTTP puts it into the extensions of a request; where there
/// is none, nothing is limited and nobody hears.
#[derive(Clone, Default)]
pub struct Terms {
    /// Of the documents; memories have as much again.
    pub room: Room,
    pub wrote: Option<Wrote>,
}

impl fmt::Debug for Terms {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Terms").field("room", &self.room).finish_non_exhaustive()
    }
}
