//! A cross-encoder in a folder, on the runtime that is compiled in: `model.onnx` and the vocabulary of its tokenizer.
//!
//! The tokenizer is this program's own, so the model has to speak the vocabulary of BERT's uncased models, as the MiniLM
//! cross-encoders trained on MS MARCO do. Not for: other tokenizers; those models are reached at an endpoint.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueView};

use crate::model::{
    Error, Reranker, Result,
    wordpiece::{CLOSE, OPEN, WordPiece},
};

/// Tokens of query and passage together, special ones included, where `config.json` does not say.
const MAX_TOKENS: usize = 512;
/// Tokens of a query; the rest is the passage's.
const MAX_QUERY_TOKENS: usize = 128;

/// A cross-encoder that runs in this process.
pub struct LocalReranker {
    folder: PathBuf,
    model: Model,
    input_ids: NodeId,
    attention_mask: Option<NodeId>,
    token_type_ids: Option<NodeId>,
    output: NodeId,
    max_tokens: usize,
}

impl LocalReranker {
    /// Loads `model.onnx` (or `onnx/model.onnx`) of a folder. Errors: `Io` for files that are missing; `Options` for a
    /// vocabulary that is not BERT's uncased one; `Run` for a graph that cannot be run.
    pub fn load(folder: &Path) -> Result<Self> {
        check_vocabulary(folder)?;
        let at = [folder.join("model.onnx"), folder.join("onnx/model.onnx")];
        let path = at.iter().find(|path| path.is_file()).unwrap_or(&at[0]);
        if let Err(source) = fs::metadata(path) {
            return Err(Error::Io { act: "read", path: path.clone(), source });
        }
        let failed = |why: String| Error::Run { model: folder.display().to_string(), why };
        let model = ModelOptions::with_all_ops().load_file(path).map_err(|error| failed(error.to_string()))?;
        let input_ids = model.node_id("input_ids").map_err(|error| failed(error.to_string()))?;
        let output = *model.output_ids().first().ok_or_else(|| failed("the graph has no output".into()))?;
        Ok(Self {
            folder: folder.to_owned(),
            input_ids,
            attention_mask: model.find_node("attention_mask"),
            token_type_ids: model.find_node("token_type_ids"),
            output,
            max_tokens: max_tokens(folder),
            model,
        })
    }

    /// The score of one passage: the model's one logit, or of two the difference.
    fn score(&self, query: &[u32], passage: &str, pool: &Arc<ThreadPool>) -> Result<f32, String> {
        let room = self.max_tokens.saturating_sub(query.len() + 3);
        let passage = WordPiece::builtin().encode_at_most(passage, room);
        let ids: Vec<i32> =
            [&[OPEN], query, &[CLOSE], &passage, &[CLOSE]].concat().iter().map(|id| id.cast_signed()).collect();
        let second = query.len() + 2;
        let types: Vec<i32> = (0..ids.len()).map(|at| i32::from(at >= second)).collect();
        let mask = vec![1i32; ids.len()];
        let row = |values| ValueView::from_shape([1, ids.len()], values).map_err(|error| error.to_string());
        let mut inputs = vec![(self.input_ids, row(&ids)?.into())];
        for (node, values) in [(self.attention_mask, &mask), (self.token_type_ids, &types)] {
            if let Some(node) = node {
                inputs.push((node, row(values)?.into()));
            }
        }
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let [out] = self.model.run_n(inputs, [self.output], Some(options)).map_err(|error| error.to_string())?;
        let (shape, values) = Value::into_shape_vec::<f32, 2>(out).map_err(|error| error.to_string())?;
        match values[..] {
            [score] => Ok(score),
            [no, yes] => Ok(yes - no),
            _ => Err(format!("its output has the shape {shape:?}, one score expected")),
        }
    }
}

impl Reranker for LocalReranker {
    /// Passages are shared among the cores; each is one run of one thread, after which the clock is looked at.
    fn rerank(&self, query: &str, passages: &[&str], budget: Duration) -> Result<Option<Vec<f32>>> {
        let end = Instant::now() + budget;
        let query = WordPiece::builtin().encode_at_most(query, MAX_QUERY_TOKENS.min(self.max_tokens / 2));
        let (next, late) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || -> Result<Vec<(usize, f32)>, String> {
            let pool = Arc::new(ThreadPool::with_num_threads(1));
            let mut scores = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(passage) = passages.get(at) else { return Ok(scores) };
                if Instant::now() >= end {
                    late.store(true, Ordering::Relaxed);
                    return Ok(scores);
                }
                scores.push((at, self.score(&query, passage, &pool)?));
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(passages.len()).max(1);
        let parts: Vec<Result<Vec<(usize, f32)>, String>> = thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked))
            };
            running.into_iter().map(join).collect()
        });
        let mut all = vec![0.0; passages.len()];
        for part in parts {
            for (at, score) in part.map_err(|why| Error::Run { model: self.name(), why })? {
                all[at] = score;
            }
        }
        Ok((!late.into_inner()).then_some(all))
    }

    fn name(&self) -> String {
        self.folder.file_name().unwrap_or(self.folder.as_os_str()).to_string_lossy().into_owned()
    }
}

/// Looks into `vocab.txt`, or else into the vocabulary of `tokenizer.json`.
fn check_vocabulary(folder: &Path) -> Result<()> {
    let other = |what: &str| Error::Options {
        what: format!(
            "the model in `{}` {what}; models with the vocabulary of bert-base-uncased run here, others at an endpoint (`rerank.url`)",
            folder.display()
        ),
    };
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|source| Error::Io { act: "read", path, source })
    };
    let lines = if folder.join("vocab.txt").is_file() {
        read("vocab.txt")?
    } else {
        let json: serde_json::Value = serde_json::from_slice(&read("tokenizer.json")?)
            .map_err(|_| other("has a `tokenizer.json` that is no JSON"))?;
        let pieces = json["model"]["vocab"].as_object().ok_or_else(|| other("has another kind of tokenizer"))?;
        let mut pieces: Vec<(u64, &str)> =
            pieces.iter().filter_map(|(piece, id)| Some((id.as_u64()?, piece.as_str()))).collect();
        pieces.sort_unstable();
        pieces.into_iter().map(|(_, piece)| piece).collect::<Vec<_>>().join("\n").into_bytes()
    };
    if WordPiece::builtin().has_vocabulary(&lines) { Ok(()) } else { Err(other("has another vocabulary")) }
}

/// What the model reads, by its `config.json`.
fn max_tokens(folder: &Path) -> usize {
    let config = fs::read(folder.join("config.json")).ok();
    let config = config.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    let stated = config.and_then(|config| config["max_position_embeddings"].as_u64());
    stated.and_then(|tokens| usize::try_from(tokens).ok()).map_or(MAX_TOKENS, |tokens| tokens.clamp(16, 8192))
}

#[cfg(test)]
mod tests;
