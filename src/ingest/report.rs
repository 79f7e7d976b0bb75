//! What a run did, source by source, and what it tells while it runs.

use crate::index::Problem;

/// What became of one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Display path.
    pub path: String,
    /// Why it failed, was skipped, or is doubtful.
    pub problems: Vec<Problem>,
    /// Chunks it has now.
    pub chunks: u32,
    /// `moved`: where it was.
    pub from: Option<String>,
}

/// What a run did. Every source seen is in exactly one of the lists up to `failed`; `warnings` names sources again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub added: Vec<Outcome>,
    pub updated: Vec<Outcome>,
    pub unchanged: Vec<Outcome>,
    pub moved: Vec<Outcome>,
    pub removed: Vec<Outcome>,
    /// Left alone on purpose: too large, binary, not a regular file. (What ignore rules hide is only counted.)
    pub skipped: Vec<Outcome>,
    /// Failed now, or failed before and unchanged since: a failure that stands is named again.
    pub failed: Vec<Outcome>,
    pub warnings: Vec<Outcome>,
    /// Entries hidden by ignore rules, hidden names and patterns.
    pub ignored: u64,
    pub chunks_written: u64,
    pub chunks_embedded: u64,
    /// Chunks whose vector was reused.
    pub chunks_reused: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Of the last commit; the one found if nothing was written.
    pub generation: u64,
    pub interrupted: bool,
    pub dry_run: bool,
    /// Of a dry run: how long the real one would take, judged by a sample.
    pub estimated_seconds: Option<f64>,
    pub seconds: f64,
}

/// What happens, as it happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// The walk goes on: sources and bytes found so far.
    Found {
        sources: u64,
        bytes: u64,
    },
    /// The walk and the plan are done: so many sources (and bytes) have to be read. `Done` comes for each of them.
    Planned {
        sources: u64,
        bytes: u64,
    },
    /// A source is being read.
    Started {
        path: &'a str,
    },
    /// A source has been running for long.
    Slow {
        path: &'a str,
        seconds: u64,
    },
    /// A source is extracted and cut; its vectors may be missing still.
    Chunked {
        path: &'a str,
        chunks: u64,
        /// Texts that were handed to the model for it: `Embedded` comes for each of them.
        to_embed: u64,
        bytes: u64,
    },
    /// Chunks got their vectors.
    Embedded {
        chunks: u64,
    },
    /// A source failed or was skipped. Not a count: it comes for each problem, and for sources that are not read too.
    Failed {
        path: &'a str,
        problem: &'a Problem,
    },
    /// A source that has to be read needs nothing more: it is part of the next commit, or failed, or stands. Exactly once
    /// for each source that `Planned` counted, after its other events; none for those that a stop or an error left undone.
    Done {
        path: &'a str,
    },
    Committed {
        generation: u64,
    },
}

/// Gets the events of a run, from any thread.
pub trait Observer: Sync {
    fn event(&self, event: Event<'_>);
}

impl<F: Fn(Event<'_>) + Sync> Observer for F {
    fn event(&self, event: Event<'_>) {
        self(event);
    }
}

impl Report {
    /// This run and one after it that saw the same sources, as one. What the later one found unchanged or failed as this
    /// one left it is not listed again.
    pub fn followed_by(mut self, mut later: Self) -> Self {
        let seen: std::collections::HashSet<&str> =
            [&self.added, &self.updated, &self.moved, &self.failed, &self.skipped]
                .into_iter()
                .flatten()
                .map(|outcome| outcome.path.as_str())
                .collect();
        for list in [&mut later.unchanged, &mut later.failed, &mut later.skipped] {
            list.retain(|outcome| !seen.contains(outcome.path.as_str()));
        }
        let warned: std::collections::HashSet<&str> =
            self.warnings.iter().map(|outcome| outcome.path.as_str()).collect();
        later.warnings.retain(|outcome| !warned.contains(outcome.path.as_str()));
        drop((seen, warned));
        self.generation = later.generation;
        self.interrupted |= later.interrupted;
        self.dry_run = later.dry_run;
        self.estimated_seconds = later.estimated_seconds;
        self.seconds += later.seconds;
        self.append(later);
        self.sort();
        self
    }

    /// Adds what another report counts and lists. Generation, flags and time stay.
    pub(super) fn append(&mut self, mut other: Report) {
        let lists = [
            (&mut self.added, &mut other.added),
            (&mut self.updated, &mut other.updated),
            (&mut self.unchanged, &mut other.unchanged),
            (&mut self.moved, &mut other.moved),
            (&mut self.removed, &mut other.removed),
            (&mut self.skipped, &mut other.skipped),
            (&mut self.failed, &mut other.failed),
            (&mut self.warnings, &mut other.warnings),
        ];
        for (list, more) in lists {
            list.append(more);
        }
        self.ignored += other.ignored;
        self.chunks_written += other.chunks_written;
        self.chunks_embedded += other.chunks_embedded;
        self.chunks_reused += other.chunks_reused;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }

    /// Puts every list in the order of its paths: files are done in whatever order they are ready.
    pub(super) fn sort(&mut self) {
        let lists = [
            &mut self.added,
            &mut self.updated,
            &mut self.unchanged,
            &mut self.moved,
            &mut self.removed,
            &mut self.skipped,
            &mut self.failed,
            &mut self.warnings,
        ];
        for list in lists {
            list.sort_by(|a, b| a.path.cmp(&b.path));
        }
    }
}
