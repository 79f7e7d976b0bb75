//! Plain values that every room shares: ids, places in a source, the kinds of failure, the embedding space.
//!
//! Nothing here does I/O, and nothing here imports another room.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use serde::{Deserialize, Serialize};

/// Orders one result list; higher is better; means nothing across queries.
pub type Score = f32;

/// A chunk's id: the first 64 bits of blake3 over collection, root, path, span and text.
/// Printed as 13 characters of Crockford's base 32, in lower case; the same string is read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(pub u64);

/// A source's id: the first 64 bits of blake3 over collection, root and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u64);

const BASE32: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn write_base32(value: u64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let digit = |i: u32| BASE32[(value >> (5 * i)) as usize & 31] as char;
    (0..13).rev().try_for_each(|i| fmt::Write::write_char(out, digit(i)))
}

/// Reads 13 characters of Crockford's base 32 (either case; `i`, `l` read as 1, `o` as 0).
fn read_base32(text: &str) -> Option<u64> {
    if text.len() != 13 {
        return None;
    }
    text.bytes().try_fold(0u64, |value, byte| {
        let byte = match byte.to_ascii_lowercase() {
            b'i' | b'l' => b'1',
            b'o' => b'0',
            other => other,
        };
        let digit = BASE32.iter().position(|&b| b == byte)? as u64;
        value.checked_mul(32)?.checked_add(digit)
    })
}

/// The text is not an id: ids have 13 characters of base 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id has 13 characters of 0-9 and a-z")]
pub struct NotAnId;

macro_rules! id_text {
    ($id:ident) => {
        impl fmt::Display for $id {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_base32(self.0, out)
            }
        }
        impl FromStr for $id {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                read_base32(text).map($id).ok_or(NotAnId)
            }
        }
        impl Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
id_text!(ChunkId);
id_text!(SourceId);

/// A byte range `start..end` of a document's extracted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end);
        Self { start, end }
    }

    pub fn len(self) -> usize {
        self.end - self.start
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start..self.end
    }
}

/// First and last line of a source, from 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    pub first: u32,
    pub last: u32,
}

/// First and last page of a source, from 1, both included; in files that have none: slide, sheet or chapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pages {
    pub first: u32,
    pub last: u32,
}

impl Pages {
    /// What a place can be called besides its number, the common one first.
    pub const WORDS: [&str; 4] = ["p.", "slide", "sheet", "chapter"];

    /// `p. 7`, `p. 7-8`, `slide 3`, `sheet 2`, `chapter 4`: in words that fit the file, told by the end of its name.
    pub fn of(self, path: &str) -> String {
        let [page, slide, sheet, chapter] = Self::WORDS;
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
        let word = match extension.as_str() {
            "pptx" | "pptm" | "ppsx" | "ppsm" | "potx" | "potm" | "odp" | "otp" | "fodp" => slide,
            "xlsx" | "xlsm" | "xltx" | "xltm" | "xlsb" | "xls" | "xlt" | "ods" | "ots" | "fods" => sheet,
            "epub" => chapter,
            _ => page,
        };
        let Self { first, last } = self;
        if first == last { format!("{word} {first}") } else { format!("{word} {first}-{last}") }
    }
}

/// A path relative to its root, with `/` between its parts on every system. Lossless: bytes that are not UTF-8 stand as
/// `\xNN` and a backslash as `\\`, so two different names never share one spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourcePath(String);

impl SourcePath {
    /// Spells a relative path of this system.
    pub fn from_path(path: &Path) -> Self {
        let mut spelled = String::new();
        for part in path.components() {
            if !spelled.is_empty() {
                spelled.push('/');
            }
            spell(part.as_os_str().as_encoded_bytes(), &mut spelled);
        }
        Self(spelled)
    }

    /// Takes a spelling as it was stored.
    pub fn from_spelling(spelling: impl Into<String>) -> Self {
        Self(spelling.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path this spelling came from, to be joined to its root. On Unix exact for every name.
    pub fn to_path(&self) -> PathBuf {
        unspell(&self.0)
    }

    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// What follows the last dot of the file name, in lower case; empty if there is none.
    pub fn extension(&self) -> String {
        match self.file_name().rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
            _ => String::new(),
        }
    }
}

impl fmt::Display for SourcePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

fn spell(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter == '\\' {
                out.push('\\');
            }
            out.push(letter);
        }
        for byte in chunk.invalid() {
            fmt::Write::write_fmt(out, format_args!("\\x{byte:02x}")).expect("writing to a string");
        }
    }
}

#[cfg(unix)]
fn unspell(spelling: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let bytes = spelling.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at..].starts_with(b"\\x")).then(|| spelling.get(at + 2..at + 4)).flatten();
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 4;
            }
            None => {
                at += usize::from(bytes[at..].starts_with(b"\\\\"));
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(out))
}

#[cfg(not(unix))]
fn unspell(spelling: &str) -> PathBuf {
    PathBuf::from(spelling.replace("\\\\", "\\"))
}

/// Whether a source's file is still what was ingested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freshness {
    /// It is, or nobody can tell: given sources, pages, files of another machine.
    #[default]
    Fresh,
    /// It has changed since.
    Stale,
    /// It is gone.
    Missing,
}

/// What kind of failure an error is. The doors translate kinds, not variants: the exit code of a command and the status
/// of a response both come from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request or the configuration is wrong.
    Usage,
    /// The index, path or id that was named is not there.
    NotFound,
    /// Another process writes the index.
    Locked,
    /// The index has another format or another embedding space.
    Incompatible,
    /// The index is damaged.
    Corrupt,
    /// Reading or writing failed: disk full, permission, read-only.
    Io,
    /// A model or a remote server could not be used.
    Model,
    /// The user or a signal ended the run.
    Cancelled,
    /// We are wrong.
    Bug,
}

/// A request to stop that any thread may read: first politely (finish and commit what is whole), then at once.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicU8>);

impl Cancel {
    /// Asks once more: the first call asks to finish, the second to drop everything.
    pub fn ask(&self) {
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| Some(n.saturating_add(1)));
    }

    /// Takes the request back: what was to be stopped has stopped, and something else begins.
    pub fn take_back(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    /// No new work is to be begun.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 1
    }

    /// Not even what is whole is to be committed.
    pub fn is_urgent(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 2
    }
}

/// How a model makes one vector of the vectors of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    Mean,
    Cls,
    /// The endpoint or the graph pools; nothing is known of how.
    Inside,
}

/// Everything that must be equal for two vectors to be comparable. Recorded in the index and obeyed by every query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingSpace {
    /// The registry's name, or the endpoint's model name.
    pub model: String,
    pub revision: String,
    /// sha256 of the model's graph and weights in hex; empty for an endpoint, which shows none.
    pub sha256: String,
    pub dim: usize,
    pub pooling: Pooling,
    /// Vectors have length 1.
    pub normalised: bool,
    pub query_prefix: String,
    pub passage_prefix: String,
    /// The most tokens the model reads of one text, special tokens not counted.
    pub max_tokens: usize,
    /// Name and version of the tokenizer that counts them.
    pub tokenizer: String,
    /// The model reads every script, so the language gate of fusion is off.
    pub multilingual: bool,
    /// The vector of [`PROBE`], compared when the index is opened with an embedder: `dim` values.
    pub probe: Vec<f32>,
}

/// The fixed sentence whose vector proves that an embedder is the one that filled the index.
pub const PROBE: &str = "The quick brown fox jumps over the lazy dog near the river bank.";

impl EmbeddingSpace {
    /// The folder name of this space under `vectors/`: the model's name in plain letters and 8 hex digits of a hash over
    /// everything but the probe, whose last bits may differ between machines.
    pub fn folder(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let Self {
            model,
            revision,
            sha256,
            dim,
            pooling,
            normalised,
            query_prefix,
            passage_prefix,
            max_tokens,
            tokenizer,
            multilingual,
            probe: _,
        } = self;
        let facts = (
            (model, revision, sha256, dim, pooling, normalised),
            (query_prefix, passage_prefix, max_tokens, tokenizer, multilingual),
        );
        hash.update(&serde_json::to_vec(&facts).expect("plain values serialise"));
        let name: String = model
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .take(40)
            .collect();
        format!("{}-{}", name.trim_matches('-'), &hash.finalize().to_hex()[..8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_printing() {
        for value in [0, 1, 31, 32, u64::MAX, 0x0123_4567_89ab_cdef] {
            let text = ChunkId(value).to_string();
            assert_eq!(text.len(), 13);
            assert_eq!(text.parse(), Ok(ChunkId(value)));
            assert_eq!(text.to_uppercase().parse(), Ok(ChunkId(value)));
        }
        for text in ["", "0", "zzzzzzzzzzzzz", "00000000000000", "000000000000u"] {
            assert_eq!(text.parse::<ChunkId>(), Err(NotAnId), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn any_file_name_survives_spelling() {
        use std::os::unix::ffi::OsStrExt;
        let names: [&[u8]; 7] =
            [b"plain.md", b"a b\nc", b"bad\xffbyte", b"back\\slash", b"\\xff", b"\xf0\x9f", "übergröße".as_bytes()];
        let mut seen = std::collections::BTreeSet::new();
        for name in names {
            let path = Path::new("dir").join(std::ffi::OsStr::from_bytes(name));
            let spelled = SourcePath::from_path(&path);
            assert_eq!(spelled.to_path(), path, "{spelled}");
            assert!(seen.insert(spelled));
        }
    }

    #[test]
    fn extension_is_lower_case_and_hidden_names_have_none() {
        for (path, want) in [("a/B.MD", "md"), (".gitignore", ""), ("x", ""), ("a.tar.gz", "gz"), ("d.ir/x", "")] {
            assert_eq!(SourcePath::from_spelling(path).extension(), want, "{path}");
        }
    }

    #[test]
    fn cancel_has_two_steps() {
        let cancel = Cancel::default();
        assert!(!cancel.is_asked());
        cancel.ask();
        assert!(cancel.is_asked() && !cancel.is_urgent());
        cancel.ask();
        assert!(cancel.is_urgent());
    }
}
