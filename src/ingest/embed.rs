//! Chunks' texts to vectors: a queue that all embedding threads share, and the threads' work.
//!
//! A thread takes as many texts as one call is to carry, or what there is: under load batches are full, and nothing ever
//! waits for a batch to fill. Order does not matter; each vector comes back with the hash of its text.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use super::{Error, Result};
use crate::{
    model::{self, Embedder},
    types::Cancel,
};

/// First 16 bytes of blake3 over a text.
pub type Hash = [u8; 16];

/// More threads are never used, whatever an embedder says.
pub const MAX_THREADS: usize = 64;

/// How long the caller of [`all`] sleeps at most before it looks at the request to stop.
const TICK: Duration = Duration::from_millis(50);

/// How often a text that the model calls too long is shortened before the run gives up.
const SHORTENINGS: usize = 6;

/// The texts that wait to be embedded. Bounded by the feed's tickets.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<(Hash, String)>,
    ended: bool,
}

/// The vector of a text.
#[derive(Debug)]
pub struct Embedded {
    pub hash: Hash,
    pub text: String,
    pub vector: Vec<f32>,
    /// The model's own tokenizer found it too long, so its end has no part in the vector.
    pub shortened: bool,
}

impl Queue {
    pub fn push(&self, hash: Hash, text: String) {
        self.state().waiting.push_back((hash, text));
        self.changed.notify_one();
    }

    /// Drops what waits; every thread ends after the call it is in.
    pub fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.waiting.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Up to `most` texts, as soon as there is one; `None` at the end.
    fn take(&self, most: usize) -> Option<Vec<(Hash, String)>> {
        let mut state = self.state();
        loop {
            if state.ended {
                return None;
            }
            if !state.waiting.is_empty() {
                let count = most.clamp(1, state.waiting.len());
                return Some(state.waiting.drain(..count).collect());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Embeds all texts on as many threads as the embedder wants; on `cancel` those that are done by then. `observe` gets the
/// number of each batch, from this thread. Errors: the first failure of the model.
pub fn all(
    embedder: &dyn Embedder,
    texts: Vec<(Hash, String)>,
    cancel: &Cancel,
    observe: &dyn Fn(u64),
) -> Result<Vec<Embedded>> {
    let (wanted, queue) = (texts.len(), Queue::default());
    if wanted == 0 {
        return Ok(Vec::new());
    }
    for (hash, text) in texts {
        queue.push(hash, text);
    }
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        for at in 0..embedder.concurrency().clamp(1, MAX_THREADS).min(wanted) {
            let (tell, queue) = (tell.clone(), &queue);
            let run = move || work(queue, embedder, &|result| tell.send(result).is_ok());
            let started = thread::Builder::new().name(format!("embed-{at}")).spawn_scoped(scope, run);
            if let Err(source) = started {
                queue.end();
                return Err(Error::Thread { what: format!("cannot start a thread: {source}") });
            }
        }
        drop(tell);
        let mut done = Vec::with_capacity(wanted);
        while done.len() < wanted && !cancel.is_asked() {
            match told.recv_timeout(TICK) {
                Ok(Ok(batch)) => {
                    observe(batch.len() as u64);
                    done.extend(batch);
                }
                Ok(Err(error)) => {
                    queue.end();
                    return Err(error.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        queue.end();
        Ok(done)
    })
}

/// Embeds until the queue ends or the model fails; hands each batch, or the one failure, to `tell`, which says whether to
/// go on.
pub fn work(queue: &Queue, embedder: &dyn Embedder, tell: &dyn Fn(model::Result<Vec<Embedded>>) -> bool) {
    while let Some(batch) = queue.take(embedder.batch_size()) {
        let result = catch_unwind(AssertUnwindSafe(|| embed(embedder, batch))).unwrap_or_else(|_| {
            let model = embedder.space().model.clone();
            Err(model::Error::Run { model, why: "it panicked".to_owned() })
        });
        let failed = result.is_err();
        if !tell(result) || failed {
            return;
        }
    }
}

fn embed(embedder: &dyn Embedder, batch: Vec<(Hash, String)>) -> model::Result<Vec<Embedded>> {
    let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
    match embedder.embed_passages(&texts) {
        Ok(rows) => {
            let vectors = split(embedder, &rows, batch.len())?;
            let made = batch.into_iter().zip(vectors);
            Ok(made.map(|((hash, text), vector)| Embedded { hash, text, vector, shortened: false }).collect())
        }
        Err(model::Error::TextTooLong { .. }) => {
            batch.into_iter().map(|(hash, text)| embed_shortened(embedder, hash, text)).collect()
        }
        Err(error) => Err(error),
    }
}

/// Embeds one text, or as much of its beginning as the model reads. We count with one tokenizer, the model may have
/// another: one long text is no reason to end the run.
fn embed_shortened(embedder: &dyn Embedder, hash: Hash, text: String) -> model::Result<Embedded> {
    let mut end = text.len();
    let mut attempt = 0;
    loop {
        match embedder.embed_passages(&[&text[..end]]) {
            Ok(rows) => {
                let vector = split(embedder, &rows, 1)?.remove(0);
                let shortened = end < text.len();
                return Ok(Embedded { hash, text, vector, shortened });
            }
            Err(model::Error::TextTooLong { found, limit, .. }) if attempt < SHORTENINGS && end > 0 => {
                attempt += 1;
                // A little less than in proportion, for tokens are not spread evenly.
                let share = (limit as u128 * 9 * end as u128) / (found.max(1) as u128 * 10);
                end = text.floor_char_boundary(usize::try_from(share).unwrap_or(0).min(end - 1));
            }
            Err(error) => return Err(error),
        }
    }
}

/// One vector for each text.
fn split(embedder: &dyn Embedder, rows: &[f32], texts: usize) -> model::Result<Vec<Vec<f32>>> {
    let space = embedder.space();
    let wrong = |why: String| Err(model::Error::Run { model: space.model.clone(), why });
    if space.dim == 0 || rows.len() != texts * space.dim {
        return wrong(format!("{texts} texts gave {} values, not {} each", rows.len(), space.dim));
    }
    if !rows.iter().all(|value| value.is_finite()) {
        return wrong("a value of a vector is not a number".to_owned());
    }
    Ok(rows.chunks_exact(space.dim).map(<[f32]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::{model::fake::FakeEmbedder, types::EmbeddingSpace};

    /// Counts words as tokens and reads four of them; takes three texts a call.
    struct FourWords(FakeEmbedder, AtomicUsize);

    impl Embedder for FourWords {
        fn space(&self) -> &EmbeddingSpace {
            self.0.space()
        }
        fn embed_passages(&self, texts: &[&str]) -> model::Result<Vec<f32>> {
            self.1.fetch_max(texts.len(), Ordering::SeqCst);
            for text in texts {
                let found = text.split_whitespace().count();
                if found > 4 {
                    return Err(model::Error::TextTooLong { model: "four".into(), found, limit: 4 });
                }
                assert!(!text.contains("panic"));
            }
            self.0.embed_passages(texts)
        }
        fn embed_query(&self, text: &str) -> model::Result<Vec<f32>> {
            self.0.embed_query(text)
        }
        fn concurrency(&self) -> usize {
            1
        }
        fn batch_size(&self) -> usize {
            3
        }
        fn backend(&self) -> String {
            "four words".into()
        }
    }

    /// What comes back for the texts, in order; the last may be an error.
    fn run(texts: &[&str]) -> (Vec<model::Result<Embedded>>, usize) {
        let (queue, embedder) = (Queue::default(), FourWords(FakeEmbedder::new(), AtomicUsize::new(0)));
        for (at, text) in texts.iter().enumerate() {
            queue.push([at as u8; 16], (*text).to_owned());
        }
        let back = Mutex::new(Vec::new());
        work(&queue, &embedder, &|result| {
            let mut back = back.lock().unwrap();
            match result {
                Ok(batch) => back.extend(batch.into_iter().map(Ok)),
                Err(error) => back.push(Err(error)),
            }
            if back.len() == texts.len() {
                queue.end();
            }
            true
        });
        (back.into_inner().unwrap(), embedder.1.into_inner())
    }

    #[test]
    fn batches_are_filled_and_each_text_gets_its_vector() {
        let texts = ["a", "b", "c", "d", "e"];
        let (back, largest) = run(&texts);
        assert_eq!(largest, 3);
        for (at, embedded) in back.iter().enumerate() {
            let embedded = embedded.as_ref().unwrap();
            assert_eq!((embedded.hash, embedded.text.as_str()), ([at as u8; 16], texts[at]));
            assert_eq!(embedded.vector, FakeEmbedder::new().embed_passages(&[texts[at]]).unwrap());
        }
    }

    #[test]
    fn a_text_too_long_for_the_models_own_tokenizer_is_shortened() {
        let (back, _) = run(&["short", "one two three four five six seven eight", "short too"]);
        let shortened: Vec<bool> = back.iter().map(|embedded| embedded.as_ref().unwrap().shortened).collect();
        assert_eq!(shortened, [false, true, false]);
        assert!(back[1].as_ref().unwrap().text.ends_with("eight"));
    }

    #[test]
    fn a_panic_of_the_model_is_its_failure() {
        let (back, _) = run(&["panic"]);
        assert!(matches!(&back[0], Err(model::Error::Run { .. })));
    }
}
