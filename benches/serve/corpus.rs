//! A collection from a seed: words by Zipf's law, topics, and a vector for each chunk that lies near those of its topic.
//!
//! Vectors come along with the lines, so that nothing is embedded but the one text that proves the model.

use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::Args;
use rag::{
    index::{ChunkRecord, SourceRecord},
    ingest::IMPORT_ROOT,
    types::{SourcePath, Span},
};
use serde_json::{Value, json};

use crate::{Program, Result};

/// Words of a chunk: few enough for the model to read it whole.
const WORDS: usize = 70;
const CHUNKS_OF_DOCUMENT: usize = 10;
const TOPICS: u64 = 1000;
const VOCABULARY: f64 = 30_000.0;
/// Vectors of one topic are so much noise beside what they share.
const NOISE: f32 = 0.7;

/// Sebastiano Vigna's SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0..1
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Near enough to the normal distribution: a sum of four.
    fn bell(&mut self) -> f32 {
        (0..4).map(|_| self.share() as f32 - 0.5).sum::<f32>() * 1.732
    }
}

/// The word of a rank: syllables, the more of them the rarer it is.
fn word(mut rank: u64) -> String {
    let mut word = String::new();
    loop {
        let syllable = rank % 100;
        word.push(char::from(b"bcdfghjklmnprstvwxyz"[(syllable / 5) as usize]));
        word.push(char::from(b"aeiou"[(syllable % 5) as usize]));
        rank /= 100;
        if rank == 0 {
            return if word.len() < 4 { word + "n" } else { word };
        }
    }
}

/// A word by Zipf's law, one in three of the topic's own.
fn any_word(random: &mut Random, topic: u64) -> String {
    let rank = (VOCABULARY.powf(random.share()) - 1.0) as u64;
    let own = random.share() < 0.33;
    word(if own { 30_000 + topic * 30 + rank % 30 } else { rank })
}

fn sentence(random: &mut Random, topic: u64, words: usize) -> String {
    (0..words).map(|_| any_word(random, topic)).collect::<Vec<_>>().join(" ")
}

/// Requests of three to six words, of topics that the collection has.
pub fn questions(seed: u64, count: usize) -> Vec<String> {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut question = || {
        let (topic, words) = (random.next() % TOPICS, 3 + random.next() as usize % 4);
        sentence(&mut random, topic, words)
    };
    (0..count).map(|_| question()).collect()
}

fn vector(seed: u64, topic: u64, random: &mut Random, dim: usize) -> Vec<f32> {
    let mut centre = Random::new(seed ^ topic.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let raw: Vec<f32> = (0..dim).map(|_| centre.bell() + NOISE * random.bell()).collect();
    let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    raw.iter().map(|x| (x / length * 1e5).round() / 1e5).collect()
}

/// Which collection.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    pub collection: &'a str,
    pub seed: u64,
    pub chunks: usize,
}

/// One line of documents for `rag import`.
fn document(of: &Of<'_>, number: usize, chunks: usize, space: &Value) -> Result<Value> {
    let Of { collection, seed, .. } = *of;
    let mut random = Random::new(seed.wrapping_mul(1_000_003) ^ number as u64);
    let topic = random.next() % TOPICS;
    let path = format!("d{number:06}.txt");
    let source = SourceRecord::id_of(collection, IMPORT_ROOT, &SourcePath::from_spelling(path.as_str()));
    let dim = space["dim"].as_u64().ok_or("a space has no dimension")? as usize;
    let mut at = 0;
    let mut told = Vec::with_capacity(chunks);
    for _ in 0..chunks {
        let text = sentence(&mut random, topic, WORDS) + ".";
        let span = Span::new(at, at + text.len());
        at = span.end + 1;
        let hash = blake3::hash(text.as_bytes()).to_hex();
        told.push(json!({
            "chunk_id": ChunkRecord::id_of(source, span, &text).to_string(), "byte_range": [span.start, span.end], "lang": "en",
            "tokens": 180, "fertility": 1.2, "code_share": 0.0, "embed_hash": &hash[..32],
            "vector": vector(seed, topic, &mut random, dim), "text": text,
        }));
    }
    Ok(
        json!({"path": path, "collection": collection, "type": "text", "lang": "en", "text_bytes": at, "space": space, "chunks": told}),
    )
}

/// A line that an export wrote: it names the space, and its vector is the model's own.
fn proof(program: &Program, collection: &str, flags: &[String], folder: &Path) -> Result<Value> {
    let (index, text) = (folder.join("proof.rag"), folder.join("proof.txt"));
    std::fs::write(&text, "The weir is opened at high water.\n")?;
    let mut ingest = Command::new(&program.rag);
    run(ingest.args(["ingest", "--quiet", "--collection", collection, "--index"]).arg(&index).args(flags).arg(&text))?;
    let mut export = Command::new(&program.rag);
    let told = export.args(["export", "--vectors", "--quiet", "--index"]).arg(&index).output()?;
    Ok(serde_json::from_slice(told.stdout.split(|byte| *byte == b'\n').next().unwrap_or_default())?)
}

fn run(command: &mut Command) -> Result<()> {
    let ran = command.stdin(Stdio::null()).output()?;
    if !ran.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&ran.stderr)).into());
    }
    Ok(())
}

/// Fills an index with `chunks` chunks. `flags`: which model embeds. Returns the seconds it took.
pub fn fill(program: &Program, flags: &[String], of: Of<'_>, index: &Path) -> Result<f64> {
    let begun = std::time::Instant::now();
    let folder = tempfile::tempdir()?;
    let first = proof(program, of.collection, flags, folder.path())?;
    let mut command = Command::new(&program.rag);
    command.args(["import", "--json", "--quiet", "--index"]).arg(index).args(flags).arg("-");
    let mut import = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    {
        let mut out = BufWriter::new(import.stdin.take().ok_or("no pipe")?);
        writeln!(out, "{first}")?;
        write_lines(&mut out, of, &first["space"])?;
        out.flush()?;
    }
    let told = import.wait_with_output()?;
    let report: Value = serde_json::from_slice(&told.stdout)?;
    // The lines' own vectors were taken, or the figures would be those of another collection.
    if !told.status.success() || report["chunks"]["embedded"].as_u64().is_none_or(|embedded| embedded > 1) {
        return Err(format!("the import went otherwise than planned: {}", report["chunks"]).into());
    }
    Ok(begun.elapsed().as_secs_f64())
}

fn write_lines(out: &mut impl Write, of: Of<'_>, space: &Value) -> Result<()> {
    for (number, at) in (0..of.chunks).step_by(CHUNKS_OF_DOCUMENT).enumerate() {
        writeln!(out, "{}", document(&of, number, CHUNKS_OF_DOCUMENT.min(of.chunks - at), space)?)?;
    }
    Ok(())
}

#[derive(Args)]
pub struct Lines {
    #[command(flatten)]
    program: Program,
    #[arg(long, default_value_t = 20_000)]
    chunks: usize,
    /// Write here.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Lines {
    pub fn run(self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let of = Of { collection: "default", seed: self.program.seed, chunks: self.chunks };
        let first = proof(&self.program, of.collection, &[], folder.path())?;
        let mut out = BufWriter::new(std::fs::File::create(&self.out)?);
        write_lines(&mut out, of, &first["space"])?;
        Ok(out.flush()?)
    }
}
