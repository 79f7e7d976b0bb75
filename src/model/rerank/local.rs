//! A cross-encoder in a folder, on the runtime that is compiled in. The layout of the folder: [`folder`](crate::model::folder).

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::model::{
    Error, Reranker, Result,
    folder::{Card, Graph, Tokens},
};

/// A cross-encoder that runs in this process.
pub struct LocalReranker {
    folder: PathBuf,
    graph: Graph,
    tokens: Tokens,
    max_tokens: usize,
}

impl LocalReranker {
    /// Loads a model from a folder. Errors: `Io` for files that are missing; `Options` for a tokenizer that cannot be read;
    /// `Run` for a graph that cannot be run.
    pub fn load(folder: &Path) -> Result<Self> {
        Ok(Self {
            tokens: Tokens::load(folder)?,
            graph: Graph::load(folder, false)?,
            max_tokens: Card::of(folder)?.max_tokens,
            folder: folder.to_owned(),
        })
    }

    /// The score of one passage: the model's one logit, or of two the difference.
    fn score(&self, query: &str, passage: &str) -> Result<f32, String> {
        let (shape, values) = self.graph.run(&self.tokens.pair(query, passage, self.max_tokens)?)?;
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
        let (next, late) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || -> Result<Vec<(usize, f32)>, String> {
            let mut scores = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(passage) = passages.get(at) else { return Ok(scores) };
                if Instant::now() >= end {
                    late.store(true, Ordering::Relaxed);
                    return Ok(scores);
                }
                scores.push((at, self.score(query, passage)?));
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

#[cfg(test)]
mod tests;
