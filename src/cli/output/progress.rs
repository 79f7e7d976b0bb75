//! Progress of an ingest run on stderr: a bar on a terminal, a plain line every few seconds elsewhere, nothing if quiet.

use std::{
    io::{self, Write as _},
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rag::ingest::{Event, Observer};

use super::{Screen, bytes, count, sanitize, sources::problem_line};

/// How often a plain line is printed.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

/// Gets the events of one run.
pub struct Progress {
    bar: Option<ProgressBar>,
    plain: bool,
    state: Mutex<State>,
}

struct State {
    started: Instant,
    last_line: Instant,
    planned: u64,
    done: u64,
    chunks: u64,
    embedded: u64,
}

impl Progress {
    pub fn new(screen: &Screen) -> Self {
        let bar = (!screen.quiet && screen.stderr_is_terminal).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(style("{spinner} looking for files  {msg}"));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        // A terminal that cannot move its cursor gets lines.
        let bar = bar.filter(|bar| !bar.is_hidden());
        let now = Instant::now();
        let state = State { started: now, last_line: now, planned: 0, done: 0, chunks: 0, embedded: 0 };
        let plain = !screen.quiet && !screen.json && bar.is_none();
        Self { plain, bar, state: Mutex::new(state) }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            // Nobody is left to hear that stderr is closed.
            None if self.plain => drop(writeln!(io::stderr().lock(), "{line}")),
            None => {}
        }
    }
}

/// Progress of a known number of equal steps: questions asked.
pub struct Steps {
    bar: Option<ProgressBar>,
    plain: bool,
    total: u64,
    what: String,
    state: Mutex<(u64, Instant)>,
}

impl Steps {
    /// `what`: what is being done, and to what, as in `asking questions`.
    pub fn new(screen: &Screen, what: &str, total: u64) -> Self {
        let bar = (!screen.quiet && screen.stderr_is_terminal).then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            bar.set_style(style("{bar:24} {pos}/{len}  {wide_msg}"));
            bar.set_message(sanitize::line(what).into_owned());
            bar
        });
        let bar = bar.filter(|bar| !bar.is_hidden());
        let plain = !screen.quiet && !screen.json && bar.is_none();
        Self { bar, plain, total, what: what.to_owned(), state: Mutex::new((0, Instant::now())) }
    }

    /// One step is done.
    pub fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.0 += 1;
        if self.plain && state.1.elapsed() >= PLAIN_EVERY {
            state.1 = Instant::now();
            // Nobody is left to hear that stderr is closed.
            let _ = writeln!(io::stderr().lock(), "{}: {}/{}", sanitize::line(&self.what), state.0, self.total);
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Templates are constants of this file, so they are right.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a template of this file").progress_chars("━━─")
}

impl Observer for Progress {
    fn event(&self, event: Event<'_>) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match event {
            Event::Found { sources, bytes: found } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!("{}, {}", count(sources, "file"), bytes(found)));
                }
            }
            Event::Planned { sources, .. } => {
                state.planned = sources;
                state.started = Instant::now();
                if let Some(bar) = &self.bar {
                    bar.set_length(sources);
                    bar.set_style(style("{bar:24} {pos}/{len} files  {prefix}  ETA {eta}  {wide_msg}"));
                    bar.reset_eta();
                }
            }
            Event::Started { path } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(sanitize::line(path).into_owned());
                }
            }
            Event::Slow { path, seconds } => {
                drop(state);
                return self.say(&format!("still reading {} after {seconds} s", sanitize::line(path)));
            }
            Event::Chunked { chunks, .. } => state.chunks += chunks,
            Event::Done { .. } => state.done += 1,
            Event::Embedded { chunks } => state.embedded += chunks,
            Event::Failed { path, problem } => {
                if let Some(bar) = &self.bar {
                    bar.println(format!("failed  {}  {}", sanitize::line(path), problem_line(problem)));
                }
            }
            Event::Committed { generation } => {
                drop(state);
                return self.say(&format!("committed generation {generation}"));
            }
        }
        let rate = state.embedded as f64 / state.started.elapsed().as_secs_f64().max(1e-3);
        if let Some(bar) = &self.bar {
            bar.set_position(state.done.min(state.planned));
            bar.set_prefix(format!("{} · {rate:.0} chunks/s", count(state.embedded.max(state.chunks), "chunk")));
        }
        if self.plain && state.planned > 0 && state.last_line.elapsed() >= PLAIN_EVERY {
            state.last_line = Instant::now();
            let left = state.planned.saturating_sub(state.done);
            let line = format!(
                "{}/{} files, {}, {rate:.0} chunks/s, {left} to go",
                state.done,
                state.planned,
                count(state.chunks, "chunk")
            );
            drop(state);
            self.say(&line);
        }
    }
}
