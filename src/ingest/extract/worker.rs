//! The worker process from inside: reads requests, extracts, answers, until its parent is gone.
//!
//! It limits itself before the first byte of a document is read: address space, processor time, open files, no file
//! writes, no core dump. Panics become problems; what cannot be caught (stack overflow, out of memory) ends the process,
//! which its parent notices. It reads no environment, opens no file and writes nothing but answers. Signals that ask
//! to stop are for its parent: it goes on, and ends when the parent does.

use std::{
    io::{self, Read, Write},
    panic::{self, AssertUnwindSafe},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::{
    Aid, Limits, extract_with, problem, reason,
    wire::{self, Request},
};
use crate::{index::Problem, ingest::document::Document};

/// Stack of the thread that extracts. Parsers of other people recurse.
const STACK_BYTES: usize = 64 << 20;

/// Largest file a worker takes; the walk's own limit is lower by default.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// Answers requests from `input` on `output` until `input` ends, then returns at once, even in the middle of a file:
/// nobody waits for the answer. The process is to end when this returns. Only for a process of its own: it lowers the
/// limits of the whole process and silences panics.
pub fn serve(mut input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
    panic::set_hook(Box::new(|_| {}));
    leave_signals_to_parent()?;
    limit_process();
    // One request at a time: the parent sends the next when it has the answer.
    let (requests, taken) = mpsc::sync_channel(1);
    let mut output = output;
    let started = Instant::now();
    let _extracting = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        for (request, bytes) in taken {
            let request: Request = request;
            renew_limits(&request.limits, started.elapsed());
            let answer = contained(&request.name, bytes, &request.limits, request.aid);
            if wire::write_answer(&mut output, answer).is_err() {
                break;
            }
        }
    })?;
    while let Some((request, bytes)) = wire::read(&mut input, MAX_FILE_BYTES)? {
        if requests.send((request, bytes)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Extracts in this process on a thread with a large stack; a panic is a problem of the file.
pub(super) fn in_process(name: &str, bytes: Vec<u8>, limits: &Limits, aid: Aid) -> Result<Document, Problem> {
    thread::scope(|scope| {
        let run =
            thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || contained(name, bytes, limits, aid));
        match run.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(panicked()),
            Err(error) => {
                Err(Problem { transient: true, ..problem(reason::WORKER, format!("cannot start a thread: {error}")) })
            }
        }
    })
}

fn contained(name: &str, bytes: Vec<u8>, limits: &Limits, aid: Aid) -> Result<Document, Problem> {
    panic::catch_unwind(AssertUnwindSafe(|| extract_with(name, bytes, limits, aid))).unwrap_or_else(|_| Err(panicked()))
}

pub(super) fn panicked() -> Problem {
    problem(reason::CRASHED, "its reader failed on it (a panic)")
}

/// Takes hang-up, interrupt and terminate without doing anything.
#[cfg(unix)]
fn leave_signals_to_parent() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::sync::{Arc, atomic::AtomicBool};
    let nobody_looks = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&nobody_looks))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn leave_signals_to_parent() -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn set(resource: rustix::process::Resource, value: u64) {
    use rustix::process::{Rlimit, getrlimit, setrlimit};
    let hard = getrlimit(resource).maximum;
    let value = hard.map_or(value, |hard| hard.min(value));
    // A limit that cannot be set is not worth a document: the others and the parent's clock still hold.
    let _ = setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) });
}

#[cfg(unix)]
fn limit_process() {
    use rustix::process::Resource;
    set(Resource::Nofile, 64);
    set(Resource::Fsize, 0);
    set(Resource::Core, 0);
}

/// Memory, and processor time anew for each file: its share on top of what may have been used, which is at most the time
/// since the start, because one thread works.
#[cfg(unix)]
fn renew_limits(limits: &Limits, running: Duration) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    set(Resource::As, limits.memory_bytes);
    let soft = running.as_secs().saturating_add(limits.timeout.as_secs()).saturating_add(2);
    let hard = getrlimit(Resource::Cpu).maximum;
    let soft = hard.map_or(soft, |hard| hard.min(soft));
    let _ = setrlimit(Resource::Cpu, Rlimit { current: Some(soft), maximum: hard });
}

#[cfg(not(unix))]
fn limit_process() {}

#[cfg(not(unix))]
fn renew_limits(_limits: &Limits, _running: Duration) {}
