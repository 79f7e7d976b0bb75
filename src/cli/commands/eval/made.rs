//! Questions made from the documents of an index: how many are looked at, and the files that keep a set.

use std::{fs, path::Path};

use rag::{
    index::{ChunkRecord, Snapshot},
    retrieve::eval::{
        Qrels, Question,
        auto::{self, Made},
    },
    types::Kind,
};

use super::set::Set;
use crate::cli::report::Failure;

/// Chunks looked at; of a larger index those of some documents, spread over all.
const MAX_CHUNKS: usize = 20_000;
/// Fewer questions say nothing.
const MIN_QUESTIONS: usize = 5;

/// How questions are made.
#[derive(Debug, Clone, clap::Args)]
pub struct MakeArgs {
    /// Make so many questions
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub questions: u32,
    /// Make other questions with another number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Made questions, and what they were made from.
pub struct MadeSet {
    pub made: Vec<Made>,
    pub chunks: Vec<ChunkRecord>,
}

impl MadeSet {
    /// Errors: the documents give too few questions.
    pub fn new(snapshot: &Snapshot, collection: Option<&str>, args: &MakeArgs) -> Result<Self, Failure> {
        let sources = snapshot.sources(collection)?;
        let total: usize = sources.iter().map(|source| source.chunks as usize).sum();
        // Every n-th document, so that the same index gives the same ones.
        let step = total.div_ceil(MAX_CHUNKS).max(1);
        let mut chunks = Vec::new();
        for source in sources.iter().step_by(step) {
            chunks.extend(snapshot.chunks_of(source.id)?);
        }
        let made = auto::make(&chunks, args.questions as usize, args.seed);
        if made.len() < MIN_QUESTIONS {
            let what =
                format!("{} chunks give {} questions, which are too few to measure anything", chunks.len(), made.len());
            return Err(Failure::usage(what).hint("write your own: `--queries FILE --qrels FILE`"));
        }
        Ok(Self { made, chunks })
    }

    /// The questions with the chunks that answer them.
    pub fn set(&self) -> Result<Set, Failure> {
        let mut qrels = Qrels::default();
        let mut questions = Vec::new();
        for (made, number) in self.made.iter().zip(1..) {
            let id = id(made, number);
            let answers = self.chunks.iter().filter(|chunk| made.is_answered_by(chunk));
            answers.for_each(|chunk| qrels.judge(&id, &chunk.id.to_string(), 1));
            questions.push(Question { id, text: made.text.clone() });
        }
        Set::new(questions, qrels)
    }

    /// Writes the set to a folder, which is made. Errors: it holds a set already.
    pub fn write(&self, dir: &Path, set: &Set) -> Result<(), Failure> {
        let failed = |path: &Path, error: std::io::Error| {
            Failure::new(Kind::Io, format!("cannot write `{}`: {error}", path.display()))
        };
        fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
        let document = |chunk: &ChunkRecord| {
            let title: Vec<&str> = chunk.title.iter().chain(&chunk.heading).map(String::as_str).collect();
            serde_json::json!({"_id": chunk.id.to_string(), "title": title.join(" > "), "text": chunk.text})
        };
        let question = |question: &Question| serde_json::json!({"_id": question.id, "text": question.text});
        let lines =
            |values: Vec<serde_json::Value>| values.iter().map(|value| format!("{value}\n")).collect::<String>();
        for (name, text) in [
            ("corpus.jsonl", lines(self.chunks.iter().map(document).collect())),
            ("queries.jsonl", lines(set.questions.iter().map(question).collect())),
            ("qrels.tsv", set.qrels.to_tsv()),
        ] {
            let path = dir.join(name);
            if path.exists() {
                return Err(Failure::usage(format!("`{}` is there already", path.display())).hint("name a new folder"));
            }
            fs::write(&path, text).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }
}

/// The id of a made question says what it was made from.
pub fn id(made: &Made, number: usize) -> String {
    format!("{}-{number}", made.from.word())
}
