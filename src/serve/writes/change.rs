//! What is to be changed, and what became of it.

use std::collections::HashMap;

use crate::{
    index::{self, Room, Snapshot, SourceRecord, Writer},
    ingest::{Deposit, Deposited, Depositor},
    model::Embedder,
    serve::told::Told,
    types::SourceId,
};

/// One change of an index. It is done whole, and answered when it is durable.
pub struct Change {
    pub(super) work: Work,
    /// How much the index may hold for whoever asks.
    pub(super) room: Room,
}

pub(super) enum Work {
    Steps(Plan),
    Whole(Whole),
}

pub(super) type Plan = Box<dyn FnOnce(&View<'_>) -> Result<Vec<Step>, Told> + Send>;
pub(super) type Whole = Box<dyn FnOnce(&mut Writer, Option<&dyn Embedder>) -> Result<(), Told> + Send>;

/// A part of a change.
#[derive(Debug, Clone)]
pub enum Step {
    Put(Box<Deposit>),
    /// An id that names nothing is no error; what was removed is in [`Done`].
    Remove(SourceId),
}

impl Change {
    /// Puts a document in place of whatever has its name.
    pub fn put(deposit: Deposit) -> Self {
        Self::planned(move |_| Ok(vec![Step::Put(Box::new(deposit))]))
    }

    /// Removes sources.
    pub fn remove(ids: Vec<SourceId>) -> Self {
        Self::planned(move |_| Ok(ids.into_iter().map(Step::Remove).collect()))
    }

    /// Decides what to do when its turn has come, under the writer lock. If any of its steps
    /// cannot be read or embedded, none is done.
    pub fn planned(plan: impl FnOnce(&View<'_>) -> Result<Vec<Step>, Told> + Send + 'static) -> Self {
        Self { work: Work::Steps(Box::new(plan)), room: Room::default() }
    }

    /// Has the writer to itself, for work that commits on its own: the ingest of a folder. Others wait.
    pub fn whole(work: impl FnOnce(&mut Writer, Option<&dyn Embedder>) -> Result<(), Told> + Send + 'static) -> Self {
        Self { work: Work::Whole(Box::new(work)), room: Room::default() }
    }

    /// The same, and what it would put beyond is refused.
    pub fn within(self, room: Room) -> Self {
        Self { room, ..self }
    }
}

/// The index as a change finds it: the last commit, and what was changed since.
pub struct View<'a> {
    pub(super) writer: &'a Writer,
    pub(super) depositor: &'a Depositor,
}

impl View<'_> {
    /// The last commit. Changes that wait for the next are not in it.
    pub fn snapshot(&self) -> &Snapshot {
        self.writer.snapshot()
    }

    /// A source as the changes before left it.
    pub fn source(&self, id: SourceId) -> index::Result<Option<SourceRecord>> {
        self.depositor.source(self.writer, id)
    }

    /// Sources changed since the last commit; `None`: removed.
    pub fn pending(&self) -> &HashMap<SourceId, Option<SourceRecord>> {
        self.depositor.pending()
    }
}

/// A change that is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    pub generation: u64,
    /// What was put, in the order of the steps.
    pub put: Vec<(SourceRecord, Deposited)>,
    pub removed: Vec<SourceRecord>,
    /// Chunks whose vector the model made for it.
    pub embedded: u64,
    /// By its commit, which it may share with other changes.
    pub bytes_written: u64,
}
