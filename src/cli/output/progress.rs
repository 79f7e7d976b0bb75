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

/// A rate is that of so much time at least, so that it tells how quick it is now.
const RATE_OVER: Duration = Duration::from_secs(15);

/// Gets the events of one run.
pub struct Progress {
    bar: Option<ProgressBar>,
    plain: bool,
    last_line: Mutex<Instant>,
    state: Mutex<State>,
}

/// What has been done of what is known.
struct State {
    /// What a source is called.
    noun: &'static str,
    found: u64,
    found_bytes: u64,
    /// 0: nobody knows how many there are.
    planned: u64,
    done: u64,
    chunks: u64,
    to_embed: u64,
    embedded: u64,
    rate: Rate,
}

/// How many in a second, of late.
struct Rate {
    /// When, and how many there were: the last mark, and the one before it.
    marks: [(Instant, u64); 2],
}

impl Rate {
    fn new(now: Instant) -> Self {
        Self { marks: [(now, 0); 2] }
    }

    fn of(&mut self, count: u64, now: Instant) -> f64 {
        if now.duration_since(self.marks[1].0) >= RATE_OVER {
            self.marks = [self.marks[1], (now, count)];
        }
        let (since, before) = self.marks[0];
        count.saturating_sub(before) as f64 / now.duration_since(since).as_secs_f64().max(1e-3)
    }
}

impl State {
    fn new(noun: &'static str, now: Instant) -> Self {
        let rate = Rate::new(now);
        Self { noun, found: 0, found_bytes: 0, planned: 0, done: 0, chunks: 0, to_embed: 0, embedded: 0, rate }
    }

    /// `300/1200 chunks, 14 chunks/s`: those that lack nothing, of those that are known.
    fn chunks(&mut self, now: Instant) -> String {
        let waiting = self.to_embed.saturating_sub(self.embedded);
        let finished = self.chunks.saturating_sub(waiting);
        format!("{finished}/{}, {:.0} chunks/s", count(self.chunks, "chunk"), self.rate.of(finished, now))
    }

    /// Where the run is, on one line.
    fn line(&mut self, now: Instant) -> String {
        let (done, planned, noun) = (self.done, self.planned, self.noun);
        if planned > 0 {
            let left = planned.saturating_sub(done);
            return format!("{done}/{}, {}, {left} to go", count(planned, noun), self.chunks(now));
        }
        let found = format!("{} found, {}", count(self.found, noun), bytes(self.found_bytes));
        if self.chunks == 0 { found } else { format!("{found}, {}", self.chunks(now)) }
    }
}

impl Progress {
    /// `noun`: what a source is called.
    pub fn new(screen: &Screen, noun: &'static str) -> Self {
        let bar = (!screen.quiet && screen.stderr_is_terminal).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(style(&format!("{{spinner}} looking for {noun}s  {{msg}}")));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        // A terminal that cannot move its cursor gets lines.
        let bar = bar.filter(|bar| !bar.is_hidden());
        let now = Instant::now();
        let plain = !screen.quiet && !screen.json && bar.is_none();
        Self { plain, bar, last_line: Mutex::new(now), state: Mutex::new(State::new(noun, now)) }
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
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match event {
            Event::Found { sources, bytes } => {
                (state.found, state.found_bytes) = (sources, bytes);
            }
            Event::Planned { sources, .. } => {
                state.planned = sources;
                state.rate = Rate::new(now);
                if let Some(bar) = &self.bar {
                    bar.set_length(sources);
                    bar.set_style(style(&format!(
                        "{{bar:24}} {{pos}}/{{len}} {}s  {{prefix}}  ETA {{eta}}  {{wide_msg}}",
                        state.noun
                    )));
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
            Event::Chunked { chunks, to_embed, .. } => {
                state.chunks += chunks;
                state.to_embed += to_embed;
            }
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
        if let Some(bar) = &self.bar {
            if state.planned > 0 {
                bar.set_position(state.done.min(state.planned));
                bar.set_prefix(state.chunks(now));
            } else {
                bar.set_message(state.line(now));
            }
        }
        let mut last_line = self.last_line.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if self.plain && last_line.elapsed() >= PLAIN_EVERY {
            *last_line = now;
            let line = state.line(now);
            drop((state, last_line));
            self.say(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(noun: &'static str) -> Progress {
        let now = Instant::now();
        Progress { bar: None, plain: false, last_line: Mutex::new(now), state: Mutex::new(State::new(noun, now)) }
    }

    fn line(progress: &Progress, after: u64) -> String {
        let mut state = progress.state.lock().unwrap();
        let now = state.rate.marks[1].0 + Duration::from_secs(after);
        state.line(now)
    }

    #[test]
    fn chunks_count_when_they_lack_nothing() {
        let progress = quiet("file");
        progress.event(Event::Found { sources: 2, bytes: 4096 });
        assert_eq!(line(&progress, 5), "2 files found, 4.1 kB");
        progress.event(Event::Planned { sources: 2, bytes: 4096 });
        // One large file: all of it is cut long before its meanings are known; 20 were known from before.
        progress.event(Event::Chunked { path: "a", chunks: 120, to_embed: 100, bytes: 4000 });
        assert_eq!(line(&progress, 10), "0/2 files, 20/120 chunks, 2 chunks/s, 2 to go");
        progress.event(Event::Embedded { chunks: 50 });
        assert_eq!(line(&progress, 10), "0/2 files, 70/120 chunks, 7 chunks/s, 2 to go");
        progress.event(Event::Embedded { chunks: 50 });
        progress.event(Event::Done { path: "a" });
        assert_eq!(line(&progress, 10), "1/2 files, 120/120 chunks, 12 chunks/s, 1 to go");
    }

    #[test]
    fn what_has_no_end_that_is_known_tells_how_far_it_is() {
        let progress = quiet("document");
        progress.event(Event::Found { sources: 512, bytes: 1_500_000 });
        progress.event(Event::Chunked { path: "a", chunks: 300, to_embed: 300, bytes: 0 });
        progress.event(Event::Embedded { chunks: 30 });
        assert_eq!(line(&progress, 10), "512 documents found, 1.5 MB, 30/300 chunks, 3 chunks/s");
    }

    #[test]
    fn a_rate_is_that_of_late() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(rate.of(100, at(10)).round(), 10.0);
        // A hundred a second at first, then one: after two marks the beginning is forgotten.
        rate.of(1500, at(15));
        rate.of(1515, at(30));
        assert_eq!(rate.of(1530, at(45)).round(), 1.0);
    }
}
