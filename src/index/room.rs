//! How much an index may hold. What would go beyond is refused, source by source; what is there stays.

use super::{Error, Result, SourceRecord};

/// Limits of an index; absent: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    pub documents: Option<u64>,
    /// Of the documents as they came, [`SourceRecord::size_bytes`].
    pub bytes: Option<u64>,
}

impl Room {
    pub fn is_unlimited(&self) -> bool {
        self.documents.is_none() && self.bytes.is_none()
    }
}

/// What a writer holds, counted along with its changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    documents: u64,
    bytes: u64,
}

impl Held {
    pub(super) fn of<'a>(sources: impl Iterator<Item = &'a SourceRecord>) -> Self {
        sources.fold(Self::default(), |held, source| held.after(None, Some(source.size_bytes)))
    }

    /// With a source of a size in place of one, where there was one; `None`: it is gone.
    pub(super) fn after(self, old: Option<u64>, new: Option<u64>) -> Self {
        let count = |size: Option<u64>| u64::from(size.is_some());
        Self {
            documents: (self.documents + count(new)).saturating_sub(count(old)),
            bytes: self.bytes.saturating_add(new.unwrap_or(0)).saturating_sub(old.unwrap_or(0)),
        }
    }

    /// Errors: `Source` where this is more than there is room for, and more than there was before.
    pub(super) fn check(self, before: Self, room: Room, path: impl FnOnce() -> String) -> Result<()> {
        let is_over = |limit: Option<u64>, now: u64, then: u64| limit.filter(|limit| now > *limit && now > then);
        let what = match (
            is_over(room.documents, self.documents, before.documents),
            is_over(room.bytes, self.bytes, before.bytes),
        ) {
            (Some(limit), _) => format!("the quota is {limit} documents"),
            (None, Some(limit)) => format!("the quota is {limit} bytes"),
            (None, None) => return Ok(()),
        };
        Err(Error::Source { path: path(), what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_beyond_is_refused_and_what_shrinks_is_not() {
        let held = Held { documents: 2, bytes: 100 };
        let refused = |room: Room, old, new| held.after(old, new).check(held, room, String::new).is_err();
        let documents = Room { documents: Some(2), bytes: None };
        assert!(refused(documents, None, Some(1)));
        assert!(!refused(documents, Some(5), Some(500)), "one takes the place of another");
        let bytes = Room { documents: None, bytes: Some(90) };
        assert!(refused(bytes, Some(5), Some(6)));
        // A quota may be lowered below what is there.
        assert!(!refused(bytes, Some(50), Some(45)) && !refused(bytes, Some(50), None));
        assert!(!refused(Room::default(), None, Some(u64::MAX)));
        assert!(refused(Room { bytes: Some(u64::MAX - 1), ..Room::default() }, None, Some(u64::MAX)));
    }
}
