//! Writing an index and opening it again.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use rag::index::vector::{Bits, NewRow, Segment, SegmentOptions, Set, Tombstones, write_segment};
use serde_json::{Map, Value, json};

use crate::{
    Result, data, emit,
    map::map,
    measure::{Clock, Watch, megabytes, memory_mb, round},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Codes that are scanned.
    Flat,
    /// Codes and a graph that is walked.
    Graph,
}

impl Kind {
    pub fn peer(self) -> &'static str {
        match self {
            Self::Flat => "rag-flat",
            Self::Graph => "rag-graph",
        }
    }
}

/// How an index is built; what is not said is the core's default.
#[derive(Args, Clone)]
pub struct Options {
    /// 0: as many as there are cores. Has no say in the bytes.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    #[arg(long)]
    m: Option<usize>,
    #[arg(long)]
    ef_construction: Option<usize>,
    /// Bits a value of the codes that are walked over.
    #[arg(long)]
    bits: Option<usize>,
}

impl Options {
    pub fn segment(&self, data: &data::Data, kind: Kind) -> Result<SegmentOptions> {
        let graph_from = match kind {
            Kind::Flat => usize::MAX,
            Kind::Graph => 0,
        };
        let mut options =
            SegmentOptions { metric: data.metric, graph_from, threads: self.threads, ..SegmentOptions::default() };
        let graph = &mut options.graph;
        graph.m = self.m.unwrap_or(graph.m);
        graph.ef_construction = self.ef_construction.unwrap_or(graph.ef_construction);
        if let Some(bits) = self.bits {
            graph.bits = Some(Bits::of(bits).ok_or("1, 2, 4 or 8 bits expected")?);
        }
        Ok(options)
    }
}

#[derive(Args)]
pub struct Build {
    #[command(flatten)]
    set: data::SetArgs,
    /// The index; `FILE.json` gets what is printed.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[arg(long, value_enum)]
    kind: Kind,
    #[command(flatten)]
    options: Options,
}

impl Build {
    pub fn run(&self) -> Result<()> {
        let data = self.set.open()?;
        let options = self.options.segment(&data, self.kind)?;
        // In memory before the clock runs, as for every other engine.
        let values = data.base()?.values().to_vec();
        let rows = data::rows_of(&values, data.dim(), 0);
        let watch = Watch::start(Clock::Process);
        write(&self.out, data.dim(), &rows, &options)?;
        let line = json!({
            "build_s": round(watch.wall(), 2),
            "build_cpu_s": round(watch.cpu(), 2),
            "build_peak_mb": round(memory_mb("VmHWM"), 1),
            "disk_mb": round(megabytes(fs::metadata(&self.out)?.len()), 1),
        });
        fs::write(beside(&self.out), line.to_string())?;
        emit(&line)
    }
}

fn beside(index: &Path) -> PathBuf {
    let mut name = index.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// What `build` said of an index; nothing if it was not asked.
pub fn built(index: &Path) -> Map<String, Value> {
    let parsed = fs::read(beside(index)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    parsed.unwrap_or_default()
}

pub fn write(path: &Path, dim: usize, rows: &[NewRow<'_>], options: &SegmentOptions) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    write_segment(dim, rows, options, &mut out)?;
    Ok(out.flush()?)
}

pub fn segment(path: &Path) -> Result<Segment> {
    Ok(Segment::open(Arc::new(map(path)?))?)
}

/// A set of one segment.
pub fn open(path: &Path) -> Result<Set> {
    let segment = segment(path)?;
    Ok(Set::new(segment.dim(), vec![(segment, Tombstones::default())]))
}
