//! Memories on their way out of an index and into one: lines of `rag export`, which `rag import` reads again; and what
//! keeps their index in order with that of the documents.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{FOLDER, Memory, change::deposit, check_key, check_namespace, check_tags, folder, list};
use crate::{
    index::{Compacted, Error, Fault, Index, Settings, Snapshot, Verified, WriterOptions},
    ingest::{DepositOptions, Depositor, clean_text},
    model::Embedder,
    serve::told::Told,
    types::Cancel,
};

/// What such a line begins with: no line of a document does.
const BEGIN: &[u8] = br#"{"schema":"rag.memory/1","#;
/// A longer line is no memory.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// Memories that are embedded and committed together.
const BATCH: usize = 256;

/// One line: a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    schema: String,
    pub namespace: String,
    pub key: String,
    pub content: String,
    pub tags: Vec<String>,
    /// Milliseconds since 1970, as are the other two.
    pub created_ms: i64,
    pub updated_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<i64>,
}

impl From<Memory> for Line {
    fn from(memory: Memory) -> Self {
        let Memory { namespace, key, content, tags, created_ms, updated_ms, expires_ms, .. } = memory;
        let schema = "rag.memory/1".to_owned();
        Self { schema, namespace, key, content, tags, created_ms, updated_ms, expires_ms }
    }
}

/// The index of the memories, if anything was ever remembered.
pub fn open(index_dir: &Path) -> Result<Option<Index>, Error> {
    match Index::open(&folder(index_dir)) {
        Ok(index) => Ok(Some(index)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// All memories that have not expired.
pub fn lines(snapshot: &Snapshot, now_ms: i64) -> Result<Vec<Line>, Told> {
    Ok(list(snapshot, None, &[], (0, usize::MAX), now_ms)?.memories.into_iter().map(Line::from).collect())
}

/// Hands lines on and keeps those that are memories.
pub struct Sieve<R> {
    inner: R,
    /// What was read ahead of a line, and how much of it was handed on.
    head: Vec<u8>,
    given: usize,
    at_start: bool,
    /// The memories so far.
    pub memories: Vec<Line>,
    /// Lines that begin as memories and are none.
    pub bad: Vec<String>,
}

impl<R: BufRead> Sieve<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, head: Vec::new(), given: 0, at_start: true, memories: Vec::new(), bad: Vec::new() }
    }

    /// Looks at the beginning of a line, and takes the lines that are memories.
    fn look(&mut self) -> io::Result<()> {
        while self.at_start {
            self.head.clear();
            self.given = 0;
            // Byte by byte up to the first that differs: a line may be shorter than what is looked for.
            while self.head.len() < BEGIN.len() {
                let mut byte = [0];
                if self.inner.read(&mut byte)? == 0 {
                    break;
                }
                self.head.push(byte[0]);
                if byte[0] != BEGIN[self.head.len() - 1] {
                    break;
                }
            }
            if self.head != BEGIN {
                self.at_start = false;
                return Ok(());
            }
            let mut line = std::mem::take(&mut self.head);
            (&mut self.inner).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
            match serde_json::from_slice(&line) {
                Ok(memory) => self.memories.push(memory),
                Err(error) => self.bad.push(error.to_string()),
            }
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Sieve<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let count = there.len().min(buffer.len());
        buffer[..count].copy_from_slice(&there[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Sieve<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.look()?;
        if self.given < self.head.len() {
            return Ok(&self.head[self.given..]);
        }
        let there = self.inner.fill_buf()?;
        let end = there.iter().position(|&byte| byte == b'\n').map_or(there.len(), |at| at + 1);
        Ok(&there[..end])
    }

    fn consume(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        if self.given < self.head.len() {
            self.at_start = self.head[self.given..self.given + count].ends_with(b"\n");
            self.given += count;
            return;
        }
        let ends = |there: &[u8]| there.get(count - 1) == Some(&b'\n');
        // What is consumed was shown, so it is there.
        self.at_start = self.inner.fill_buf().is_ok_and(ends);
        self.inner.consume(count);
    }
}

/// Puts memories back as they were, in place of those of their keys. Says how many.
///
/// Errors: usage for one that cannot be, and those of the index and the model; batches before it stand.
pub fn restore(
    index_dir: &Path,
    embedder: Option<&dyn Embedder>,
    memories: Vec<Line>,
    options: DepositOptions,
    writer: &WriterOptions,
) -> Result<usize, Told> {
    let folder = folder(index_dir);
    let index = match open(index_dir)? {
        Some(index) => index,
        None => Index::create(&folder, &Settings { space: embedder.map(|embedder| embedder.space().clone()) })?,
    };
    let mut writer = index.writer(writer)?;
    let mut depositor = Depositor::new(DepositOptions { index_dir: folder, ..options });
    let mut restored = 0;
    let mut memories = memories.into_iter().peekable();
    while memories.peek().is_some() {
        let mut prepared = Vec::new();
        for line in memories.by_ref().take(BATCH) {
            check_namespace(&line.namespace)?;
            check_key(&line.key)?;
            let tags: BTreeMap<String, String> = check_tags(&line.tags)?;
            let key = line.key.clone();
            let content = clean_text(line.content);
            let made =
                deposit(line.namespace, line.key, content, tags, (line.created_ms, line.updated_ms, line.expires_ms));
            let made = depositor.prepare(&writer, made)?.map_err(|problem| {
                Told::usage(format!("the memory `{}` cannot be stored: {}", key.escape_debug(), problem.message))
            })?;
            prepared.push(made);
        }
        depositor.embed(&writer, embedder, &mut prepared, &Cancel::default())?;
        for one in &prepared {
            if let Err(problem) = depositor.put(&mut writer, one)? {
                return Err(Told::usage(format!("a memory cannot be stored: {}", problem.message)));
            }
        }
        writer.commit()?;
        depositor.forget_pending();
        restored += prepared.len();
    }
    Ok(restored)
}

/// Checks the index of the memories too, and adds what it finds.
pub fn verify(index_dir: &Path, thoroughly: bool, verified: &mut Verified) -> Result<(), Error> {
    let Some(index) = open(index_dir)? else { return Ok(()) };
    let own = if thoroughly { index.verify_thoroughly()? } else { index.verify()? };
    // Files are named from the index around it.
    let named = |fault: Fault| match fault.file.as_os_str().is_empty() {
        true => Fault { what: format!("in `{FOLDER}`: {}", fault.what), ..fault },
        false => Fault { file: Path::new(FOLDER).join(fault.file), ..fault },
    };
    verified.faults.extend(own.faults.into_iter().map(named));
    verified.files += own.files;
    verified.bytes += own.bytes;
    verified.orphans.extend(own.orphans.into_iter().map(|file| Path::new(FOLDER).join(file)));
    Ok(())
}

/// Compacts the index of the memories too: what was forgotten is gone from its files. `None`: there was nothing to gain.
pub fn compact(index_dir: &Path, writer: &WriterOptions) -> Result<Option<Compacted>, Error> {
    match open(index_dir)? {
        Some(index) => index.writer(writer)?.compact(),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: &str) -> Line {
        Line {
            schema: "rag.memory/1".into(),
            namespace: "default".into(),
            key: key.into(),
            content: "a\nb".into(),
            tags: vec!["t".into()],
            created_ms: 1,
            updated_ms: 2,
            expires_ms: None,
        }
    }

    #[test]
    fn memories_are_sieved_out_and_other_lines_pass_untouched() {
        let memory = |key: &str| format!("{}\n", serde_json::to_string(&line(key)).unwrap());
        assert!(memory("x").as_bytes().starts_with(BEGIN));
        let cases: [(String, &str, &[&str]); 8] = [
            (String::new(), "", &[]),
            ("{\"schema\":\"rag.document/1\"}\n".into(), "{\"schema\":\"rag.document/1\"}\n", &[]),
            (memory("a") + &memory("b"), "", &["a", "b"]),
            (format!("x\n{}y", memory("a")), "x\ny", &["a"]),
            (format!("\n\n{}\n", memory("a")), "\n\n\n", &["a"]),
            (format!("{{\"schema\":\"rag.mem\n{}", memory("a").trim_end()), "{\"schema\":\"rag.mem\n", &["a"]),
            ("{\"sch".into(), "{\"sch", &[]),
            ("{".into(), "{", &[]),
        ];
        for (input, rest, keys) in cases {
            for size in [1, 3, 64, 8192] {
                let mut sieve = Sieve::new(io::BufReader::with_capacity(size, input.as_bytes()));
                let mut out = String::new();
                sieve.read_to_string(&mut out).unwrap();
                assert_eq!(out, rest, "{input:?} by {size}");
                let found: Vec<&str> = sieve.memories.iter().map(|memory| memory.key.as_str()).collect();
                assert_eq!(found, keys, "{input:?} by {size}");
                assert_eq!(sieve.bad, Vec::<String>::new());
            }
        }
        let mut sieve = Sieve::new(&b"{\"schema\":\"rag.memory/1\",\"colour\":1}\nx\n"[..]);
        let mut out = String::new();
        sieve.read_to_string(&mut out).unwrap();
        assert_eq!((out.as_str(), sieve.memories.len(), sieve.bad.len()), ("x\n", 0, 1));
    }
}
