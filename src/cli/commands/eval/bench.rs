//! A collection's documents in an index of their own: made for this run, or kept where `--index` says.
//!
//! Documents take the way of every ingest. Of a collection in lines each becomes a document under its title; its id is no
//! word of it.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rag::{
    index::{Index, Settings, Snapshot, SourceRecord, Writer},
    ingest::{self, Event, Given, Loaders, Observer, Options, PageReaders, Report, extract::Passwords},
    model::{Embedder, http::Waits, remember::Remembering},
    retrieve::eval::{Lines, Record},
    types::{Cancel, Kind, SourceId, SourcePath},
};

use super::{
    files::{self, Corpus},
    matrix::Cut,
};
use crate::cli::{
    backend::Place,
    commands::{
        Context,
        ingest::{EmbedArgs, worker},
    },
    config::Config,
    output::progress::Progress,
    report::Failure,
};

/// The collection that documents under test are put into.
const COLLECTION: &str = "eval";
/// The root of documents that are lines.
const ROOT: &str = "corpus";
/// Lines are handed over in parts of about so much text.
const BATCH_BYTES: usize = 64 << 20;
const BATCH_DOCUMENTS: usize = 50_000;

/// Where a collection is indexed, once for each way to cut it.
pub struct Bench<'a> {
    context: &'a Context,
    config: &'a Config,
    corpus: &'a Corpus,
    /// Folder of the index, or of one for each cut.
    dir: PathBuf,
    many_cuts: bool,
    embedder: Option<Box<dyn Embedder>>,
    _scratch: Option<tempfile::TempDir>,
}

/// A collection that is indexed.
pub struct Filled {
    pub snapshot: Snapshot,
    /// What the collection calls each source.
    pub names: HashMap<SourceId, String>,
    pub seconds: f64,
    pub failed: Vec<String>,
}

impl<'a> Bench<'a> {
    /// `kept`: where the index stays; `None`: nowhere. `many_cuts`: there will be several ways to cut.
    pub fn new(
        context: &'a Context,
        config: &'a Config,
        corpus: &'a Corpus,
        kept: Option<&Path>,
        many_cuts: bool,
    ) -> Result<Self, Failure> {
        let no_folder = |error| Failure::new(Kind::Io, format!("cannot make a temporary folder: {error}"));
        let (dir, scratch) = match kept {
            Some(dir) => (dir.to_path_buf(), None),
            None => {
                let scratch = tempfile::Builder::new().prefix("rag-eval-").tempdir().map_err(no_folder)?;
                (scratch.path().join("index"), Some(scratch))
            }
        };
        if many_cuts && Index::is_at(&dir) {
            let what = format!("`{}` is one index, and several chunk sizes want one each", dir.display());
            return Err(Failure::usage(what).hint("name an empty or a new folder with `--index DIR`"));
        }
        Ok(Self { context, config, corpus, dir, many_cuts, embedder: None, _scratch: scratch })
    }

    /// With the embedder of the index that is there, or the one that flags and settings name.
    pub fn with_embedder_of(self, flags: &EmbedArgs, cancel: &Cancel) -> Result<Self, Failure> {
        let place = Place { dir: self.dir.clone(), is_named: true, trust: false, waits: Waits::default() };
        // A dry run has an index that goes away with it.
        let dry_run = !place.exists();
        let embedder = place.workshop(self.config, flags, dry_run, &self.context.screen, cancel)?.embedder;
        Ok(self.with_embedder(embedder))
    }

    pub fn with_embedder(self, embedder: Option<Box<dyn Embedder>>) -> Self {
        Self { embedder, ..self }
    }

    /// The model that embeds documents and questions.
    pub fn model(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// Where the vectors of passages may be kept that are cut alike in several ways; `None`: they are not.
    pub fn remembering(&self) -> Result<Option<Remembering<'_>>, Failure> {
        let folder = self.many_cuts.then(|| self.dir.join("cache"));
        Ok(self.model().map(|model| Remembering::new(model, folder.as_deref())).transpose()?)
    }

    /// Indexes the collection, or finds it indexed. Cancelled: an error.
    pub fn fill(&self, cut: Cut, embedder: Option<&dyn Embedder>, cancel: &Cancel) -> Result<Filled, Failure> {
        let begun = Instant::now();
        let dir =
            if self.many_cuts { self.dir.join(format!("{}-{}", cut.tokens, cut.overlap)) } else { self.dir.clone() };
        let place = Place { dir, is_named: true, trust: false, waits: Waits::default() };
        let index = if place.exists() {
            place.open()?
        } else {
            fs::create_dir_all(&place.dir).map_err(|error| files::unreadable(&place.dir, &error))?;
            Index::create(&place.dir, &Settings { space: embedder.map(|embedder| embedder.space().clone()) })?
        };
        let mut writer = index.writer(&place.writer_options(Duration::ZERO))?;
        let foreign = writer.snapshot().sources(None)?.into_iter().find(|source| source.collection != COLLECTION);
        if let Some(source) = foreign {
            let what = format!("`{}` holds other documents, `{}` for one", place.dir.display(), source.display_path());
            return Err(Failure::usage(what)
                .hint("an evaluation wants an index of its own: name a new folder with `--index DIR`"));
        }
        let options = self.options(&place, cut)?;
        let mut fill =
            Fill { writer: &mut writer, embedder, options, context: self.context, cancel, failed: Vec::new() };
        let names = match self.corpus {
            Corpus::Lines(path) => fill.lines(path)?,
            Corpus::Folder(path) => fill.folder(path, &place)?,
            Corpus::Files(files) => fill.files(files)?,
        };
        let failed = fill.failed;
        let stale: Vec<SourceRecord> = writer.snapshot().sources(None)?;
        for source in stale.iter().filter(|source| !names.contains_key(&source.id)) {
            writer.remove(source.id)?;
        }
        writer.commit()?;
        drop(writer);
        Ok(Filled { snapshot: index.snapshot()?, names, seconds: begun.elapsed().as_secs_f64(), failed })
    }

    fn options(&self, place: &Place, cut: Cut) -> Result<Options, Failure> {
        let config = self.config;
        let jobs = config.number("ingest.jobs").filter(|&jobs| jobs > 0);
        Ok(Options {
            paths: Vec::new(),
            given: Vec::new(),
            pages: Vec::new(),
            home: place.home(),
            index_dir: place.dir.clone(),
            collection: COLLECTION.to_owned(),
            include: Vec::new(),
            exclude: Vec::new(),
            ignore_rules: false,
            hidden: false,
            follow: true,
            max_file_bytes: config.size("ingest.max_file_size").unwrap_or(512 << 20),
            tags: Default::default(),
            chunk_tokens: cut.tokens,
            chunk_overlap: cut.overlap,
            jobs: jobs.or(std::thread::available_parallelism().ok().map(|n| n.get())).unwrap_or(1),
            dry_run: false,
            loaders: Loaders::of(&config.list("ingest.loaders"))
                .map_err(|error| Failure::usage(error.to_string()).hint("the setting is `ingest.loaders`"))?,
            page_readers: PageReaders::default(),
            archives: config.bool("ingest.archives"),
            passwords: Passwords::new(Vec::new()),
            retry_failed: false,
            prune: true,
            allow_empty: true,
            file_timeout: config.time("ingest.file_timeout").unwrap_or(Duration::from_secs(60)),
            worker: worker()?,
        })
    }
}

/// One filling of one index.
struct Fill<'a> {
    writer: &'a mut Writer,
    embedder: Option<&'a dyn Embedder>,
    options: Options,
    context: &'a Context,
    cancel: &'a Cancel,
    failed: Vec<String>,
}

impl Fill<'_> {
    /// Files that are in another index under these names.
    fn files(&mut self, files: &[(String, PathBuf)]) -> Result<HashMap<SourceId, String>, Failure> {
        let (mut names, mut batch) = (HashMap::new(), Batch::default());
        for (name, path) in files {
            let bytes = fs::read(path).map_err(|error| files::unreadable(path, &error))?;
            let given = Given { root: ROOT.to_owned(), name: name.clone(), extension: None, title: None, bytes };
            names.insert(source_id(&given), name.clone());
            batch.push(self, given)?;
        }
        batch.hand_over(self)?;
        Ok(names)
    }

    /// A document a line.
    fn lines(&mut self, path: &Path) -> Result<HashMap<SourceId, String>, Failure> {
        let (mut names, mut batch) = (HashMap::new(), Batch::default());
        let mut lines = Lines::default();
        each_line(path, &mut |line| {
            let Some(record) = lines.next(line) else { return Ok(()) };
            let id = record.id.clone();
            let given = given(record);
            names.insert(source_id(&given), id);
            batch.push(self, given)
        })?;
        batch.hand_over(self)?;
        Ok(names)
    }

    /// A document a file, called by its path below the folder.
    fn folder(&mut self, path: &Path, place: &Place) -> Result<HashMap<SourceId, String>, Failure> {
        self.options.paths = vec![path.to_path_buf()];
        self.ingest()?;
        let below = fs::canonicalize(path).map_err(|error| files::unreadable(path, &error))?;
        let snapshot = self.writer.snapshot();
        let places = place.places(snapshot);
        let name = |source: &SourceRecord| {
            let file = places.file(&source.display_path())?;
            Some((source.id, SourcePath::from_path(file.strip_prefix(&below).ok()?).to_string()))
        };
        Ok(snapshot.sources(None)?.iter().filter_map(name).collect())
    }

    fn ingest(&mut self) -> Result<(), Failure> {
        let progress = Progress::new(&self.context.screen, "document");
        let result = ingest::ingest(self.writer, self.embedder, &self.options, &WithoutCommits(&progress), self.cancel);
        progress.finish();
        let report: Report = result?;
        if report.interrupted {
            return Err(interrupted());
        }
        self.failed.extend(report.failed.into_iter().map(|outcome| outcome.path));
        Ok(())
    }
}

/// Documents on their way into the index.
#[derive(Default)]
struct Batch {
    given: Vec<Given>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, fill: &mut Fill<'_>, given: Given) -> Result<(), Failure> {
        self.bytes += given.bytes.len();
        self.given.push(given);
        let is_full = self.bytes >= BATCH_BYTES || self.given.len() >= BATCH_DOCUMENTS;
        if is_full { self.hand_over(fill) } else { Ok(()) }
    }

    fn hand_over(&mut self, fill: &mut Fill<'_>) -> Result<(), Failure> {
        self.bytes = 0;
        fill.options.given = std::mem::take(&mut self.given);
        fill.ingest()
    }
}

fn source_id(given: &Given) -> SourceId {
    SourceRecord::id_of(COLLECTION, ROOT, &SourcePath::from_spelling(given.name.clone()))
}

pub fn interrupted() -> Failure {
    Failure::new(Kind::Cancelled, "interrupted: nothing was measured")
}

/// The ids of a corpus in lines. Errors: a line that is no document.
pub fn ids(path: &Path) -> Result<HashSet<String>, Failure> {
    let mut lines = Lines::default();
    each_line(path, &mut |line| {
        lines.next(line);
        Ok(())
    })?;
    lines.finish().map_err(|bad| files::malformed(path, &bad))
}

fn each_line(path: &Path, each: &mut dyn FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    let (mut file, mut line) = (files::open(path)?, String::new());
    while file.read_line(&mut line).map_err(|error| files::unreadable(path, &error))? > 0 {
        each(&line)?;
        line.clear();
    }
    Ok(())
}

/// The last part of a source's name is a title too: this one has no word in it.
fn given(Record { id, title, text }: Record) -> Given {
    let (title, text) = if text.trim().is_empty() { (String::new(), title) } else { (title, text) };
    Given {
        root: ROOT.to_owned(),
        name: format!("{id}/_"),
        extension: Some("txt".to_owned()),
        title: Some(title),
        bytes: text.into_bytes(),
    }
}

/// Generations of an index that nobody asked for are no news.
struct WithoutCommits<'a>(&'a Progress);

impl Observer for WithoutCommits<'_> {
    fn event(&self, event: Event<'_>) {
        if !matches!(event, Event::Committed { .. }) {
            self.0.event(event);
        }
    }
}
