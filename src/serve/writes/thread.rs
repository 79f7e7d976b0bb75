//! The thread that writes: gathers what waits, does it, commits once, answers.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::Receiver,
    },
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::{
    Open, WritesOptions,
    change::{Done, Plan, Step, View, Whole, Work},
};
use crate::{
    index::{Error, Room, SourceRecord, Writer, WriterOptions},
    ingest::{Deposited, Depositor, Prepared},
    model::Embedder,
    serve::told::Told,
    types::{Cancel, Kind, SourceId},
};

/// More changes never share a commit.
const MAX_BATCH: usize = 256;
/// The longest that a change waits for others, however long commits take.
const MAX_WINDOW: Duration = Duration::from_millis(200);
/// The lock is let go after so long, even if changes keep coming.
const MAX_HOLD: Duration = Duration::from_secs(2);
/// For so long: another process looks every 50 ms.
const BREATH: Duration = Duration::from_millis(120);
/// How often a wait for the lock looks whether the server is being stopped.
const SLICE: Duration = Duration::from_millis(100);
/// What waits for the lock while the server is stopped waits no longer than this.
const LAST_WAIT: Duration = Duration::from_millis(700);

/// A change in the queue.
pub struct Job {
    pub work: Work,
    pub room: Room,
    pub reply: oneshot::Sender<Result<Done, Told>>,
    pub since: Instant,
}

/// What the thread owns.
pub struct Worker {
    depositor: Depositor,
    writer: WriterOptions,
    open: Open,
    closing: Arc<AtomicBool>,
    cancel: Cancel,
    /// What the last commit took: how long it is worth waiting for company.
    commit_cost: Duration,
}

type Reply = oneshot::Sender<Result<Done, Told>>;
/// A plan, and how much the index may hold for whoever made it.
type Bounded = (Plan, Room);

impl Worker {
    pub fn new(options: WritesOptions, open: Open, closing: Arc<AtomicBool>, cancel: Cancel) -> Self {
        let WritesOptions { deposit, writer, .. } = options;
        let depositor = Depositor::new(deposit);
        Self { depositor, writer, open, closing, cancel, commit_cost: Duration::ZERO }
    }

    /// Serves the queue until it is closed and empty.
    pub fn run(&mut self, jobs: &Receiver<Job>) {
        let mut next: Option<Job> = None;
        loop {
            let Some(first) = next.take().or_else(|| jobs.recv().ok()) else { return };
            let (mut writer, embedder) = match self.take_lock(first.since) {
                Ok(taken) => taken,
                Err(told) => {
                    let _ = first.reply.send(Err(told));
                    continue;
                }
            };
            let held = Instant::now();
            next = Some(first);
            while let Some(job) = next.take() {
                let is_sound = match job.work {
                    Work::Whole(work) => self.whole(&mut writer, embedder.as_deref(), (work, job.room), job.reply),
                    Work::Steps(plan) => {
                        let (plans, replies, other) = self.gather((plan, job.room), job.reply, jobs);
                        next = other;
                        self.batch(&mut writer, embedder.as_deref(), plans, replies)
                    }
                };
                if !is_sound {
                    break;
                }
                next = next.or_else(|| jobs.try_recv().ok());
                if next.is_some() && held.elapsed() >= MAX_HOLD {
                    drop(writer);
                    std::thread::sleep(BREATH);
                    break;
                }
            }
        }
    }

    /// Opens the index and takes its lock. A change waits from when it came, not from when its turn came.
    fn take_lock(&mut self, since: Instant) -> Result<(Writer, Option<Arc<dyn Embedder>>), Told> {
        let (index, embedder) = (self.open)()?;
        let mut closing = None;
        loop {
            match index.writer(&WriterOptions { wait: SLICE, ..self.writer.clone() }) {
                Ok(writer) => return Ok((writer, embedder)),
                Err(error @ Error::Locked { .. }) => {
                    if self.closing.load(Ordering::SeqCst) {
                        closing.get_or_insert_with(Instant::now);
                    }
                    let is_late = closing.is_some_and(|since| since.elapsed() >= LAST_WAIT);
                    if is_late || since.elapsed() >= self.writer.wait {
                        return Err(Told::from(error).hint("nothing was changed; try again when that has ended"));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Everything that waits now, and, if that is more than one, what comes within the window. What has to have the writer
    /// to itself is handed back.
    fn gather(&self, first: Bounded, reply: Reply, jobs: &Receiver<Job>) -> (Vec<Bounded>, Vec<Reply>, Option<Job>) {
        let (mut plans, mut replies) = (vec![first], vec![reply]);
        let began = Instant::now();
        let window = self.commit_cost.min(MAX_WINDOW);
        while plans.len() < MAX_BATCH {
            let left = window.saturating_sub(began.elapsed());
            let job = match jobs.try_recv() {
                Ok(job) => job,
                Err(_) if plans.len() == 1 || left.is_zero() => break,
                Err(_) => match jobs.recv_timeout(left) {
                    Ok(job) => job,
                    Err(_) => break,
                },
            };
            match job.work {
                Work::Steps(plan) => {
                    plans.push((plan, job.room));
                    replies.push(job.reply);
                }
                Work::Whole(_) => return (plans, replies, Some(job)),
            }
        }
        (plans, replies, None)
    }

    /// Runs what commits on its own. Says whether the writer can go on.
    fn whole(
        &mut self,
        writer: &mut Writer,
        embedder: Option<&dyn Embedder>,
        (work, room): (Whole, Room),
        reply: Reply,
    ) -> bool {
        let result = catch_unwind(AssertUnwindSafe(|| {
            writer.set_room(room)?;
            work(writer, embedder)
        }));
        self.depositor.forget_pending();
        let is_sound = matches!(result, Ok(Ok(())));
        let result = result.unwrap_or_else(|_| Err(panicked()));
        let _ = reply.send(result.map(|()| Done {
            generation: writer.snapshot().generation(),
            put: Vec::new(),
            removed: Vec::new(),
            embedded: 0,
            bytes_written: 0,
        }));
        is_sound
    }

    /// Does several changes with one commit and answers each. Says whether the writer can go on.
    fn batch(
        &mut self,
        writer: &mut Writer,
        embedder: Option<&dyn Embedder>,
        plans: Vec<Bounded>,
        replies: Vec<Reply>,
    ) -> bool {
        let done = catch_unwind(AssertUnwindSafe(|| self.commit(writer, embedder, plans)));
        self.depositor.forget_pending();
        match done.unwrap_or_else(|_| Err(panicked())) {
            Ok(results) => {
                for (reply, result) in replies.into_iter().zip(results) {
                    // Whoever asked may have gone; what was done is done.
                    let _ = reply.send(result);
                }
                true
            }
            Err(told) => {
                for reply in replies {
                    let _ = reply.send(Err(told.clone()));
                }
                false
            }
        }
    }

    /// The outer error concerns all: the index is what it was.
    fn commit(
        &mut self,
        writer: &mut Writer,
        embedder: Option<&dyn Embedder>,
        plans: Vec<Bounded>,
    ) -> Result<Vec<Result<Done, Told>>, Told> {
        let (plans, rooms): (Vec<Plan>, Vec<Room>) = plans.into_iter().unzip();
        let mut changes: Vec<Result<Planned, Told>> = plans.into_iter().map(|plan| self.plan(writer, plan)).collect();
        self.embed(writer, embedder, &mut changes);
        let mut lost = HashSet::new();
        for (change, room) in changes.iter_mut().zip(rooms) {
            writer.set_room(room)?;
            if let Ok(planned) = change
                && let Err(told) = self.apply(writer, planned, &mut lost)?
            {
                *change = Err(told);
            }
        }
        let began = Instant::now();
        let committed = writer.commit()?;
        if committed.is_some() {
            self.commit_cost = began.elapsed();
        }
        let bytes = committed.map_or(0, |committed| committed.bytes_written);
        let generation = writer.snapshot().generation();
        Ok(changes.into_iter().map(|change| change.map(|planned| planned.done(generation, bytes))).collect())
    }

    /// Lets a change say its steps, and reads what it puts.
    fn plan(&mut self, writer: &Writer, plan: Plan) -> Result<Planned, Told> {
        let steps = plan(&View { writer, depositor: &self.depositor })?;
        let before = (steps.len() > 1).then(|| self.depositor.pending().clone());
        let planned = self.steps(writer, steps);
        if planned.is_err()
            && let Some(before) = before
        {
            self.depositor.restore(before);
        }
        planned
    }

    fn steps(&mut self, writer: &Writer, steps: Vec<Step>) -> Result<Planned, Told> {
        let mut planned = Planned::default();
        for step in steps {
            match step {
                Step::Put(deposit) => {
                    let name = deposit.name.clone();
                    match self.depositor.prepare(writer, *deposit)? {
                        Ok(prepared) => {
                            planned.order.push(Act::Put(planned.puts.len()));
                            planned.puts.push(prepared);
                        }
                        Err(problem) => return Err(refused(&name, &problem)),
                    }
                }
                Step::Remove(id) => {
                    if let Some(record) = self.depositor.prepare_removal(writer, id)? {
                        planned.order.push(Act::Remove(id));
                        planned.removed.push(record);
                    }
                }
            }
        }
        Ok(planned)
    }

    /// Embeds the texts of all changes together. If a text may be why that fails, each change on its own: one text that the
    /// model refuses is not the others' fault.
    fn embed(&self, writer: &Writer, embedder: Option<&dyn Embedder>, changes: &mut [Result<Planned, Told>]) {
        let counts: Vec<usize> =
            changes.iter().map(|change| change.as_ref().map_or(0, |planned| planned.puts.len())).collect();
        let mut all: Vec<Prepared> =
            changes.iter_mut().flatten().flat_map(|planned| std::mem::take(&mut planned.puts)).collect();
        let mut told = vec![None; changes.len()];
        let embedding = counts.iter().filter(|count| **count > 0).count();
        match self.depositor.embed(writer, embedder, &mut all, &self.cancel) {
            Ok(()) => {}
            Err(error) if embedding > 1 && is_about_a_text(&error) => {
                let mut rest = all.as_mut_slice();
                for (count, told) in counts.iter().zip(&mut told) {
                    let (own, others) = rest.split_at_mut(*count);
                    rest = others;
                    if *count > 0 {
                        *told = self.depositor.embed(writer, embedder, own, &self.cancel).err().map(Told::from);
                    }
                }
            }
            Err(error) => {
                let error = Told::from(error);
                for (_, told) in counts.iter().zip(&mut told).filter(|(count, _)| **count > 0) {
                    *told = Some(error.clone());
                }
            }
        }
        let mut all = all.into_iter();
        for ((change, count), told) in changes.iter_mut().zip(counts).zip(told) {
            let own: Vec<Prepared> = all.by_ref().take(count).collect();
            if let Ok(planned) = change {
                planned.puts = own;
                planned.failed = told;
            }
        }
    }

    /// Gives the writer the steps of one change. The inner error is the change's own; what it was to change is `lost`, and
    /// so are the changes that rest on it.
    fn apply(
        &self,
        writer: &mut Writer,
        planned: &mut Planned,
        lost: &mut HashSet<SourceId>,
    ) -> Result<Result<(), Told>, Told> {
        let ids: Vec<SourceId> = planned.ids().collect();
        let mut failed = planned.failed.take();
        if failed.is_none() && ids.iter().any(|id| lost.contains(id)) {
            failed = Some(
                Told::new(Kind::Model, "a change before this one, of the same document, failed").hint("send it again"),
            );
        }
        if let Some(told) = failed {
            lost.extend(ids);
            return Ok(Err(told));
        }
        for act in &planned.order {
            match act {
                Act::Remove(id) => writer.remove(*id)?,
                Act::Put(at) => {
                    let prepared = &planned.puts[*at];
                    if let Err(problem) = self.depositor.put(writer, prepared)? {
                        lost.insert(prepared.record.id);
                        return Ok(Err(refused(prepared.record.path.as_str(), &problem)));
                    }
                }
            }
        }
        Ok(Ok(()))
    }
}

/// Whether what failed may lie in one of the texts; an endpoint that is not there fails for each alike.
fn is_about_a_text(error: &crate::ingest::Error) -> bool {
    use crate::{ingest::Error as Ingest, model::Error as Model};
    let Ingest::Model(error) = error else { return false };
    matches!(
        error,
        Model::TextRefused { .. }
            | Model::TextTooLong { .. }
            | Model::TooLong { .. }
            | Model::Refused { .. }
            | Model::BadAnswer { .. }
            | Model::Run { .. }
    )
}

/// A change whose steps are known and read.
#[derive(Default)]
struct Planned {
    order: Vec<Act>,
    puts: Vec<Prepared>,
    removed: Vec<SourceRecord>,
    /// Its texts could not be embedded.
    failed: Option<Told>,
}

enum Act {
    /// One of `puts`.
    Put(usize),
    Remove(SourceId),
}

impl Planned {
    fn ids(&self) -> impl Iterator<Item = SourceId> + '_ {
        self.puts.iter().map(|prepared| prepared.record.id).chain(self.removed.iter().map(|record| record.id))
    }

    fn done(self, generation: u64, bytes_written: u64) -> Done {
        let embedded = self.puts.iter().map(|prepared| prepared.embedded).sum();
        let put: Vec<(SourceRecord, Deposited)> =
            self.puts.into_iter().map(|prepared| (prepared.record, prepared.state)).collect();
        Done { generation, put, removed: self.removed, embedded, bytes_written }
    }
}

fn refused(name: &str, problem: &crate::index::Problem) -> Told {
    Told::usage(format!("`{}` cannot be stored: {}", name.escape_debug(), problem.message))
}

fn panicked() -> Told {
    Told::new(Kind::Bug, "writing failed; this is a mistake of the program").hint("nothing of this change was stored")
}
