//! How long do searches take while segments are merged? Rows are made from those of the set with a little noise.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use clap::Args;
use rag::index::vector::{LiveRows, Scratch, Search, Segment, SegmentOptions, Set, Tombstones};
use serde_json::{Value, json};

use crate::{
    K, Result,
    data::{self, Data, Random},
    emit,
    index::{self, Kind, Options},
    measure::{Clock, Times, Watch, round},
};

/// The first part has this share of all rows, the others share the rest.
const LARGE: f64 = 0.8;
const SMALL_PARTS: usize = 4;
/// Noise, as a part of the standard deviation of all values.
const NOISE: f32 = 0.1;
/// How long is searched before the merge and after it.
const QUIET: Duration = Duration::from_secs(3);

#[derive(Args)]
pub struct Merge {
    #[command(flatten)]
    set: data::SetArgs,
    /// Folder for the segments; they are removed at the end.
    #[arg(long, value_name = "DIR")]
    work: PathBuf,
    #[arg(long, value_enum, default_value = "flat")]
    kind: Kind,
    #[command(flatten)]
    options: Options,
    #[arg(long, default_value_t = 500_000)]
    rows: usize,
}

impl Merge {
    pub fn run(&self) -> Result<()> {
        let data = self.set.open()?;
        // Searches have a core, and the merge another.
        let options = SegmentOptions { threads: 1, ..self.options.segment(&data, self.kind)? };
        fs::create_dir_all(&self.work)?;
        let parts = self.parts(&data, &self.options.segment(&data, self.kind)?)?;
        let merged = self.work.join("merged.vec");
        let set = Set::new(data.dim(), parts.iter().map(|part| (part.clone(), Tombstones::default())).collect());

        let mut asked = Asked::new(&data);
        let clock = Watch::start(Clock::Process);
        asked.until(&set, || clock.wall() > QUIET.as_secs_f64());
        self.report(&data, "before", &mut asked, Value::Null)?;

        let is_done = AtomicBool::new(false);
        let mut asked = Asked::new(&data);
        let (wall, cpu) = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let watch = Watch::start(Clock::Thread);
                let result = write(&parts, data.dim(), &options, &merged).map_err(|error| error.to_string());
                is_done.store(true, Ordering::Release);
                result.map(|()| (watch.wall(), watch.cpu()))
            });
            asked.until(&set, || is_done.load(Ordering::Acquire));
            writer.join().unwrap_or_else(|_| Err("the merge panicked".to_owned()))
        })?;
        let spent = json!({ "merge_s": round(wall, 2), "merge_cpu_s": round(cpu, 2) });
        self.report(&data, "during", &mut asked, spent)?;

        let set = index::open(&merged)?;
        let mut asked = Asked::new(&data);
        let clock = Watch::start(Clock::Process);
        asked.until(&set, || clock.wall() > QUIET.as_secs_f64());
        self.report(&data, "after", &mut asked, Value::Null)?;
        for part in 0..=SMALL_PARTS {
            fs::remove_file(self.part(part))?;
        }
        Ok(fs::remove_file(merged)?)
    }

    fn part(&self, part: usize) -> PathBuf {
        self.work.join(format!("part-{part}.vec"))
    }

    /// Writes the segments and maps them.
    fn parts(&self, data: &Data, options: &SegmentOptions) -> Result<Vec<Segment>> {
        let (base, dim) = (data.base()?, data.dim());
        let values = base.values();
        let squares: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
        let mean: f64 = values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
        let deviation = (squares / values.len() as f64 - mean * mean).sqrt() as f32;
        let mut random = Random(1);
        // Evenly spread over ±√3 standard deviations.
        let width = 2.0 * 3f32.sqrt() * NOISE * deviation;
        let mut noisy = values.iter().cycle().map(|value| value + width * (random.unit() - 0.5));

        let large = (self.rows as f64 * LARGE) as usize;
        let small = (self.rows - large) / SMALL_PARTS;
        let mut first = 0;
        let mut parts = Vec::new();
        for part in 0..=SMALL_PARTS {
            let rows = if part == 0 { large } else { small };
            let values: Vec<f32> = noisy.by_ref().take(rows * dim).collect();
            index::write(&self.part(part), dim, &data::rows_of(&values, dim, first), options)?;
            parts.push(index::segment(&self.part(part))?);
            first += rows;
        }
        Ok(parts)
    }

    fn report(&self, data: &Data, phase: &str, asked: &mut Asked<'_>, spent: Value) -> Result<()> {
        let milliseconds = |seconds: f64| round(seconds * 1e3, 3);
        let Asked { times, cpu, .. } = asked;
        let mut line = json!({
            "step": "merge", "set": data.name, "peer": self.kind.peer(), "rows": self.rows, "phase": phase,
            "searches": times.len(), "p50_ms": milliseconds(times.median()), "p99_ms": milliseconds(times.quantile(0.99)),
            "worst_ms": milliseconds(times.quantile(1.0)),
            // Without what other programs of the machine took in between.
            "p99_cpu_ms": milliseconds(cpu.quantile(0.99)), "worst_cpu_ms": milliseconds(cpu.quantile(1.0)),
        });
        if let (Some(line), Some(spent)) = (line.as_object_mut(), spent.as_object()) {
            line.extend(spent.clone());
        }
        emit(&line)
    }
}

/// One merge as an index does it: verified, live rows only, into a file that is on disk when it is done.
fn write(parts: &[Segment], dim: usize, options: &SegmentOptions, path: &Path) -> Result<()> {
    let none = Tombstones::default();
    let parts: Vec<_> = parts.iter().map(|part| (part, &none)).collect();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    LiveRows::of(&parts)?.write(dim, options, &mut out)?;
    out.flush()?;
    Ok(out.get_ref().sync_all()?)
}

/// Searches, one after the other.
struct Asked<'a> {
    data: &'a Data,
    scratch: Scratch,
    times: Times,
    cpu: Times,
}

impl<'a> Asked<'a> {
    fn new(data: &'a Data) -> Self {
        Self { data, scratch: Scratch::default(), times: Times::default(), cpu: Times::default() }
    }

    fn until(&mut self, set: &Set, is_over: impl Fn() -> bool) {
        let (queries, mut hits) = (&self.data.queries, Vec::with_capacity(K));
        let search = Search::new(K, None);
        for query in (0..queries.rows).cycle() {
            if is_over() {
                break;
            }
            let watch = Watch::start(Clock::Thread);
            set.search_with(&mut self.scratch, queries.row(query), &search, &mut hits);
            self.times.push(watch.wall());
            self.cpu.push(watch.cpu());
        }
    }
}
