//! A run without writing: what it would change, and how long it would take.
//!
//! Files whose stat proves nothing are hashed, so each source is in the list it would be in; only extraction may still
//! fail. Of every new file the beginning and the end are looked at, and those that seem odd (empty, encrypted, not what
//! they are called) are read as the run would read them. For about a second some of the others are read, cut and embedded,
//! and the rest is taken to be like them.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use super::{
    Options, Report,
    extract::Extractor,
    listing::{List, list},
    oddity,
    plan::{self, Decision, Reading},
    reader::{self, Task},
    report::Outcome,
    survey::Survey,
    walk::Found,
};
use crate::{index::Problem, model::Embedder, types::Cancel};

/// How long files are read, and then texts embedded, to learn what the rest costs.
const SAMPLE_TIME: Duration = Duration::from_millis(500);
/// How long files that seem odd are looked for and read.
const ODD_TIME: Duration = Duration::from_secs(5);

/// Bytes of a file for each of its chunks where no file was read: 200 word pieces of English.
const BYTES_PER_CHUNK: f64 = 900.0;

/// What the sample showed.
#[derive(Default)]
struct Sample {
    /// Chunks of each reading that was looked into, by its place.
    chunks: HashMap<usize, usize>,
    /// Those that would fail or be left alone.
    out: HashMap<usize, (Out, Problem)>,
    /// What would be said of those that are taken all the same.
    warnings: HashMap<usize, Vec<Problem>>,
    /// Chunks and bytes of those that stand for the rest.
    typical_chunks: usize,
    bytes: u64,
    read_seconds: f64,
    embedded: usize,
    embed_seconds: f64,
}

/// Where a source goes that gives no text.
enum Out {
    Failed,
    Skipped,
}

impl Sample {
    /// Reads a file as the run would; gives the texts of its chunks.
    fn look_into(&mut self, at: usize, reading: &Reading, task: &Task, extractor: &mut Extractor) -> Vec<String> {
        match reader::rehearse(task, extractor, reading.clone()) {
            Some(reader::Outcome::Made { record, texts, .. }) => {
                self.chunks.insert(at, texts.len());
                if reader::is_skipped(&record) {
                    self.out.extend(record.problems.into_iter().next().map(|problem| (at, (Out::Skipped, problem))));
                } else if !record.problems.is_empty() {
                    self.warnings.insert(at, record.problems);
                }
                texts
            }
            Some(reader::Outcome::Failed { problem, .. }) => {
                self.out.insert(at, (Out::Failed, problem));
                Vec::new()
            }
            Some(reader::Outcome::Stands | reader::Outcome::Touched(_)) | None => Vec::new(),
        }
    }

    fn chunks_per_byte(&self) -> f64 {
        if self.bytes == 0 { 1.0 / BYTES_PER_CHUNK } else { self.typical_chunks as f64 / self.bytes as f64 }
    }
}

/// Says what a run would change; chunks and the time are estimates.
pub fn rehearse(
    survey: &Survey,
    task: &Task,
    embedder: Option<&dyn Embedder>,
    options: &Options,
    cancel: &Cancel,
) -> Report {
    let mut report = Report { dry_run: true, ..Report::default() };
    let mut open: Vec<&Reading> = Vec::new();
    for reading in &survey.plan.read {
        if cancel.is_asked() {
            report.interrupted = true;
            return report;
        }
        match known(reading, task, &mut report) {
            Ok(Decision::Extract) => open.push(reading),
            Ok(Decision::Stands | Decision::Touch) => {
                if let Some(old) = &reading.old {
                    let retagged = plan::retagged(old, &task.tags).is_some();
                    list(&mut report, old, if retagged { List::Updated } else { List::Unchanged }, None);
                }
            }
            Err(outcome) => report.failed.push(outcome),
        }
    }
    let sample = sample(&open, task, embedder, cancel);
    let mut bytes = 0;
    for (at, reading) in open.iter().enumerate() {
        let size = reading.found.stat.size_bytes;
        bytes += size;
        if let Some((list, problem)) = sample.out.get(&at) {
            let entry = Outcome { problems: vec![problem.clone()], ..unread(reading) };
            match list {
                Out::Failed => report.failed.push(entry),
                Out::Skipped => report.skipped.push(entry),
            }
            continue;
        }
        let guess = (size as f64 * sample.chunks_per_byte()).ceil() as usize;
        let chunks = sample.chunks.get(&at).copied().unwrap_or(guess);
        report.chunks_written += chunks as u64;
        let entry = Outcome { chunks: u32::try_from(chunks).unwrap_or(u32::MAX), ..unread(reading) };
        if let Some(problems) = sample.warnings.get(&at) {
            report.warnings.push(Outcome { problems: problems.clone(), ..entry.clone() });
        }
        match (&reading.from, &reading.old) {
            (Some(from), _) => report.moved.push(Outcome { from: Some(from.display_path()), ..entry }),
            (None, Some(_)) => report.updated.push(entry),
            (None, None) => report.added.push(entry),
        }
    }
    if embedder.is_some() {
        report.chunks_embedded = report.chunks_written;
    }
    report.estimated_seconds = Some(seconds(&sample, bytes, report.chunks_embedded, embedder, options));
    report
}

fn seconds(sample: &Sample, bytes: u64, chunks: u64, embedder: Option<&dyn Embedder>, options: &Options) -> f64 {
    let each = |spent: f64, of: f64| if of > 0.0 { spent / of } else { 0.0 };
    let reading = bytes as f64 * each(sample.read_seconds, sample.bytes as f64) / options.jobs.max(1) as f64;
    let threads = embedder.map_or(1, Embedder::concurrency).max(1);
    let embedding = chunks as f64 * each(sample.embed_seconds, sample.embedded as f64) / threads as f64;
    // Both go on at the same time and, with a local model, on the same cores.
    reading + embedding
}

/// What would be done with a file, without extracting it. An error is the entry of one that cannot be read.
fn known(reading: &Reading, task: &Task, report: &mut Report) -> Result<Decision, Outcome> {
    let Some(old) = &reading.old else { return Ok(Decision::Extract) };
    match reading.found.hash() {
        Ok((hash, stat)) => {
            let found = Found { stat, ..reading.found.clone() };
            report.bytes_read += stat.size_bytes;
            Ok(plan::decide(Some(old), &found, &hash, task.wanted()))
        }
        Err(problem) => Err(Outcome { problems: vec![problem], ..unread(reading) }),
    }
}

fn unread(reading: &Reading) -> Outcome {
    Outcome { path: reading.found.name.display(), problems: vec![], chunks: 0, from: None }
}

/// Reads the odd files, then files from all over the list, then embeds some of their texts.
fn sample(open: &[&Reading], task: &Task, embedder: Option<&dyn Embedder>, cancel: &Cancel) -> Sample {
    let mut sample = Sample::default();
    let mut texts = Vec::new();
    let mut extractor = Extractor::new(task.worker.clone(), task.limits.clone()).with_passwords(task.passwords.clone());
    if open.is_empty() || extractor.start().is_err() {
        return sample;
    }
    let began = Instant::now();
    let mut odd = HashSet::new();
    for (at, reading) in open.iter().enumerate() {
        if began.elapsed() >= ODD_TIME || cancel.is_asked() {
            break;
        }
        if oddity::is_odd(&reading.found) {
            odd.insert(at);
            sample.look_into(at, reading, task, &mut extractor);
        }
    }
    let began = Instant::now();
    for at in spread(open.len()).filter(|at| !odd.contains(at)) {
        if began.elapsed() >= SAMPLE_TIME || cancel.is_asked() {
            break;
        }
        let mut cut = sample.look_into(at, open[at], task, &mut extractor);
        sample.bytes += open[at].found.stat.size_bytes;
        sample.typical_chunks += cut.len();
        texts.append(&mut cut);
    }
    sample.read_seconds = began.elapsed().as_secs_f64();
    let Some(embedder) = embedder else { return sample };
    let began = Instant::now();
    for at in spread(texts.len()) {
        if began.elapsed() >= SAMPLE_TIME || cancel.is_asked() {
            break;
        }
        // A model that fails here will say so in the run itself.
        sample.embedded += usize::from(embedder.embed_passages(&[&texts[at]]).is_ok());
    }
    sample.embed_seconds = began.elapsed().as_secs_f64();
    sample
}

/// All of `0..count`, each once, so that the first of them are from everywhere.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    // Steps of about the golden ratio, made coprime to the count.
    let common = |mut a: usize, mut b: usize| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let wish = ((count as f64 * 0.618_034) as usize).max(1);
    let step = (wish..).find(|&step| common(step, count) <= 1).unwrap_or(1);
    (0..count).map(move |at| (at as u128 * step as u128 % count.max(1) as u128) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_every_place_once() {
        for count in [0, 1, 2, 3, 4, 10, 97, 1000] {
            let mut places: Vec<usize> = spread(count).collect();
            if count >= 10 {
                assert!(places[..4].iter().any(|&at| at >= count / 2), "{places:?}");
            }
            places.sort_unstable();
            assert_eq!(places, (0..count).collect::<Vec<_>>());
        }
    }
}
