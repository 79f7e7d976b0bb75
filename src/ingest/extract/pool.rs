//! A worker process seen from its parent: started when needed, watched, killed when late, replaced when dead.
//!
//! One [`Extractor`] has one child and does one file at a time; a run has one for each of its threads.

use std::{
    io::{self, BufReader, Read},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::{
    Aid, Limits, PageText, Passwords, Worker, problem, reason,
    wire::{self, Request},
    worker,
};
use crate::{
    index::Problem,
    ingest::{Error, document::Document, page_readers::PageReaders},
};

/// One worker: starts it when it is needed, again when it has died, and never leaves one behind.
pub struct Extractor {
    worker: Worker,
    limits: Limits,
    passwords: Passwords,
    page_readers: PageReaders,
    child: Option<Running>,
}

struct Running {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Extractor {
    /// Makes an extractor; nothing is started yet.
    pub fn new(worker: Worker, limits: Limits) -> Self {
        let (passwords, page_readers) = (Passwords::default(), PageReaders::default());
        Self { worker, limits, passwords, page_readers, child: None }
    }

    /// Gives it passwords for encrypted documents.
    #[must_use]
    pub fn with_passwords(mut self, passwords: Passwords) -> Self {
        self.passwords = passwords;
        self
    }

    /// Gives it programs that read pages which are not readable here.
    #[must_use]
    pub fn with_page_readers(mut self, page_readers: PageReaders) -> Self {
        self.page_readers = page_readers;
        self
    }

    /// Starts the worker process, so that a program that cannot be started ends the run at once.
    pub fn start(&mut self) -> crate::ingest::Result<()> {
        let Worker::Process { program, arguments } = &self.worker else { return Ok(()) };
        if self.child.is_some() {
            return Ok(());
        }
        let mut command = Command::new(program);
        // Nothing of the environment is its business. One allocation arena, or each thread reserves address space.
        command.args(arguments).env_clear().env("MALLOC_ARENA_MAX", "1");
        #[cfg(windows)]
        command.envs(std::env::vars_os().filter(|(name, _)| name.eq_ignore_ascii_case("SystemRoot")));
        // A signal for our group (Ctrl-C at a terminal) is for us to answer: the file in hand may still become whole.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |source| Error::Worker { program: program.clone(), source };
        let mut child = command.spawn().map_err(failed)?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        self.child = Some(Running { child, requests, answers: BufReader::new(answers) });
        Ok(())
    }

    /// Extracts one file. `name` is its file name (only a hint), `bytes` all of it. Never fails because of an earlier
    /// file. Holds the document of this file only.
    pub fn extract(&mut self, name: &str, bytes: &[u8]) -> Result<Document, Problem> {
        let mut document = self.carefully(name, bytes, &[])?;
        if document.unread_pages.is_empty() {
            return Ok(document);
        }
        let (pages, problem) = self.page_readers.read(bytes, &document.unread_pages, &self.limits);
        if !pages.is_empty() {
            document = self.carefully(name, bytes, &pages).unwrap_or(document);
        }
        document.warnings.extend(problem);
        Ok(document)
    }

    fn carefully(&mut self, name: &str, bytes: &[u8], pages: &[PageText]) -> Result<Document, Problem> {
        let problem = match self.once(name, bytes, pages, false) {
            Err(problem) if ended_on_it(&problem) && has_other_way(bytes) => problem,
            answer => return answer,
        };
        // Without the part that may have ended the reader there may be text still.
        let Ok(mut document) = self.once(name, bytes, pages, true) else { return Err(problem) };
        let message = format!("doubtful pages were not read a second time: {}", problem.message);
        document.warnings.push(Problem { message, ..problem });
        Ok(document)
    }

    fn once(&mut self, name: &str, bytes: &[u8], pages: &[PageText], cautious: bool) -> Result<Document, Problem> {
        let aid = Aid { passwords: self.passwords.clone(), pages: pages.to_vec() };
        let limits = Limits { cautious, ..self.limits.clone() };
        if matches!(self.worker, Worker::InProcess) {
            return worker::in_process(name, bytes.to_vec(), &limits, aid);
        }
        self.start().map_err(|error| transient(reason::WORKER, error.to_string()))?;
        let Some(mut running) = self.child.take() else { return Err(transient(reason::WORKER, "no worker")) };
        let request = Request { name: name.into(), limits, aid };
        let (result, late) = running.ask(&request, bytes);
        match result {
            Ok(answer) => {
                self.child = Some(running);
                answer
            }
            Err(error) => Err(running.end(late, &error, &self.limits)),
        }
    }
}

/// The reader died on the bytes, or would have.
fn ended_on_it(problem: &Problem) -> bool {
    !problem.transient && (problem.reason == reason::CRASHED || problem.reason == reason::OOM)
}

/// Whether a format has more than one engine.
fn has_other_way(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(1024)].windows(5).any(|window| window == b"%PDF-")
}

/// A problem of this try, not of the bytes.
fn transient(reason: &str, message: impl Into<String>) -> Problem {
    Problem { transient: true, ..problem(reason, message) }
}

impl Running {
    /// Sends a file and waits for the answer. A second thread kills the child when the time is over, which ends every
    /// wait here; then the second value is `true`.
    fn ask(&mut self, request: &Request, bytes: &[u8]) -> (io::Result<Result<Document, Problem>>, bool) {
        let late = AtomicBool::new(false);
        let (done, over) = mpsc::channel::<()>();
        let (requests, answers) = (&mut self.requests, &mut self.answers);
        let child = Mutex::new(&mut self.child);
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                let over = over;
                if over.recv_timeout(request.limits.timeout) == Err(mpsc::RecvTimeoutError::Timeout) {
                    late.store(true, Ordering::SeqCst);
                    // Only a child that is gone cannot be killed.
                    let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
                }
            });
            let result =
                wire::write(requests, request, bytes).and_then(|()| wire::read_answer(answers, &request.limits));
            drop(done);
            result
        });
        (result, late.into_inner())
    }

    /// Ends a child that did not answer, and says why it did not.
    fn end(mut self, late: bool, error: &io::Error, limits: &Limits) -> Problem {
        // A child that closed its pipe is about to be gone; one that answered nonsense is not.
        let is_nonsense = error.kind() == io::ErrorKind::InvalidData;
        let status = if late || is_nonsense { None } else { self.wait_a_little() };
        let _ = self.child.kill();
        let status = status.or_else(|| self.child.wait().ok());
        if late {
            let seconds = limits.timeout.as_secs_f64();
            return transient(reason::TIMEOUT, format!("not read within {seconds} s"));
        }
        if is_nonsense {
            return problem(reason::CRASHED, format!("its reader gave an answer that makes no sense: {error}"));
        }
        let last_words = self.last_words();
        if last_words.contains("memory allocation of") || error.kind() == io::ErrorKind::OutOfMemory {
            return problem(reason::OOM, format!("needs more than {} MiB of memory", limits.memory_bytes >> 20));
        }
        if last_words.contains("overflowed its stack") {
            return problem(reason::CRASHED, "its reader died on it (stack overflow)");
        }
        match status.map(death) {
            Some(Death::Signal(24)) => transient(reason::TIMEOUT, "used more processor time than it may"),
            Some(Death::Signal(signal)) if SENT.contains(&signal) => {
                transient(reason::CRASHED, format!("its reader was ended from outside (signal {signal})"))
            }
            Some(Death::Signal(signal)) => problem(reason::CRASHED, format!("its reader died on it (signal {signal})")),
            Some(Death::Code(code)) => {
                problem(reason::CRASHED, format!("its reader ended without an answer (exit code {code})"))
            }
            None => problem(reason::CRASHED, format!("its reader gave no answer: {error}")),
        }
    }

    fn wait_a_little(&mut self) -> Option<ExitStatus> {
        for _ in 0..100 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// What the runtime said when the child died. Read only when it is dead, and only to be searched.
    fn last_words(&mut self) -> String {
        let mut words = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            let _ = stderr.take(4096).read_to_end(&mut words);
        }
        String::from_utf8_lossy(&words).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hang-up, interrupt, kill, terminate: signals that somebody sent. No document and no limit of ours makes them.
const SENT: [i32; 4] = [1, 2, 9, 15];

enum Death {
    Signal(i32),
    Code(i32),
}

fn death(status: ExitStatus) -> Death {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Death::Signal(signal);
    }
    Death::Code(status.code().unwrap_or(-1))
}
