//! Documents that somebody hands over one by one, each with a collection, tags and metadata of its own.
//!
//! Useful for: servers, which put a few documents beside all others and commit when it suits them. Not for: making the
//! index agree with a folder; nothing here looks at what else the index holds, and nothing here commits.
//!
//! A deposit has three steps, so that the texts of many are embedded together: [`Depositor::prepare`] reads and cuts one,
//! [`Depositor::embed`] finds the vectors of all that were prepared, [`Depositor::put`] gives one to the writer.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use super::{
    Options, Result,
    chunk::{self, Chunked, Origin, embed_hash},
    document::{BlockKind, Document},
    embed::{self, Hash},
    extract::{
        self, Extractor, Limits, Passwords, Worker,
        blocks::Blocks,
        clean::{self, Removed},
        reason,
    },
    file::{self, Stat},
    given::Bytes,
    loader::Loaders,
    page_readers::PageReaders,
    pipeline::{chunk_settings, matching_embedder},
    plan::Reading,
    reader::{self, Outcome, Task},
    survey::now_ns,
    version::Pipeline,
    walk::{Found, Name, Place},
};
use crate::{
    index::{self, NewChunk, Problem, SourceRecord, Status, Writer},
    model::Embedder,
    types::{Cancel, SourceId, SourcePath, Span},
};

/// Written as the pipeline of plain text, which no extractor reads.
const PLAIN: &str = "plain2";

/// A document that is handed over.
#[derive(Debug, Clone)]
pub struct Deposit {
    pub collection: String,
    /// The root it is listed under: a name that no folder of the index has.
    pub root: String,
    /// Its name, below the root.
    pub name: String,
    pub content: Content,
    /// What it is called, in place of what it says of itself and of its name; empty: it has no title at all.
    pub title: Option<String>,
    /// `None`: a document of this name keeps its tags.
    pub tags: Option<BTreeMap<String, String>>,
    /// Besides what the document says of itself, and over it.
    pub metadata: BTreeMap<String, String>,
}

/// What a deposit holds.
#[derive(Debug, Clone)]
pub enum Content {
    /// Text as it stands: paragraphs, and no word of it is a heading. No worker reads it.
    Plain(String),
    /// A file's bytes.
    File {
        bytes: Vec<u8>,
        /// What to take it for: a file extension without the dot. `None`: its bytes and its name decide.
        extension: Option<String>,
    },
}

/// How deposits are read and cut. Plain values; the door fills them.
#[derive(Debug, Clone)]
pub struct DepositOptions {
    pub index_dir: PathBuf,
    pub chunk_tokens: usize,
    pub chunk_overlap: usize,
    pub max_file_bytes: u64,
    /// Read what is in archives.
    pub archives: bool,
    pub loaders: Loaders,
    /// For one document.
    pub timeout: Duration,
    pub worker: Worker,
}

impl DepositOptions {
    /// As an ingest of the same index reads and cuts.
    pub fn of(ingest: &Options, index_dir: PathBuf) -> Self {
        Self {
            index_dir,
            chunk_tokens: ingest.chunk_tokens,
            chunk_overlap: ingest.chunk_overlap,
            max_file_bytes: ingest.max_file_bytes,
            archives: ingest.archives,
            loaders: ingest.loaders.clone(),
            timeout: ingest.file_timeout,
            worker: ingest.worker.clone(),
        }
    }
}

/// What became of a deposit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deposited {
    Added,
    Updated,
    /// The index held exactly this.
    Unchanged,
}

/// A deposit that was read; it may lack vectors.
#[derive(Debug)]
pub struct Prepared {
    pub record: SourceRecord,
    pub state: Deposited,
    /// `None`: the chunks of the index stand.
    chunks: Option<Vec<NewChunk>>,
    texts: Vec<String>,
    /// Chunks whose vector the model made for it.
    pub embedded: u64,
}

/// Reads deposits and gives them to a writer. Keeps its extraction worker from one to the next, and knows what the
/// writer was given since the last commit.
pub struct Depositor {
    options: DepositOptions,
    extractor: Extractor,
    /// Sources changed since the last commit; `None`: removed.
    pending: HashMap<SourceId, Option<SourceRecord>>,
}

impl Depositor {
    pub fn new(options: DepositOptions) -> Self {
        let limits = Limits { timeout: options.timeout, archives: options.archives, ..Limits::default() };
        let extractor = Extractor::new(options.worker.clone(), limits);
        Self { options, extractor, pending: HashMap::new() }
    }

    /// A source as it will be after the next commit.
    pub fn source(&self, writer: &Writer, id: SourceId) -> index::Result<Option<SourceRecord>> {
        match self.pending.get(&id) {
            Some(pending) => Ok(pending.clone()),
            None => writer.snapshot().source(id),
        }
    }

    /// The sources that changed since the last commit; `None`: removed.
    pub fn pending(&self) -> &HashMap<SourceId, Option<SourceRecord>> {
        &self.pending
    }

    /// What was given to the writer is committed, or lost with it.
    pub fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// Takes a source for removed from here on. Says what it was; `None`: there is none. The writer is the caller's to
    /// tell, in the order of its changes.
    pub fn prepare_removal(&mut self, writer: &Writer, id: SourceId) -> index::Result<Option<SourceRecord>> {
        let old = self.source(writer, id)?;
        if old.is_some() {
            self.pending.insert(id, None);
        }
        Ok(old)
    }

    /// Takes back what is not going to be done: the sources as they were pending before.
    pub fn restore(&mut self, pending: HashMap<SourceId, Option<SourceRecord>>) {
        self.pending = pending;
    }

    /// Reads and cuts a deposit. The inner error is the document's own: it cannot be read, or has no text.
    pub fn prepare(&mut self, writer: &Writer, mut deposit: Deposit) -> Result<Result<Prepared, Problem>> {
        let path = SourcePath::from_spelling(deposit.name.clone());
        let id = SourceRecord::id_of(&deposit.collection, &deposit.root, &path);
        let old = self.source(writer, id)?;
        // It may be long: it is handed on, not copied.
        let content = std::mem::replace(&mut deposit.content, Content::Plain(String::new()));
        let made = match self.read(writer, &deposit, content, Name { id, root: deposit.root.clone(), path })? {
            Ok(made) => made,
            Err(problem) => return Ok(Err(problem)),
        };
        let (mut record, chunks, texts) = made;
        record.tags = match (deposit.tags, &old) {
            (Some(tags), _) => tags,
            (None, Some(old)) => old.tags.clone(),
            (None, None) => BTreeMap::new(),
        };
        record.metadata.extend(deposit.metadata);
        let (state, chunks) = match &old {
            None => (Deposited::Added, Some(chunks)),
            Some(old) if same_content(old, &record) => {
                // The same bytes as before keep their time, so that nothing is written for them.
                record.mtime_ns = old.mtime_ns;
                let state = if *old == record { Deposited::Unchanged } else { Deposited::Updated };
                (state, None)
            }
            Some(_) => (Deposited::Updated, Some(chunks)),
        };
        self.pending.insert(id, Some(record.clone()));
        Ok(Ok(Prepared { record, state, chunks, texts, embedded: 0 }))
    }

    /// Finds or makes the vectors of what was prepared. Errors: the model's. A stop leaves out what is not made by then.
    pub fn embed(
        &self,
        writer: &Writer,
        embedder: Option<&dyn Embedder>,
        all: &mut [Prepared],
        cancel: &Cancel,
    ) -> Result<()> {
        match matching_embedder(writer.snapshot(), embedder, &self.options.index_dir)? {
            Some(embedder) => find_vectors(writer, embedder, all, cancel),
            None => Ok(()),
        }
    }

    /// Gives a deposit to the writer; it comes with the next commit. The inner error is the document's own, the outer one
    /// the writer's.
    pub fn put(&self, writer: &mut Writer, prepared: &Prepared) -> Result<Result<(), Problem>> {
        let Prepared { record, state, chunks, .. } = prepared;
        let result = match (chunks, state) {
            (Some(chunks), _) if !is_whole(writer, chunks) => {
                return Ok(Err(file::transient("stopped", "a stop was asked for before it was embedded")));
            }
            (Some(chunks), _) => writer.put(record, chunks),
            (None, Deposited::Unchanged) => Ok(()),
            (None, Deposited::Added | Deposited::Updated) => writer.touch(record),
        };
        match result {
            Ok(()) => Ok(Ok(())),
            Err(index::Error::Source { what, .. }) => {
                Ok(Err(file::transient("refused", &format!("the index refuses it: {what}"))))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Record, chunks, and the text to embed for each.
    fn read(
        &mut self,
        writer: &Writer,
        deposit: &Deposit,
        content: Content,
        name: Name,
    ) -> Result<Result<Made, Problem>> {
        let settings = chunk_settings(writer.snapshot(), self.options.chunk_tokens, self.options.chunk_overlap)?;
        let task = self.task(writer, deposit, &content, settings);
        let (bytes, hint, text) = match content {
            Content::Plain(text) => (text.clone().into_bytes(), String::new(), Some(text)),
            Content::File { bytes, extension: Some(extension) } => {
                (bytes, format!("{}.{extension}", deposit.name), None)
            }
            Content::File { bytes, extension: None } => (bytes, deposit.name.clone(), None),
        };
        let size_bytes = bytes.len() as u64;
        let bytes = Bytes { bytes, hint, title: deposit.title.clone(), metadata: BTreeMap::new() };
        let stat = Stat { size_bytes, mtime_ns: now_ns(), ctime_ns: 0, inode: 0 };
        let found = Found { name, place: Place::Given(Arc::new(bytes)), stat };
        let reading = Reading { found, old: None, from: None };
        let outcome = match &text {
            Some(text) => plain(&task, &reading, blake3::hash(text.as_bytes()).to_hex().as_str(), text),
            None => reader::rehearse(&task, &mut self.extractor, reading),
        };
        Ok(match outcome {
            Some(Outcome::Made { record, chunks, texts }) if record.chunks > 0 => Ok((*record, chunks, texts)),
            Some(Outcome::Made { record, .. }) => Err(record
                .problems
                .into_iter()
                .next()
                .unwrap_or_else(|| file::lasting(reason::EMPTY, "it has no text"))),
            Some(Outcome::Failed { problem, .. }) => Err(problem),
            // Nothing is known of it that could stand.
            Some(Outcome::Stands | Outcome::Touched(_)) | None => {
                Err(file::lasting(reason::CRASHED, "cutting it into chunks failed; this is a mistake of the program"))
            }
        })
    }

    fn task(&self, writer: &Writer, deposit: &Deposit, content: &Content, settings: chunk::Settings) -> Task {
        let base = match content {
            Content::Plain(_) => format!("{PLAIN}-{}", settings.key()),
            Content::File { .. } => format!("x{}-{}", extract::VERSION, settings.key()),
        };
        Task {
            collection: deposit.collection.clone(),
            tags: BTreeMap::new(),
            pipeline: Pipeline {
                base,
                loaders: self.options.loaders.clone(),
                archives: self.options.archives,
                ocr: None,
            },
            retry_failed: true,
            max_file_bytes: self.options.max_file_bytes,
            chunks: settings,
            dim: writer.snapshot().space().map_or(0, |space| space.dim),
            worker: self.options.worker.clone(),
            limits: Limits { timeout: self.options.timeout, archives: self.options.archives, ..Limits::default() },
            passwords: Passwords::default(),
            page_readers: PageReaders::default(),
        }
    }
}

type Made = (SourceRecord, Vec<NewChunk>, Vec<String>);

/// The chunks of one record are those of the other.
fn same_content(old: &SourceRecord, new: &SourceRecord) -> bool {
    old.status != Status::Failed
        && (&old.hash, &old.pipeline, &old.title, &old.format) == (&new.hash, &new.pipeline, &new.title, &new.format)
        && old.chunks == new.chunks
}

/// A text without what no reader sees, as it is kept of every document.
pub fn clean_text(text: String) -> String {
    clean::clean(text, &mut Removed::default())
}

/// Text as it stands.
fn plain(task: &Task, reading: &Reading, hash: &str, text: &str) -> Option<Outcome> {
    let mut removed = Removed::default();
    let text = clean::clean(text.to_owned(), &mut removed);
    let mut blocks = Blocks::default();
    let mut start = 0;
    for part in text.split_inclusive("\n\n") {
        blocks.push(&text, BlockKind::Paragraph, Span::new(start, start + part.len()), &[]);
        start += part.len();
    }
    let mut document = Document {
        format: "text".to_owned(),
        blocks: blocks.into_list(),
        text,
        text_is_source: true,
        ..Document::default()
    };
    document.warnings.extend(removed.warning());
    // Its name is a key, not a title.
    let origin = Origin {
        source: reading.found.name.id,
        collection: &task.collection,
        path: &reading.found.name.display(),
        title: Some(""),
    };
    let Chunked { chunks, texts, lang, problem } = chunk::chunk(&document, origin, task.chunks);
    let mut problems = document.warnings;
    problems.extend(problem);
    let record = SourceRecord {
        status: if problems.is_empty() { Status::Indexed } else { Status::Warned },
        problems,
        lang,
        chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
        text_bytes: document.text.len() as u64,
        ..reader::record(task, reading, hash, &document.format)
    };
    let chunks = chunks
        .into_iter()
        .zip(&texts)
        .map(|(record, text)| NewChunk { record, embed_hash: embed_hash(text), vector: None })
        .collect();
    Some(Outcome::Made { record: Box::new(record), chunks, texts })
}

fn find_vectors(writer: &Writer, embedder: &dyn Embedder, all: &mut [Prepared], cancel: &Cancel) -> Result<()> {
    let snapshot = writer.snapshot();
    let mut wanted: HashMap<Hash, String> = HashMap::new();
    for Prepared { chunks, texts, .. } in all.iter() {
        for (chunk, text) in chunks.iter().flatten().zip(texts) {
            if snapshot.vector_by_hash(&chunk.embed_hash).is_none() {
                wanted.entry(chunk.embed_hash).or_insert_with(|| text.clone());
            }
        }
    }
    let made = embed::all(embedder, wanted.into_iter().collect(), cancel, &|_| {})?;
    let vectors: HashMap<Hash, Vec<f32>> = made.into_iter().map(|made| (made.hash, made.vector)).collect();
    // Of texts that stand in several chunks the first is the one that was embedded.
    let mut counted: HashSet<Hash> = HashSet::new();
    for prepared in all {
        for chunk in prepared.chunks.iter_mut().flatten() {
            let found = vectors.get(&chunk.embed_hash);
            prepared.embedded += u64::from(found.is_some() && counted.insert(chunk.embed_hash));
            chunk.vector =
                found.cloned().or_else(|| snapshot.vector_by_hash(&chunk.embed_hash).map(|vector| vector.into_owned()));
        }
    }
    Ok(())
}

fn is_whole(writer: &Writer, chunks: &[NewChunk]) -> bool {
    writer.snapshot().space().is_none() || chunks.iter().all(|chunk| chunk.vector.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        index::{Index, Settings, WriterOptions},
        model::fake::FakeEmbedder,
    };

    fn options(dir: &std::path::Path) -> DepositOptions {
        DepositOptions {
            index_dir: dir.to_owned(),
            chunk_tokens: 230,
            chunk_overlap: 40,
            max_file_bytes: 1 << 20,
            archives: false,
            loaders: Loaders::default(),
            timeout: Duration::from_secs(60),
            worker: Worker::InProcess,
        }
    }

    fn deposit(name: &str, text: &str) -> Deposit {
        Deposit {
            collection: "default".into(),
            root: "given".into(),
            name: name.into(),
            content: Content::Plain(text.into()),
            title: None,
            tags: Some(BTreeMap::new()),
            metadata: BTreeMap::new(),
        }
    }

    fn file(name: &str, bytes: &[u8], extension: Option<&str>) -> Deposit {
        let content = Content::File { bytes: bytes.to_vec(), extension: extension.map(str::to_owned) };
        Deposit { content, ..deposit(name, "") }
    }

    struct Room {
        writer: Writer,
        depositor: Depositor,
        embedder: FakeEmbedder,
        _dir: tempfile::TempDir,
    }

    impl Room {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let embedder = FakeEmbedder::new();
            let path = dir.path().join("index");
            let index = Index::create(&path, &Settings { space: Some(embedder.space().clone()) }).unwrap();
            let writer = index.writer(&WriterOptions::default()).unwrap();
            Self { writer, depositor: Depositor::new(options(&path)), embedder, _dir: dir }
        }

        fn put(&mut self, deposit: Deposit) -> Result<Deposited, Problem> {
            let mut all = [self.depositor.prepare(&self.writer, deposit).unwrap()?];
            self.depositor.embed(&self.writer, Some(&self.embedder), &mut all, &Cancel::default()).unwrap();
            self.depositor.put(&mut self.writer, &all[0]).unwrap()?;
            Ok(all[0].state)
        }

        fn commit(&mut self) -> bool {
            let is_new = self.writer.commit().unwrap().is_some();
            self.depositor.forget_pending();
            is_new
        }
    }

    #[test]
    fn the_same_again_writes_nothing_and_other_tags_write_the_record_alone() {
        let mut room = Room::new();
        assert_eq!(room.put(deposit("a", "The quay is closed on Mondays.")), Ok(Deposited::Added));
        assert!(room.commit());
        assert_eq!(room.put(deposit("a", "The quay is closed on Mondays.")), Ok(Deposited::Unchanged));
        assert!(!room.commit());
        let tagged = Deposit {
            tags: Some(BTreeMap::from([("team".into(), "ops".into())])),
            ..deposit("a", "The quay is closed on Mondays.")
        };
        assert_eq!(room.put(tagged), Ok(Deposited::Updated));
        assert!(room.commit());
        let snapshot = room.writer.snapshot();
        let sources = snapshot.sources(None).unwrap();
        assert_eq!(sources.len(), 1);
        assert_eq!(sources[0].tags["team"], "ops");
        assert_eq!(snapshot.chunks_of(sources[0].id).unwrap()[0].text, "The quay is closed on Mondays.");
    }

    #[test]
    fn what_waits_for_the_commit_counts_as_there() {
        let mut room = Room::new();
        assert_eq!(room.put(deposit("a", "one tide")), Ok(Deposited::Added));
        room.commit();
        assert_eq!(room.put(deposit("a", "two tides")), Ok(Deposited::Updated));
        // The committed text again, over the one that waits: it has to win.
        assert_eq!(room.put(deposit("a", "one tide")), Ok(Deposited::Updated));
        assert_eq!(room.put(deposit("b", "three tides")), Ok(Deposited::Added));
        let id = SourceRecord::id_of("default", "given", &SourcePath::from_spelling("b"));
        assert!(room.depositor.prepare_removal(&room.writer, id).unwrap().is_some());
        assert!(room.depositor.prepare_removal(&room.writer, id).unwrap().is_none());
        room.writer.remove(id).unwrap();
        room.commit();
        let snapshot = room.writer.snapshot();
        let sources = snapshot.sources(None).unwrap();
        let texts: Vec<String> =
            sources.iter().flat_map(|source| snapshot.chunks_of(source.id).unwrap()).map(|chunk| chunk.text).collect();
        assert_eq!(texts, ["one tide"]);
    }

    #[test]
    fn files_are_read_by_what_they_are_and_a_bad_one_is_its_own_error() {
        let mut room = Room::new();
        assert_eq!(
            room.put(file("page", b"<h1>Tides</h1><p>High water at six.</p>", Some("html"))),
            Ok(Deposited::Added)
        );
        let error = room.put(file("broken.pdf", b"%PDF-1.7 nothing more", None)).unwrap_err();
        assert!(!error.message.is_empty());
        assert_eq!(room.put(file("empty.txt", b"  \n", None)).unwrap_err().reason, reason::EMPTY);
        assert_eq!(room.put(deposit("blank", " \n\n ")).unwrap_err().reason, reason::EMPTY);
        room.commit();
        let sources = room.writer.snapshot().sources(None).unwrap();
        assert_eq!(sources.iter().map(|source| source.format.as_str()).collect::<Vec<_>>(), ["html"]);
    }
}
