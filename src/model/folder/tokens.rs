//! From text to the ids that a model's graph takes, with the tokenizer that stands beside it.

use std::{fs, path::Path};

use tokenizers::{PostProcessor as _, Tokenizer, TruncationDirection};

use crate::model::{
    Error, Result,
    wordpiece::{CLOSE, OPEN, WordPiece},
};

/// A vocabulary of so many pieces was made of many languages (XLM-R: 250,002; BERT's uncased English: 30,522; multilingual
/// BERT: 119,547).
const MANY_LANGUAGES: usize = 100_000;
/// A query takes at most so many ids beside a passage.
const MAX_QUERY_TOKENS: usize = 128;

/// A tokenizer with the ids of the special tokens it puts around a text.
pub enum Tokens {
    /// BERT's uncased vocabulary: this program's own.
    WordPiece(&'static WordPiece),
    /// Any other, as its `tokenizer.json` describes it.
    Other(Box<Tokenizer>),
}

/// Ids and, for a pair, which text each is of (0 or 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ids {
    pub ids: Vec<u32>,
    pub types: Vec<u32>,
}

impl Tokens {
    /// Reads `vocab.txt` or `tokenizer.json`. Errors: `Io`; `BadModel` for one that cannot be read, or a `vocab.txt` that is
    /// not BERT's uncased one with no `tokenizer.json` beside it.
    pub fn load(folder: &Path) -> Result<Self> {
        let wrong = |what: String| Error::BadModel { what: format!("the tokenizer in `{}` {what}", folder.display()) };
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).map_err(|source| Error::Io { act: "read", path, source })
        };
        let own = WordPiece::builtin();
        if folder.join("vocab.txt").is_file() && own.has_vocabulary(&read("vocab.txt")?) {
            return Ok(Self::WordPiece(own));
        }
        if !folder.join("tokenizer.json").is_file() && folder.join("vocab.txt").is_file() {
            return Err(wrong(
                "is a `vocab.txt` that is not that of bert-base-uncased; a `tokenizer.json` would be read".into(),
            ));
        }
        let json = read("tokenizer.json")?;
        if is_own(&json) {
            return Ok(Self::WordPiece(own));
        }
        let mut tokenizer = Tokenizer::from_bytes(&json).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| wrong(error.to_string()))?;
        Ok(Self::Other(Box::new(tokenizer)))
    }

    /// Whether the vocabulary was made of many languages.
    pub fn is_multilingual(&self) -> bool {
        match self {
            Self::WordPiece(_) => false,
            Self::Other(tokenizer) => tokenizer.get_vocab_size(false) >= MANY_LANGUAGES,
        }
    }

    /// What the embedding space records of it.
    pub fn name(&self) -> String {
        match self {
            Self::WordPiece(_) => WordPiece::NAME.to_owned(),
            Self::Other(tokenizer) => format!("tokenizer.json/{}", tokenizer.get_vocab_size(true)),
        }
    }

    /// How many ids a text has, special ones not counted.
    pub fn count(&self, text: &str) -> Result<usize, String> {
        match self {
            Self::WordPiece(own) => Ok(own.count(text)),
            Self::Other(tokenizer) => {
                let encoding = tokenizer.encode_fast(text, false).map_err(|error| error.to_string())?;
                Ok(encoding.get_ids().len())
            }
        }
    }

    /// One text, special ids around it, cut to `most` ids in all.
    pub fn one(&self, text: &str, most: usize) -> Result<Ids, String> {
        match self {
            Self::WordPiece(own) => {
                let ids = [&[OPEN], &own.encode_at_most(text, most.saturating_sub(2))[..], &[CLOSE]].concat();
                Ok(Ids { types: vec![0; ids.len()], ids })
            }
            Self::Other(tokenizer) => {
                let mut encoding = tokenizer.encode_fast(text, false).map_err(|error| error.to_string())?;
                let special = special(tokenizer, false);
                encoding.truncate(most.saturating_sub(special), 0, TruncationDirection::Right);
                let whole = tokenizer.post_process(encoding, None, true).map_err(|error| error.to_string())?;
                Ok(Ids { ids: whole.get_ids().to_vec(), types: whole.get_type_ids().to_vec() })
            }
        }
    }

    /// A query and a passage as a cross-encoder reads them, the passage cut so that both take at most `most` ids.
    pub fn pair(&self, query: &str, passage: &str, most: usize) -> Result<Ids, String> {
        let query_most = MAX_QUERY_TOKENS.min(most / 2);
        match self {
            Self::WordPiece(own) => {
                let query = own.encode_at_most(query, query_most);
                let passage = own.encode_at_most(passage, most.saturating_sub(query.len() + 3));
                let second = query.len() + 2;
                let ids = [&[OPEN], &query[..], &[CLOSE], &passage, &[CLOSE]].concat();
                Ok(Ids { types: (0..ids.len()).map(|at| u32::from(at >= second)).collect(), ids })
            }
            Self::Other(tokenizer) => {
                let encode = |text: &str| tokenizer.encode_fast(text, false).map_err(|error| error.to_string());
                let mut query = encode(query)?;
                query.truncate(query_most, 0, TruncationDirection::Right);
                let mut passage = encode(passage)?;
                let room = most.saturating_sub(query.get_ids().len() + special(tokenizer, true));
                passage.truncate(room, 0, TruncationDirection::Right);
                let whole = tokenizer.post_process(query, Some(passage), true).map_err(|error| error.to_string())?;
                Ok(Ids { ids: whole.get_ids().to_vec(), types: whole.get_type_ids().to_vec() })
            }
        }
    }
}

/// How many special ids are put around a text or a pair.
fn special(tokenizer: &Tokenizer, pair: bool) -> usize {
    tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(pair))
}

/// Whether a `tokenizer.json` has this program's own vocabulary, by the same rules.
fn is_own(json: &[u8]) -> bool {
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(json) else { return false };
    let lower = json["normalizer"]["lowercase"].as_bool() == Some(true);
    let Some(pieces) = json["model"]["vocab"].as_object().filter(|_| lower && json["model"]["type"] == "WordPiece")
    else {
        return false;
    };
    let mut pieces: Vec<(u64, &str)> =
        pieces.iter().filter_map(|(piece, id)| Some((id.as_u64()?, piece.as_str()))).collect();
    pieces.sort_unstable();
    let lines = pieces.into_iter().map(|(_, piece)| piece).collect::<Vec<_>>().join("\n");
    WordPiece::builtin().has_vocabulary(lines.as_bytes())
}
