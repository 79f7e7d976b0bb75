//! Answers to questions that mean the same in other words; only where the operator asks for it.
//!
//! Two questions share an answer if they come from the same client, with the same instructions and settings, if their vectors
//! are as near as the threshold wants, and if nothing that can be compared exactly differs
//! ([`difference`]: numbers, dates, quotations, negations, names). Not for conversations: one question, no history.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value};

use super::{
    identity::Key,
    rules::{Endpoint, telling},
};
use crate::{model::Embedder, retrieve::difference};

/// The longest question in tokens, counted roughly; a model with a shorter window sets its own limit.
const MAX_QUESTION_TOKENS: usize = 8000;
/// Of one kind of question so many are compared, the newest ones.
const MAX_COMPARED: usize = 20_000;

/// Compares questions by meaning.
pub struct Semantic {
    threshold: f32,
    embedder: Arc<dyn Embedder>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Questions that differ in nothing but their text, oldest first.
    groups: HashMap<Key, VecDeque<(Key, Question)>>,
    /// Which group a question is in.
    group_of: HashMap<Key, Key>,
}

impl Known {
    fn forget(&mut self, key: &Key) {
        let Some(of) = self.group_of.remove(key) else { return };
        let Some(group) = self.groups.get_mut(&of) else { return };
        group.retain(|(known, _)| known != key);
        if group.is_empty() {
            self.groups.remove(&of);
        }
    }

    fn learn(&mut self, key: Key, question: Question) {
        self.forget(&key);
        let of = question.group;
        let group = self.groups.entry(of).or_default();
        group.push_back((key, question));
        self.group_of.insert(key, of);
        // The oldest would not be compared any more.
        if group.len() > MAX_COMPARED
            && let Some((oldest, _)) = group.pop_front()
        {
            self.group_of.remove(&oldest);
        }
    }
}

impl std::fmt::Debug for Semantic {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Semantic").field("threshold", &self.threshold).finish_non_exhaustive()
    }
}

/// A question and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub group: Key,
    pub text: String,
    pub vector: Vec<f32>,
    /// Which embedder made the vector.
    space: [u8; 8],
}

/// A question that is near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    pub key: Key,
    pub similarity: f32,
}

impl Semantic {
    /// `threshold`: the least cosine, 0..1.
    pub fn new(threshold: f32, embedder: Arc<dyn Embedder>) -> Self {
        Self { threshold, embedder, known: Mutex::default() }
    }

    fn space(&self) -> [u8; 8] {
        let hash = blake3::hash(self.embedder.space().folder().as_bytes());
        let mut space = [0; 8];
        space.copy_from_slice(&hash.as_bytes()[..8]);
        space
    }

    /// The question of a request as it is compared. `None`: it cannot be embedded whole. Takes the time of an embedding.
    pub fn question(&self, group: Key, text: String) -> Option<Question> {
        // A text that the model does not read to its end would equal every other with the same beginning.
        let mut vector = self.embedder.embed_passages(&[&text]).ok()?;
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if !(length.is_finite() && length > 0.0) {
            return None;
        }
        vector.iter_mut().for_each(|x| *x /= length);
        Some(Question { group, text, vector, space: self.space() })
    }

    /// The nearest question whose answer fits, of those that `is_there` still has; the newest of equals. O(questions of the
    /// group); only those that are near are looked for.
    pub fn nearest(&self, question: &Question, is_there: impl Fn(&Key) -> bool) -> Option<Near> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let group = known.groups.get(&question.group)?;
        let mut near: Vec<(f32, &(Key, Question))> = group
            .iter()
            .rev()
            .map(|known| (cosine(&question.vector, &known.1.vector), known))
            .filter(|(similarity, _)| *similarity >= self.threshold)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut gone, mut found) = (Vec::new(), None);
        for (similarity, (key, other)) in near {
            if !is_there(key) {
                gone.push(*key);
            } else if difference(&question.text, &other.text).is_none() {
                found = Some(Near { key: *key, similarity });
                break;
            }
        }
        gone.iter().for_each(|key| known.forget(key));
        found
    }

    /// Remembers a question with the key of its answer. One of another embedder is not remembered.
    pub fn learn(&self, key: Key, question: Question) {
        if question.space != self.space() || question.vector.len() != self.embedder.space().dim {
            return;
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).learn(key, question);
    }

    pub fn forget(&self, key: &Key) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).forget(key);
    }

    pub fn clear(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Known::default();
    }
}

impl Question {
    /// Group, embedder, dimension, vector, text.
    pub fn encoded(&self) -> Vec<u8> {
        let mut out = self.group.to_vec();
        out.extend_from_slice(&self.space);
        out.extend_from_slice(&u32::try_from(self.vector.len()).unwrap_or(0).to_le_bytes());
        self.vector.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
        out.extend_from_slice(self.text.as_bytes());
        out
    }

    /// Reads what [`encoded`](Self::encoded) wrote. `None`: something else.
    pub fn decoded(bytes: &[u8]) -> Option<Self> {
        let (group, rest) = bytes.split_first_chunk::<32>()?;
        let (space, rest) = rest.split_first_chunk::<8>()?;
        let (dim, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*dim)).ok()?.checked_mul(4)?;
        let (vector, text) = rest.split_at_checked(length)?;
        let vector = vector.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Some(Self { group: *group, text: String::from_utf8(text.to_vec()).ok()?, vector, space: *space })
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() { 0.0 } else { a.iter().zip(b).map(|(x, y)| x * y).sum() }
}

/// The one question of a request, and the request with the question taken out. `None`: a conversation, or not text alone.
pub fn single_turn(endpoint: Endpoint, body: &Map<String, Value>) -> Option<(Value, String)> {
    let mut rest = telling(body);
    let slot = match endpoint {
        Endpoint::Chat => {
            let messages = rest.get_mut("messages")?.as_array_mut()?;
            let is = |message: &Value, roles: &[&str]| {
                message.get("role").and_then(Value::as_str).is_some_and(|role| roles.contains(&role))
            };
            match messages.as_mut_slice() {
                [user] if is(user, &["user"]) => user.get_mut("content")?,
                [system, user] if is(system, &["system", "developer"]) && is(user, &["user"]) => {
                    user.get_mut("content")?
                }
                _ => return None,
            }
        }
        Endpoint::Responses => rest.get_mut("input")?,
        Endpoint::Embeddings => return None,
    };
    let Value::String(text) = slot.take() else { return None };
    let tokens = crate::model::openai::estimated_tokens(text.len());
    (!text.trim().is_empty() && tokens <= MAX_QUESTION_TOKENS).then_some((Value::Object(rest), text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_question_alone() {
        let (system, user) = (json!({"role": "system", "content": "s"}), json!({"role": "user", "content": "q"}));
        let turn = json!({"role": "assistant", "content": "a"});
        let picture = json!({"role": "user", "content": [{"type": "text", "text": "q"}]});
        for (messages, want) in [
            (json!([user]), true),
            (json!([system, user]), true),
            (json!([user, turn, user]), false),
            (json!([user, user]), false),
            (json!([system, system, user]), false),
            (json!([picture]), false),
            (json!([system]), false),
            (json!([{"role": "user", "content": " "}]), false),
            (json!([{"role": "user", "content": "x ".repeat(40_000)}]), false),
        ] {
            let body = json!({"model": "m", "stream": true, "messages": messages});
            let found = single_turn(Endpoint::Chat, body.as_object().unwrap());
            assert_eq!(found.is_some(), want, "{messages}");
            if let Some((rest, text)) = found {
                assert_eq!(text, "q");
                assert!(rest.get("stream").is_none());
                assert!(!rest.to_string().contains("\"q\""));
            }
        }
        let body = json!({"input": "q", "instructions": "s"});
        assert!(single_turn(Endpoint::Responses, body.as_object().unwrap()).is_some());
        let body = json!({"input": [{"role": "user", "content": "q"}]});
        assert!(single_turn(Endpoint::Responses, body.as_object().unwrap()).is_none());
    }

    #[test]
    fn questions_are_known_until_they_are_forgotten_or_too_many() {
        let question = |group: u8, text: &str| Question {
            group: [group; 32],
            text: text.into(),
            vector: vec![1.0, 0.0],
            space: [2; 8],
        };
        let key = |number: usize| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_le_bytes());
            key
        };
        let mut known = Known::default();
        for number in 0..MAX_COMPARED + 3 {
            known.learn(key(number), question(1, "where is the weir"));
        }
        // Said again, it is the newest and no second one.
        known.learn(key(MAX_COMPARED), question(1, "where is the weir"));
        known.learn(key(1), question(2, "of another group"));
        assert_eq!((known.groups[&[1; 32]].len(), known.group_of.len()), (MAX_COMPARED, MAX_COMPARED + 1));
        assert_eq!(known.groups[&[1; 32]].back().map(|(key, _)| *key), Some(key(MAX_COMPARED)));
        known.forget(&key(0));
        known.forget(&key(1));
        assert_eq!((known.groups.len(), known.group_of.len()), (1, MAX_COMPARED));

        let semantic = Semantic::new(0.9, Arc::new(crate::model::fake::FakeEmbedder::new()));
        for (number, text) in [(7, "where is the weir"), (8, "where is the weir"), (9, "where is weir 4")] {
            semantic.known.lock().unwrap().learn(key(number), question(3, text));
        }
        let asked = question(3, "where is the weir");
        assert_eq!(semantic.nearest(&asked, |_| true).map(|near| near.key), Some(key(8)));
        assert_eq!(semantic.nearest(&asked, |other| *other != key(8)).map(|near| near.key), Some(key(7)));
        // Who was not there is not looked for again.
        assert_eq!(semantic.nearest(&asked, |_| true).map(|near| near.key), Some(key(7)));
        assert_eq!(semantic.nearest(&question(4, "where is the weir"), |_| true), None);
    }

    #[test]
    fn questions_read_back() {
        let question = Question { group: [1; 32], text: "größer?".into(), vector: vec![0.5, -1.0], space: [2; 8] };
        let bytes = question.encoded();
        assert_eq!(Question::decoded(&bytes), Some(question));
        for end in 0..52 {
            assert_eq!(Question::decoded(&bytes[..end]), None);
        }
    }
}
