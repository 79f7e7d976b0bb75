//! For tests: an embedder that needs no model, a chat model that reads from a script and a reranker that counts words.
//!
//! Public, so that tests of every room and of the program can use them. Not useful for: answering anyone. The vectors
//! know words, not meanings.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{Chat, ChatRequest, Completion, Embedder, Error, Finish, Reranker, Result, Usage, wordpiece::WordPiece};
use crate::types::{EmbeddingSpace, PROBE, Pooling};

const DIM: usize = 64;

/// Adds up a fixed random vector for each word of a text: texts that share words have similar vectors, and the same text
/// always has the same. Token limit and tokenizer are the built-in model's, so limits can be tested with it.
#[derive(Debug)]
pub struct FakeEmbedder {
    space: EmbeddingSpace,
    passages: AtomicUsize,
    /// How many passages are embedded before it fails.
    fails_after: usize,
}

impl Default for FakeEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeEmbedder {
    pub fn new() -> Self {
        Self::failing_after(usize::MAX)
    }

    /// Embeds that many passages, then every call fails with [`Error::Run`].
    pub fn failing_after(passages: usize) -> Self {
        let space = EmbeddingSpace {
            model: "fake-hash".to_owned(),
            revision: "1".to_owned(),
            sha256: String::new(),
            dim: DIM,
            pooling: Pooling::Inside,
            normalised: true,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: 254,
            tokenizer: WordPiece::NAME.to_owned(),
            multilingual: false,
            probe: vector(PROBE),
        };
        Self { space, passages: AtomicUsize::new(0), fails_after: passages }
    }

    /// How many passages were embedded until now.
    pub fn passages(&self) -> usize {
        self.passages.load(Ordering::SeqCst)
    }
}

impl Embedder for FakeEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<f32>> {
        let mut rows = Vec::with_capacity(texts.len() * DIM);
        for text in texts {
            let (model, limit) = (self.space.model.clone(), self.space.max_tokens);
            let found = WordPiece::builtin().count(text);
            if found > limit {
                return Err(Error::TextTooLong { model, found, limit });
            }
            if self.passages.fetch_add(1, Ordering::SeqCst) >= self.fails_after {
                self.passages.fetch_sub(1, Ordering::SeqCst);
                return Err(Error::Run { model, why: "it was told to fail".to_owned() });
            }
            rows.extend(vector(text));
        }
        Ok(rows)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(vector(text))
    }

    fn concurrency(&self) -> usize {
        2
    }

    fn batch_size(&self) -> usize {
        1
    }

    fn backend(&self) -> String {
        "fake".to_owned()
    }
}

/// The sum of the vectors of a text's words, each value of a word's vector 1 or -1; of length 1. A text without words
/// has a vector of its own.
fn vector(text: &str) -> Vec<f32> {
    let mut sum = [0f32; DIM];
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        let hash = blake3::hash(word.to_lowercase().as_bytes());
        for (i, value) in sum.iter_mut().enumerate() {
            let bit = hash.as_bytes()[i / 8] >> (i % 8) & 1;
            *value += if bit == 1 { 1.0 } else { -1.0 };
        }
    }
    // Words may cancel out too.
    if sum.iter().all(|&value| value == 0.0) {
        sum[0] = 1.0;
    }
    let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    sum.map(|value| value / length).to_vec()
}

/// Scores a passage by how often it has one word, whatever the query; is late where it has no time.
#[derive(Debug)]
pub struct FakeReranker {
    pub word: String,
}

impl Reranker for FakeReranker {
    fn rerank(&self, _: &str, passages: &[&str], budget: Duration) -> Result<Option<Vec<f32>>> {
        let score = |passage: &&str| passage.matches(self.word.as_str()).count() as f32;
        Ok((!budget.is_zero()).then(|| passages.iter().map(score).collect()))
    }

    fn name(&self) -> String {
        "fake".to_owned()
    }
}

/// One answer of a script.
#[derive(Debug)]
pub enum Reply {
    /// The pieces of a text as they come, and how it ends.
    Text { pieces: Vec<String>, finish: Finish },
    /// The pieces of a text, then a failure.
    Error { pieces: Vec<String>, error: Error },
}

impl Reply {
    /// A text that comes whole and ends well.
    pub fn text(text: &str) -> Self {
        Self::pieces(&[text])
    }

    /// A text that comes in these pieces and ends well.
    pub fn pieces(pieces: &[&str]) -> Self {
        Self::Text { pieces: owned(pieces), finish: Finish::Stop }
    }

    /// A text that comes whole and ends otherwise.
    pub fn finished(text: &str, finish: Finish) -> Self {
        Self::Text { pieces: owned(&[text]), finish }
    }

    /// A failure at once.
    pub fn error(error: Error) -> Self {
        Self::Error { pieces: Vec::new(), error }
    }
}

fn owned(pieces: &[&str]) -> Vec<String> {
    pieces.iter().map(|&piece| piece.to_owned()).collect()
}

/// Gives the replies of a script in order, whatever it is asked, and keeps the requests. A request after the last reply
/// fails with [`Error::Options`].
#[derive(Debug, Default)]
pub struct ScriptedChat {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<ChatRequest>>,
    context_tokens: Option<usize>,
}

impl ScriptedChat {
    /// The name it gives itself.
    pub const MODEL: &str = "scripted";

    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), ..Self::default() }
    }

    /// Says how many tokens prompt and answer may have together.
    pub fn with_context_tokens(self, tokens: usize) -> Self {
        Self { context_tokens: Some(tokens), ..self }
    }

    /// What it was asked until now, in order.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Chat for ScriptedChat {
    fn chat(&self, request: &ChatRequest, on_text: &mut dyn FnMut(&str) -> ControlFlow<()>) -> Result<Completion> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let reply = self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let (pieces, end) = match reply {
            Some(Reply::Text { pieces, finish }) => (pieces, Ok(finish)),
            Some(Reply::Error { pieces, error }) => (pieces, Err(error)),
            None => (Vec::new(), Err(Error::Options { what: "the script has no more replies".to_owned() })),
        };
        for piece in &pieces {
            if on_text(piece).is_break() {
                return Err(Error::Cancelled);
            }
        }
        let count = |text: &str| WordPiece::builtin().count(text) as u64;
        let text = pieces.concat();
        let usage = Usage {
            prompt_tokens: request.messages.iter().map(|message| count(&message.content)).sum(),
            completion_tokens: count(&text),
            estimated: true,
        };
        Ok(Completion { finish: end?, usage, text, model: Some(Self::MODEL.to_owned()) })
    }

    fn model(&self) -> &str {
        Self::MODEL
    }

    fn context_tokens(&self) -> Option<usize> {
        self.context_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Message, Role, same_space};

    fn cosine(a: &str, b: &str) -> f32 {
        vector(a).iter().zip(vector(b)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn shared_words_make_similar_vectors() {
        assert!((cosine("High water", "high WATER!") - 1.0).abs() < 1e-6);
        assert!(cosine("high water at night", "high water at noon") > 0.5);
        assert!(cosine("high water at night", "library card renewal form").abs() < 0.4);
        for text in ["", "...", "x"] {
            assert!((cosine(text, text) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn the_fake_embedder_keeps_the_contract() {
        let embedder = FakeEmbedder::failing_after(3);
        assert_eq!(same_space(embedder.space(), FakeEmbedder::new().space()), Ok(()));
        let rows = embedder.embed_passages(&["one", "two"]).expect("two passages");
        assert_eq!(rows, [vector("one"), vector("two")].concat());
        assert_eq!(embedder.embed_query("one").expect("a query"), vector("one"));
        let long = "word ".repeat(255);
        assert!(matches!(embedder.embed_passages(&[&long]), Err(Error::TextTooLong { found: 255, limit: 254, .. })));
        assert!(embedder.embed_passages(&["three", "four"]).is_err());
        assert_eq!(embedder.passages(), 3);
    }

    #[test]
    fn a_script_is_played_in_order() {
        let chat = ScriptedChat::new([
            Reply::pieces(&["High ", "water"]),
            Reply::finished("High", Finish::Truncated),
            Reply::Error { pieces: vec!["Hi".to_owned()], error: Error::CutOff { url: "x".to_owned() } },
            Reply::text("never seen"),
        ]);
        let message = |content: &str| Message { role: Role::User, content: content.to_owned() };
        let request = ChatRequest { messages: vec![message("when?")], max_tokens: 9, stream: true };
        let mut seen = Vec::new();
        let ask = |seen: &mut Vec<String>, go_on: ControlFlow<()>| {
            chat.chat(&request, &mut |text| {
                seen.push(text.to_owned());
                go_on
            })
        };
        let completion = ask(&mut seen, ControlFlow::Continue(())).expect("a text");
        assert_eq!((completion.text.as_str(), completion.finish), ("High water", Finish::Stop));
        assert_eq!((completion.usage.prompt_tokens, completion.usage.completion_tokens), (2, 2));
        let completion = ask(&mut seen, ControlFlow::Continue(())).expect("a text");
        assert_eq!(completion.finish, Finish::Truncated);
        assert!(matches!(ask(&mut seen, ControlFlow::Continue(())), Err(Error::CutOff { .. })));
        assert!(matches!(ask(&mut seen, ControlFlow::Break(())), Err(Error::Cancelled)));
        assert!(matches!(ask(&mut seen, ControlFlow::Continue(())), Err(Error::Options { .. })));
        assert_eq!(seen, ["High ", "water", "High", "Hi", "never seen"]);
        assert_eq!(chat.requests().len(), 5);
        assert_eq!(chat.requests()[0].messages, [message("when?")]);
    }
}
