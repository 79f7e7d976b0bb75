//! Which embedder flags and settings ask for, and how it is made.

use std::path::{Path, PathBuf};

use rag::{
    model::{
        Embedder,
        http::{HttpOptions, Waits},
        openai::{EmbedOptions, OpenAiEmbedder},
        registry,
    },
    types::{Cancel, EmbeddingSpace},
};

use super::{Place, keys::key};
#[cfg(feature = "onnx")]
use crate::cli::installed;
use crate::cli::{
    commands::ingest::EmbedArgs,
    config::{self, Config},
    env,
    report::Failure,
};

/// Which embedder flags and settings ask for.
pub(super) struct Wanted<'a> {
    pub(super) config: &'a Config,
    pub(super) url: Option<&'a str>,
    pub(super) url_is_flag: bool,
    pub(super) model: Option<&'a str>,
    pub(super) model_flag: Option<&'a str>,
    pub(super) onnxruntime: Option<&'a str>,
    /// Many texts will be embedded, not one query.
    pub(super) many: bool,
    pub(super) waits: Waits,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(place: &Place, config: &'a Config, flags: &'a EmbedArgs) -> Self {
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
    pub(super) fn names_another(&self, space: &EmbeddingSpace) -> bool {
        self.url.is_none() && self.model_flag.is_some_and(|name| !name.eq_ignore_ascii_case(&space.model))
    }

    /// Errors: the flag names a model that is not here.
    pub(super) fn exists(&self) -> Result<(), Failure> {
        match self.model_flag.filter(|name| registry::find(name).is_err()) {
            Some(name) => is_named(name),
            None => Ok(()),
        }
    }

    pub(super) fn embedder(&self, cancel: &Cancel) -> Result<Box<dyn Embedder>, Failure> {
        match self.url {
            Some(url) => Ok(Box::new(OpenAiEmbedder::connect(self.endpoint(url, cancel)?)?)),
            None => match self.model.filter(|name| registry::find(name).is_err()) {
                Some(name) => named_embedder(name, self.many),
                None => self.built_in(),
            },
        }
    }

    pub(super) fn endpoint(&self, url: &str, cancel: &Cancel) -> Result<EmbedOptions, Failure> {
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
    pub(super) fn built_in(&self) -> Result<Box<dyn Embedder>, Failure> {
        use rag::model::onnx::{OnnxEmbedder, Profile};
        if let Some(library) = self.onnxruntime {
            return Ok(Box::new(OnnxEmbedder::on_onnxruntime(&onnxruntime_options(library))?));
        }
        let profile = if self.many { Profile::Throughput } else { Profile::OneShot };
        Ok(Box::new(OnnxEmbedder::built_in(profile)?))
    }

    #[cfg(not(feature = "onnx"))]
    pub(super) fn built_in(&self) -> Result<Box<dyn Embedder>, Failure> {
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
pub(super) fn named_embedder(name: &str, many: bool) -> Result<Box<dyn Embedder>, Failure> {
    use rag::model::folder::Purpose;
    installed::embedder(&installed::named(name, Purpose::Embedder)?, many)
}

#[cfg(feature = "onnx")]
pub(super) fn installed_embedder(
    space: &EmbeddingSpace,
    index: PathBuf,
    many: bool,
) -> Result<Box<dyn Embedder>, Failure> {
    installed::embedder_of(space, index, many)
}

#[cfg(not(feature = "onnx"))]
pub(super) fn named_embedder(name: &str, _many: bool) -> Result<Box<dyn Embedder>, Failure> {
    Err(Failure::usage(format!("this program was built without a runtime for models, so `{name}` cannot be run"))
        .hint("use `--embed-url`, or `--no-embed` for search by words alone"))
}

#[cfg(not(feature = "onnx"))]
pub(super) fn installed_embedder(
    space: &EmbeddingSpace,
    _index: PathBuf,
    many: bool,
) -> Result<Box<dyn Embedder>, Failure> {
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
