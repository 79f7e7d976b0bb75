//! Where the index is, and which models this run uses: the one place where settings become an index and models.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rag::{
    index::{self, Index, Settings, Snapshot, WriterOptions},
    model::{
        Chat, Embedder, Reranker,
        http::{HttpOptions, Key, Waits, shown},
        openai::{Api, ChatOptions, EmbedOptions, LimitField, OpenAiChat, OpenAiEmbedder},
        registry,
        rerank::{EndpointOptions, EndpointReranker},
        same_space,
    },
    retrieve::{Mode, Rerank},
    types::{Cancel, EmbeddingSpace, SourcePath},
};

use super::{
    args::Global,
    commands::ingest::EmbedArgs,
    config::{self, Config},
    env,
    freshness::Files,
    output::{Screen, places::Places, waits},
    report::Failure,
};

#[cfg(feature = "onnx")]
use super::installed;

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
        Files::new(self.places(snapshot), snapshot)
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
        if !self.exists() {
            let embedder = if flags.no_embed { None } else { Some(wanted.embedder(cancel)?) };
            let settings = Settings { space: embedder.as_ref().map(|embedder| embedder.space().clone()) };
            let scratch = if dry_run { Some(scratch()?) } else { None };
            let dir = scratch.as_ref().map_or(self.dir.clone(), |scratch| scratch.path().join(FOLDER));
            let is_new = scratch.is_none() && dir.symlink_metadata().is_err();
            return Ok(Workshop { index: Index::create(&dir, &settings)?, embedder, is_new, _scratch: scratch });
        }
        let index = self.open()?;
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

    /// The model that answers, if one is configured. `config` is that of the model asked for ([`Config::for_model`]).
    pub fn chat(&self, config: &Config, flags: &LlmFlags<'_>) -> Result<Option<Box<dyn Chat>>, Failure> {
        let Some(url) = flags.url.or(config.text("llm.url")) else {
            return match flags.model {
                Some(_) => Err(Failure::usage("--model names a model, but no endpoint is known")
                    .hint("name one with --llm-url or RAG_LLM_URL, or make a profile of that name in your config")),
                None => Ok(None),
            };
        };
        let mut headers = Vec::new();
        for line in config.list("llm.headers").iter().chain(flags.headers) {
            headers.push(header(line)?);
        }
        let mut key = llm_key(config, url)?;
        if let (Some(name), Some(value)) = (config.text("llm.key_header"), &key) {
            headers.push((name.to_owned(), value.clone()));
            key = None;
        }
        let ca_pem = ca_pem(config)?;
        let address = match config.text("llm.api_version") {
            Some(version) => with_version(url, version),
            None => url.to_owned(),
        };
        let time = |key: &str, default: u64| config.time(key).unwrap_or(Duration::from_secs(default));
        let options = ChatOptions {
            model: config.text("llm.model").unwrap_or_default().to_string(),
            key,
            headers,
            no_system: flags.no_system || config.bool("llm.no_system"),
            api: if config.text("llm.api") == Some("responses") { Api::Responses } else { Api::Chat },
            temperature: config.share("llm.temperature").unwrap_or(0.0),
            limit_field: match config.text("llm.max_tokens_field") {
                Some("max_tokens") => Some(LimitField::MaxTokens),
                Some("max_completion_tokens") => Some(LimitField::MaxCompletionTokens),
                Some("none") => Some(LimitField::None),
                Some(_) | None => None,
            },
            http: HttpOptions {
                connect_timeout: time("llm.connect_timeout", 10),
                first_byte_timeout: time("llm.first_token_timeout", 120),
                idle_timeout: time("llm.idle_timeout", 60),
                total_timeout: config.time("llm.timeout"),
                allow_plaintext: config.bool("llm.allow_plaintext"),
                ca_pem,
                waits: self.waits.clone(),
                ..HttpOptions::default()
            },
            cancel: flags.cancel.clone(),
            ..ChatOptions::new(address)
        };
        Ok(Some(Box::new(OpenAiChat::new(options)?)))
    }
}

impl Place {
    /// The reranker that settings name. Errors: usage where they name none.
    pub fn reranker(&self, config: &Config, budget: Option<Duration>) -> Result<Rerank, Failure> {
        let budget = budget.or(config.time("rerank.budget")).unwrap_or(Duration::from_secs(2));
        let reranker: Arc<dyn Reranker> = match (config.text("rerank.folder"), config.text("rerank.url")) {
            (Some(_), Some(_)) => {
                return Err(Failure::usage("`rerank.folder` and `rerank.url` are both set")
                    .hint("one reranker is asked: leave one of them out"));
            }
            (Some(folder), None) => local_reranker(Path::new(folder))?,
            (None, None) if config.text("rerank.model").is_some() => {
                named_reranker(config.text("rerank.model").unwrap_or_default())?
            }
            (None, Some(url)) => Arc::new(EndpointReranker::new(EndpointOptions {
                base_url: url.to_string(),
                model: config.text("rerank.model").unwrap_or_default().to_string(),
                key: key(env::RERANK_KEY, config.text("rerank.key_file"), url)?,
                http: HttpOptions {
                    allow_plaintext: config.bool("llm.allow_plaintext"),
                    waits: self.waits.clone(),
                    ..HttpOptions::default()
                },
                cancel: Cancel::default(),
            })?),
            (None, None) => {
                return Err(Failure::usage("no reranker is configured").hint(
                    "set `rerank.url` (RAG_RERANK_URL) to an endpoint, or `rerank.model` to an installed model (`rag models`)",
                ));
            }
        };
        Ok(Rerank { reranker, budget })
    }
}

#[cfg(feature = "onnx")]
fn local_reranker(folder: &Path) -> Result<Arc<dyn Reranker>, Failure> {
    Ok(Arc::new(rag::model::rerank::LocalReranker::load(folder)?))
}

#[cfg(feature = "onnx")]
fn named_reranker(name: &str) -> Result<Arc<dyn Reranker>, Failure> {
    local_reranker(&installed::named(name, rag::model::folder::Purpose::Reranker)?.folder)
}

#[cfg(not(feature = "onnx"))]
fn named_reranker(name: &str) -> Result<Arc<dyn Reranker>, Failure> {
    local_reranker(Path::new(name))
}

#[cfg(not(feature = "onnx"))]
fn local_reranker(_: &Path) -> Result<Arc<dyn Reranker>, Failure> {
    Err(Failure::usage("this program was built without a runtime for models").hint("use `rerank.url`"))
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

/// What the command line says of the model that answers.
#[derive(Debug, Default)]
pub struct LlmFlags<'a> {
    pub url: Option<&'a str>,
    pub model: Option<&'a str>,
    pub headers: &'a [String],
    pub no_system: bool,
    /// Hangs up when it is asked.
    pub cancel: Cancel,
}

/// The certificates of `llm.ca_file`; empty if it is not set.
pub fn ca_pem(config: &Config) -> Result<Vec<u8>, Failure> {
    match config.text("llm.ca_file") {
        Some(path) => fs::read(path)
            .map_err(|error| Failure::usage(format!("cannot read the certificates `{path}` (llm.ca_file): {error}"))),
        None => Ok(Vec::new()),
    }
}

/// The key of the model that answers: of `llm.key_env`, else as any key; a profile's own endpoint gets its own key alone.
pub fn llm_key(config: &Config, url: &str) -> Result<Option<Key>, Failure> {
    if let Some(name) = config.text("llm.key_env") {
        let value = env::text(name);
        let none = || Failure::usage(format!("the variable {name} (llm.key_env) is not set, or is not UTF-8"));
        return value.map(|value| Some(Key::new(value))).ok_or_else(none);
    }
    match (config.has_own_endpoint(), config.text("llm.key_file")) {
        (true, Some(path)) => key_of_file(path).map(Some),
        (true, None) => Ok(is_openai(url).then(|| env::text(env::OPENAI_KEY)).flatten().map(Key::new)),
        (false, file) => key(env::LLM_KEY, file, url),
    }
}

/// Reads `Name: value` or `Name=value`; `${VARIABLE}` in the value is taken from the environment.
fn header(line: &str) -> Result<(String, Key), Failure> {
    let wrong =
        || Failure::usage("a header of the endpoint is written `Name: value`").hint("values are not shown here");
    let (name, value) = line.split_once([':', '=']).ok_or_else(wrong)?;
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(wrong());
    }
    let mut out = String::new();
    let mut rest = value.trim();
    while let Some(at) = rest.find("${") {
        let Some(end) = rest[at..].find('}') else { break };
        let variable = &rest[at + 2..at + end];
        out.push_str(&rest[..at]);
        let found = env::text(variable);
        out.push_str(&found.ok_or_else(|| {
            Failure::usage(format!(
                "the variable {variable}, which the header `{name}` takes its value from, is not set"
            ))
        })?);
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    Ok((name.to_owned(), Key::new(out)))
}

/// The address with `api-version`, unless it has one.
fn with_version(url: &str, version: &str) -> String {
    if url.contains("api-version=") {
        return url.to_owned();
    }
    let sign = if url.contains('?') { '&' } else { '?' };
    format!("{url}{sign}api-version={version}")
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

/// Which embedder flags and settings ask for.
struct Wanted<'a> {
    config: &'a Config,
    url: Option<&'a str>,
    url_is_flag: bool,
    model: Option<&'a str>,
    model_flag: Option<&'a str>,
    onnxruntime: Option<&'a str>,
    /// Many texts will be embedded, not one query.
    many: bool,
    waits: Waits,
}

impl<'a> Wanted<'a> {
    fn new(place: &Place, config: &'a Config, flags: &'a EmbedArgs) -> Self {
        Self {
            waits: place.waits.clone(),
            config,
            url: flags.embed_url.as_deref().or(config.text("embed.url")),
            url_is_flag: flags.embed_url.is_some(),
            model: flags.embed_model.as_deref().or(config.text("embed.model")),
            model_flag: flags.embed_model.as_deref(),
            onnxruntime: flags.onnxruntime.as_deref().or(config.text("embed.onnxruntime")),
            many: true,
        }
    }

    /// A flag of this run asks for another model than that of the index.
    fn names_another(&self, space: &EmbeddingSpace) -> bool {
        self.url.is_none() && self.model_flag.is_some_and(|name| !name.eq_ignore_ascii_case(&space.model))
    }

    /// Errors: the flag names a model that is not here.
    fn exists(&self) -> Result<(), Failure> {
        match self.model_flag.filter(|name| registry::find(name).is_err()) {
            Some(name) => is_named(name),
            None => Ok(()),
        }
    }

    fn embedder(&self, cancel: &Cancel) -> Result<Box<dyn Embedder>, Failure> {
        match self.url {
            Some(url) => Ok(Box::new(OpenAiEmbedder::connect(self.endpoint(url, cancel)?)?)),
            None => match self.model.filter(|name| registry::find(name).is_err()) {
                Some(name) => named_embedder(name, self.many),
                None => self.built_in(),
            },
        }
    }

    fn endpoint(&self, url: &str, cancel: &Cancel) -> Result<EmbedOptions, Failure> {
        let text = |key: &str| self.config.text(key).map(str::to_string);
        Ok(EmbedOptions {
            model: self.model.unwrap_or_default().to_string(),
            key: key(env::EMBED_KEY, self.config.text("embed.key_file"), url)?,
            query_prefix: text("embed.query_prefix"),
            passage_prefix: text("embed.passage_prefix"),
            http: HttpOptions {
                allow_plaintext: self.config.bool("llm.allow_plaintext"),
                waits: self.waits.clone(),
                ..HttpOptions::default()
            },
            cancel: cancel.clone(),
            ..EmbedOptions::new(url)
        })
    }

    #[cfg(feature = "onnx")]
    fn built_in(&self) -> Result<Box<dyn Embedder>, Failure> {
        use rag::model::onnx::{OnnxEmbedder, Profile};
        if let Some(library) = self.onnxruntime {
            return Ok(Box::new(OnnxEmbedder::on_onnxruntime(&onnxruntime_options(library))?));
        }
        let profile = if self.many { Profile::Throughput } else { Profile::OneShot };
        Ok(Box::new(OnnxEmbedder::built_in(profile)?))
    }

    #[cfg(not(feature = "onnx"))]
    fn built_in(&self) -> Result<Box<dyn Embedder>, Failure> {
        let _ = (self.onnxruntime, self.many);
        registry::built_in()?;
        Err(Failure::usage("this program was built without the built-in model")
            .hint("use `--embed-url`, or `--no-embed` for search by words alone"))
    }
}

#[cfg(feature = "onnx")]
fn is_named(name: &str) -> Result<(), Failure> {
    installed::named(name, rag::model::folder::Purpose::Embedder).map(drop)
}

#[cfg(not(feature = "onnx"))]
fn is_named(name: &str) -> Result<(), Failure> {
    named_embedder(name, false).map(drop)
}

#[cfg(feature = "onnx")]
fn named_embedder(name: &str, many: bool) -> Result<Box<dyn Embedder>, Failure> {
    use rag::model::folder::Purpose;
    installed::embedder(&installed::named(name, Purpose::Embedder)?, many)
}

#[cfg(feature = "onnx")]
fn installed_embedder(space: &EmbeddingSpace, index: PathBuf, many: bool) -> Result<Box<dyn Embedder>, Failure> {
    installed::embedder_of(space, index, many)
}

#[cfg(not(feature = "onnx"))]
fn named_embedder(name: &str, _many: bool) -> Result<Box<dyn Embedder>, Failure> {
    Err(Failure::usage(format!("this program was built without a runtime for models, so `{name}` cannot be run"))
        .hint("use `--embed-url`, or `--no-embed` for search by words alone"))
}

#[cfg(not(feature = "onnx"))]
fn installed_embedder(space: &EmbeddingSpace, _index: PathBuf, many: bool) -> Result<Box<dyn Embedder>, Failure> {
    named_embedder(&space.model, many)
}

/// `auto` looks beside the program, in the system's library folders and in Python environments; else it is the library.
#[cfg(feature = "onnx")]
fn onnxruntime_options(library: &str) -> rag::model::onnx::ort::Options {
    use rag::model::onnx::ort::{Options, python_folders, system_folders};
    let unpack_to = config::cache_dir().unwrap_or_else(|| std::env::temp_dir().join("rag")).join("models");
    let named = (library != "auto").then(|| PathBuf::from(library)).or_else(|| env::path(env::ORT));
    let mut search = Vec::new();
    if named.is_none() {
        search.extend(std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_path_buf)));
        search.extend(system_folders());
        let environments = env::PYTHON_ROOTS.into_iter().filter_map(env::path);
        let own = env::path(env::HOME).map(|home| home.join(".local"));
        for root in environments.chain(own).chain(["/usr/local".into(), "/usr".into()]) {
            search.extend(python_folders(&root));
        }
    }
    Options { path: named, search, unpack_to }
}

/// A key from its own variable, its file, the common variable, or, for OpenAI alone, `OPENAI_API_KEY`.
fn key(own: &'static str, file: Option<&str>, url: &str) -> Result<Option<Key>, Failure> {
    if let Some(value) = env::os(own) {
        let text = value.into_string().map_err(|_| Failure::usage(format!("{own} is not UTF-8")))?;
        return Ok(Some(Key::new(text)));
    }
    if let Some(path) = file {
        return key_of_file(path).map(Some);
    }
    let common = env::common_key();
    Ok(common.or_else(|| is_openai(url).then(|| env::text(env::OPENAI_KEY)).flatten()).map(Key::new))
}

fn key_of_file(path: &str) -> Result<Key, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read the key file `{path}`: {error}")))?;
    Ok(Key::new(text.trim()))
}

fn is_openai(url: &str) -> bool {
    url.strip_prefix("https://").and_then(|rest| rest.split(['/', ':', '?']).next()) == Some("api.openai.com")
}

/// The variable that holds a key, for `rag config`; the key itself stays where it is.
pub fn key_origin(own: &'static str) -> Option<&'static str> {
    [own, env::KEY].into_iter().find(|name| env::os(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::is_openai;

    #[test]
    fn k01_the_openai_key_goes_to_openai_alone() {
        assert!(is_openai("https://api.openai.com/v1"));
        for url in [
            "http://api.openai.com/v1",
            "https://api.openai.com.evil.example/v1",
            "https://evil.example/api.openai.com",
            "https://api.openai.com@evil.example/v1",
        ] {
            assert!(!is_openai(url), "{url}");
        }
    }
}
