//! Where the index is, and which models this run uses: the one place where settings become an index and models.

mod chat;
mod embedder;
mod keys;
mod reranker;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rag::{
    index::{self, Index, Settings, Snapshot, WriterOptions},
    model::{
        Embedder,
        http::{Waits, shown},
        openai::{EmbedOptions, OpenAiEmbedder},
        registry, same_space,
    },
    retrieve::Mode,
    serve::files::Files,
    types::{Cancel, EmbeddingSpace, SourcePath},
};

pub use self::{
    chat::LlmFlags,
    keys::{ca_pem, key_origin, llm_key},
};

use self::embedder::{Wanted, installed_embedder};
use super::{
    args::Global,
    commands::ingest::EmbedArgs,
    config::Config,
    env,
    output::{Screen, places::Places, waits},
    report::Failure,
};

/// Name of an index folder that is found by itself.
const FOLDER: &str = ".rag";

/// Where the index of this run is, or will be.
#[derive(Debug, Clone)]
pub struct Place {
    pub dir: PathBuf,
    /// By the command line: not found, nor a variable's.
    pub is_named: bool,
    /// Open it though another user owns it and others may write to it.
    pub trust: bool,
    /// Hears of requests to models that wait to be sent again.
    pub waits: Waits,
}

/// An index to be filled, and who embeds for it.
pub struct Workshop {
    pub index: Index,
    pub embedder: Option<Box<dyn Embedder>>,
    /// The index was made now, and so was its folder: nothing of anybody else is in it.
    pub is_new: bool,
    /// A dry run on a folder that has no index plans against an empty one, which goes away with this.
    _scratch: Option<tempfile::TempDir>,
}

impl Place {
    /// `--index`, else `RAG_INDEX`, else the nearest `.rag` from the current folder upward, else `./.rag`.
    pub fn find(global: &Global) -> Result<Self, Failure> {
        let (trust, waits) = (global.trust_index, waits::told(global));
        if let Some(dir) = global.index.clone().or_else(|| env::path(env::INDEX)) {
            return Ok(Self { dir, is_named: global.index.is_some(), trust, waits });
        }
        let here = std::env::current_dir().map_err(|error| {
            Failure::new(rag::types::Kind::Io, format!("the current folder cannot be read: {error}"))
        })?;
        let nearest = here.ancestors().find(|folder| Index::is_at(&folder.join(FOLDER)));
        let dir = match nearest {
            Some(folder) if folder != here => folder.join(FOLDER),
            Some(_) | None => PathBuf::from(FOLDER),
        };
        Ok(Self { dir, is_named: false, trust, waits })
    }

    pub fn exists(&self) -> bool {
        Index::is_at(&self.dir)
    }

    /// The folder that holds the index, if the index is called `.rag`: paths below it are relative to it.
    pub fn home(&self) -> Option<PathBuf> {
        let absolute = std::path::absolute(&self.dir).ok()?;
        let parent = (absolute.file_name()? == FOLDER).then(|| absolute.parent()).flatten()?;
        Some(fs::canonicalize(parent).unwrap_or_else(|_| parent.to_path_buf()))
    }

    pub fn places(&self, snapshot: &Snapshot) -> Places {
        Places::new(self.home(), snapshot.roots().clone())
    }

    /// Tells whether the files of sources are as they were ingested.
    pub fn freshness<'s>(&self, snapshot: &'s Snapshot) -> Files<'s> {
        Files::new(self.home(), snapshot)
    }

    /// A path as the index spells it: given so, or as a path from the current folder.
    pub fn spelled(&self, what: &OsStr, snapshot: &Snapshot) -> String {
        let given = match what.to_str() {
            Some(text) => text.trim_start_matches("./").trim_end_matches('/').to_string(),
            None => SourcePath::from_path(Path::new(what)).to_string(),
        };
        let Ok(real) = fs::canonicalize(what) else { return given };
        let below = |root: &Path| real.strip_prefix(root).ok().map(|rest| SourcePath::from_path(rest).to_string());
        let home = self.home().and_then(|home| below(&home));
        let named = || {
            let roots = snapshot.roots().iter();
            roots.filter_map(|(name, root)| Some((name, below(Path::new(root))?))).next()
        };
        match (home, named()) {
            (Some(path), _) => path,
            (None, Some((name, path))) if path.is_empty() => name.clone(),
            (None, Some((name, path))) => format!("{name}/{path}"),
            (None, None) => given,
        }
    }

    /// Errors: as [`Index::open`], and `Usage` for an index that somebody else could change under this process, or have
    /// made to harm it.
    pub fn open(&self) -> Result<Index, Failure> {
        let index = Index::open(&self.dir)?;
        if !self.trust && is_somebody_elses(&self.dir) {
            let message = format!(
                "index at `{}` belongs to another user, and others than that one may write to it",
                self.dir.display()
            );
            return Err(Failure::usage(message).hint(
                "if you trust everyone who may write to it: `--trust-index`; else copy it, or `chmod -R go-w` it",
            ));
        }
        Ok(index)
    }

    /// `wait`: for another writer to end.
    pub fn writer_options(&self, wait: Duration) -> WriterOptions {
        let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        // Another process shows it: an address may hold a secret.
        let words = words.map(|word| match word.split_once("://") {
            Some(_) => shown(&word),
            None => word,
        });
        let command = std::iter::once("rag".to_string()).chain(words).collect::<Vec<_>>().join(" ");
        WriterOptions { wait, command: command.chars().take(200).collect(), ..WriterOptions::default() }
    }

    /// Opens the index with the embedder of its own space, or makes one with the embedder that flags and settings name.
    pub fn workshop(
        &self,
        config: &Config,
        flags: &EmbedArgs,
        dry_run: bool,
        screen: &Screen,
        cancel: &Cancel,
    ) -> Result<Workshop, Failure> {
        let wanted = Wanted::new(self, config, flags);
        let index = match self.exists().then(|| self.open()) {
            // Its creation goes on, or was cut off: whoever creates waits for the one and finishes the other.
            Some(Err(failure)) if failure.kind() == Some(rag::types::Kind::NotFound) => None,
            Some(opened) => Some(opened?),
            None => None,
        };
        let Some(index) = index else {
            let embedder = if flags.no_embed { None } else { Some(wanted.embedder(cancel)?) };
            let settings = Settings { space: embedder.as_ref().map(|embedder| embedder.space().clone()) };
            let scratch = if dry_run { Some(scratch()?) } else { None };
            let dir = scratch.as_ref().map_or(self.dir.clone(), |scratch| scratch.path().join(FOLDER));
            let is_new = scratch.is_none() && dir.symlink_metadata().is_err();
            return Ok(Workshop { index: Index::create(&dir, &settings)?, embedder, is_new, _scratch: scratch });
        };
        let snapshot = index.snapshot()?;
        let Some(space) = snapshot.space() else {
            if flags.embed_url.is_some() || flags.onnxruntime.is_some() {
                return Err(self.other_space("no vectors", "an embedder"));
            }
            if !flags.no_embed {
                screen.note("this index was made without vectors (--no-embed) and stays so");
            }
            return Ok(Workshop { index, embedder: None, is_new: false, _scratch: None });
        };
        if flags.no_embed {
            return Err(self.other_space(&space.model, "--no-embed"));
        }
        let embedder = self.embedder_for(space, &wanted, cancel, true)?;
        Ok(Workshop { index, embedder: Some(embedder), is_new: false, _scratch: None })
    }

    /// The embedder that flags and settings name, whatever the index has; `None`: without vectors.
    pub fn embedder(
        &self,
        config: &Config,
        flags: &EmbedArgs,
        cancel: &Cancel,
    ) -> Result<Option<Box<dyn Embedder>>, Failure> {
        if flags.no_embed { Ok(None) } else { Wanted::new(self, config, flags).embedder(cancel).map(Some) }
    }

    /// The embedder that a query needs: none for words alone or for an index without vectors.
    pub fn query_embedder(
        &self,
        config: &Config,
        snapshot: &Snapshot,
        mode: Mode,
    ) -> Result<Option<Box<dyn Embedder>>, Failure> {
        self.queries_embedder(config, snapshot, mode, false)
    }

    /// As [`query_embedder`](Self::query_embedder). `many`: for so many queries that the model is worth preparing.
    pub fn queries_embedder(
        &self,
        config: &Config,
        snapshot: &Snapshot,
        mode: Mode,
        many: bool,
    ) -> Result<Option<Box<dyn Embedder>>, Failure> {
        match snapshot.space() {
            Some(space) if mode != Mode::Lexical => {
                let flags = EmbedArgs::default();
                let wanted = Wanted { many, ..Wanted::new(self, config, &flags) };
                self.embedder_for(space, &wanted, &Cancel::default(), false).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    /// The embedder of an index's space, prepared for many texts.
    #[cfg(feature = "serve")]
    pub fn embedder_of(&self, config: &Config, space: &EmbeddingSpace) -> Result<Box<dyn Embedder>, Failure> {
        let flags = EmbedArgs::default();
        self.embedder_for(space, &Wanted::new(self, config, &flags), &Cancel::default(), false)
    }

    /// The embedder that fills an index which is there, proved by the probe; none for an index without vectors.
    #[cfg(feature = "serve")]
    pub fn filling_embedder(
        &self,
        config: &Config,
        snapshot: &Snapshot,
        cancel: &Cancel,
    ) -> Result<Option<Box<dyn Embedder>>, Failure> {
        let flags = EmbedArgs::default();
        let Some(space) = snapshot.space() else { return Ok(None) };
        self.embedder_for(space, &Wanted::new(self, config, &flags), cancel, true).map(Some)
    }

    /// Who would embed for this index here: for `status`. Loads no model.
    pub fn embedder_name(&self, config: &Config, space: Option<&EmbeddingSpace>) -> Option<String> {
        let space = space?;
        match (is_built_in(space), config.text("embed.url"), config.text("embed.onnxruntime")) {
            (true, _, Some(library)) => Some(format!("ONNX Runtime ({library})")),
            (true, _, None) => registry::built_in().ok().map(|_| "rten (built in)".to_string()),
            (false, _, _) if is_installed(space) => Some(format!("{} (installed)", space.model)),
            (false, Some(url), _) => Some(shown(url)),
            (false, None, _) => None,
        }
    }

    fn embedder_for(
        &self,
        space: &EmbeddingSpace,
        wanted: &Wanted<'_>,
        cancel: &Cancel,
        probe: bool,
    ) -> Result<Box<dyn Embedder>, Failure> {
        let embedder = match (is_built_in(space), wanted.url) {
            (true, Some(_)) if wanted.url_is_flag => return Err(self.other_space(&space.model, "an endpoint")),
            (_, None) if wanted.names_another(space) => {
                wanted.exists()?;
                return Err(self.other_space(&space.model, wanted.model_flag.unwrap_or_default()));
            }
            (true, _) => wanted.built_in()?,
            (false, _) if is_installed(space) => installed_embedder(space, self.dir.clone(), wanted.many)?,
            (false, Some(url)) => {
                // The space is the index's: a query asks nothing first. Filling the index proves the endpoint by the probe.
                let options = EmbedOptions { model: space.model.clone(), ..wanted.endpoint(url, cancel)? };
                if probe {
                    Box::new(OpenAiEmbedder::connect(options)?)
                } else {
                    Box::new(OpenAiEmbedder::with_space(options, space.clone())?)
                }
            }
            (false, None) => {
                let hint = "name the endpoint that has this model in RAG_EMBED_URL or `embed.url`, or search with `--mode lexical`";
                return Err(self.other_space(&space.model, "the built-in model").replace_hint(hint));
            }
        };
        same_space(space, embedder.space())
            .map_err(|why| self.other_space(&space.model, &embedder.space().model).also(&why))?;
        Ok(embedder)
    }

    fn other_space(&self, found: &str, expected: &str) -> Failure {
        let (path, found, expected) = (self.dir.clone(), found.to_string(), expected.to_string());
        index::Error::Space { path, found, expected }.into()
    }
}

/// The folder, or one of those in it, is another user's and open to writes of still others.
#[cfg(unix)]
fn is_somebody_elses(dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    let is_open = |path: PathBuf| fs::metadata(path).is_ok_and(|meta| meta.uid() != own && meta.mode() & 0o022 != 0);
    [dir.to_path_buf(), dir.join("text"), dir.join("vectors"), dir.join("FORMAT")].into_iter().any(is_open)
}

#[cfg(not(unix))]
fn is_somebody_elses(_dir: &Path) -> bool {
    false
}

/// A folder of ours that goes away by itself.
fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::Builder::new()
        .prefix("rag-dry-run-")
        .tempdir()
        .map_err(|error| Failure::new(rag::types::Kind::Io, format!("cannot make a temporary folder: {error}")))
}

/// The model that is compiled in.
fn is_built_in(space: &EmbeddingSpace) -> bool {
    !space.sha256.is_empty() && registry::find(&space.model).is_ok_and(|model| model.sha256 == space.sha256)
}

/// A model that is installed here, or was where the index was filled. The others are behind an endpoint.
fn is_installed(space: &EmbeddingSpace) -> bool {
    !space.sha256.is_empty() && !is_built_in(space)
}
