//! Ingests that a client started and does not wait for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    ingest::{self, Event, Report},
    serve::{
        api::{self, ErrorDetail},
        wire,
    },
    types::Cancel,
};

/// Jobs that are over and still told of; the oldest are forgotten.
const REMEMBERED: usize = 256;
/// Jobs that run or wait for their turn.
const MAX_WAITING: usize = 32;

/// All jobs of this process.
#[derive(Debug, Default)]
pub struct Jobs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    next: u64,
    jobs: BTreeMap<u64, Arc<Job>>,
}

/// One ingest.
#[derive(Debug)]
pub struct Job {
    pub id: u64,
    /// Whose it is: nobody else hears of it.
    pub tenant: Option<String>,
    /// What it writes to.
    pub collection: String,
    pub cancel: Cancel,
    pub counts: Counts,
    state: Mutex<Phase>,
}

/// What happened so far.
#[derive(Debug, Default)]
pub struct Counts {
    found: AtomicU64,
    found_bytes: AtomicU64,
    /// One more than what is planned; 0: not known yet.
    planned: AtomicU64,
    done: AtomicU64,
    chunks: AtomicU64,
    embedded: AtomicU64,
    /// One more than the generation; 0: nothing committed.
    generation: AtomicU64,
}

#[derive(Debug, Clone)]
enum Phase {
    Queued,
    Running,
    Done(Box<wire::IngestReport>),
    Failed(ErrorDetail),
    Cancelled(Option<Box<wire::IngestReport>>),
}

impl ingest::Observer for Counts {
    fn event(&self, event: Event<'_>) {
        let order = Ordering::Relaxed;
        match event {
            Event::Found { sources, bytes } => {
                self.found.store(sources, order);
                self.found_bytes.store(bytes, order);
            }
            Event::Planned { sources, .. } => self.planned.store(sources + 1, order),
            Event::Chunked { chunks, .. } => {
                self.chunks.fetch_add(chunks, order);
            }
            Event::Embedded { chunks } => {
                self.embedded.fetch_add(chunks, order);
            }
            Event::Done { .. } => {
                self.done.fetch_add(1, order);
            }
            Event::Committed { generation } => self.generation.store(generation + 1, order),
            Event::Started { .. } | Event::Slow { .. } | Event::Failed { .. } => {}
        }
    }
}

impl Jobs {
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a new job; `None`: too many wait.
    pub fn begin(&self, tenant: Option<String>, collection: String) -> Option<Arc<Job>> {
        let mut known = self.lock();
        if known.jobs.values().filter(|job| !job.is_over()).count() >= MAX_WAITING {
            return None;
        }
        while known.jobs.len() >= REMEMBERED {
            let oldest = known.jobs.iter().find(|(_, job)| job.is_over()).map(|(id, _)| *id);
            oldest.and_then(|id| known.jobs.remove(&id));
        }
        known.next += 1;
        let id = known.next;
        let job = Arc::new(Job {
            id,
            tenant,
            collection,
            cancel: Cancel::default(),
            counts: Counts::default(),
            state: Mutex::new(Phase::Queued),
        });
        known.jobs.insert(id, Arc::clone(&job));
        Some(job)
    }

    /// A job of a tenant.
    pub fn find(&self, id: &str, tenant: Option<&str>) -> Option<Arc<Job>> {
        let job = self.lock().jobs.get(&id.parse().ok()?).cloned()?;
        (job.tenant.as_deref() == tenant).then_some(job)
    }

    /// Asks all jobs to commit what is whole and end, and waits for that, but no longer than told. Says whether they did.
    pub async fn wait(&self, at_most: Duration) -> bool {
        let begun = Instant::now();
        let jobs: Vec<Arc<Job>> = self.lock().jobs.values().cloned().collect();
        jobs.iter().for_each(|job| job.cancel.ask());
        loop {
            if jobs.iter().all(|job| job.is_over()) {
                return true;
            }
            if begun.elapsed() >= at_most {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Job {
    fn phase(&self) -> Phase {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn enter(&self, phase: Phase) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    fn is_over(&self) -> bool {
        !matches!(self.phase(), Phase::Queued | Phase::Running)
    }

    pub fn run(&self) {
        self.enter(Phase::Running);
    }

    pub fn end(&self, result: Result<(Report, Option<String>), ErrorDetail>) {
        self.enter(match result {
            Ok((report, embedder)) => {
                let interrupted = report.interrupted;
                let report = Box::new(wire::IngestReport::new(&report, embedder));
                if interrupted { Phase::Cancelled(Some(report)) } else { Phase::Done(report) }
            }
            Err(_) if self.cancel.is_asked() => Phase::Cancelled(None),
            Err(error) => Phase::Failed(error),
        });
    }

    /// How it stands.
    pub fn wire(&self) -> api::Job {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (state, report, error) = match self.phase() {
            Phase::Queued => ("queued", None, None),
            Phase::Running => ("running", None, None),
            Phase::Done(report) => ("done", Some(*report), None),
            Phase::Failed(error) => ("failed", None, Some(error)),
            Phase::Cancelled(report) => ("cancelled", report.map(|report| *report), None),
        };
        api::Job {
            schema: "rag.job/1".to_owned(),
            id: self.id.to_string(),
            state: state.to_owned(),
            found: read(&self.counts.found),
            found_bytes: read(&self.counts.found_bytes),
            planned: read(&self.counts.planned).checked_sub(1),
            done: read(&self.counts.done),
            chunks: read(&self.counts.chunks),
            embedded: read(&self.counts.embedded),
            generation: read(&self.counts.generation).checked_sub(1),
            report,
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn jobs_are_their_tenants_alone_and_end_when_asked() {
        let jobs = Jobs::default();
        let job = jobs.begin(Some("acme".into()), "default".into()).unwrap();
        let id = job.id.to_string();
        assert!(jobs.find(&id, Some("acme")).is_some());
        assert!(jobs.find(&id, None).is_none() && jobs.find(&id, Some("other")).is_none());
        assert!(jobs.find("99", Some("acme")).is_none() && jobs.find("x", Some("acme")).is_none());
        assert!(!jobs.wait(Duration::from_millis(1)).await, "it runs still");
        assert!(job.cancel.is_asked());
        job.end(Ok((Report { interrupted: true, ..Report::default() }, None)));
        assert!(jobs.wait(Duration::ZERO).await);
        assert_eq!(job.wire().state, "cancelled");
    }

    #[test]
    fn too_many_jobs_are_refused_and_old_ones_forgotten() {
        let jobs = Jobs::default();
        let running: Vec<_> = (0..MAX_WAITING).map(|_| jobs.begin(None, "default".into()).unwrap()).collect();
        assert!(jobs.begin(None, "default".into()).is_none());
        running.iter().for_each(|job| job.end(Ok((Report::default(), None))));
        for _ in 0..2 * REMEMBERED {
            jobs.begin(None, "default".into()).unwrap().end(Ok((Report::default(), None)));
        }
        assert!(jobs.lock().jobs.len() <= REMEMBERED);
    }
}
