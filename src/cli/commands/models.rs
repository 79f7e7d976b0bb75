//! `rag models`: which embedders and rerankers are here; one more of them, from a folder or from the web; one less.

use std::{ffi::OsString, path::Path, sync::Mutex};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rag::{
    model::{
        self,
        folder::{Card, Fetch, Fetching, From, Installed, Purpose, checked, install, installed, remove},
        http::Key,
        registry::{self, Model},
    },
    serve::wire::{ModelSummary, ModelsResult},
    types::Cancel,
};

use super::Context;
use crate::cli::{
    env, exit,
    installed::models_dir,
    output::{Screen, bytes, sanitize},
    report::Failure,
    signals,
};

/// What `hf:ORG/NAME` stands below.
const HUB: &str = "https://huggingface.co";
/// Said where no model could be found under what was named.
const SOURCES: &str = "name a folder with model.onnx and tokenizer.json, an address, or hf:ORG/NAME";

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Read every installed model whole, and tell whether it is as it was installed
    #[arg(long)]
    check: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Install a model: `rag ingest --embed-model NAME` embeds with it
    Add(Add),
    /// Remove an installed model
    Rm {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, clap::Args)]
struct Add {
    /// Call it this
    #[arg(value_name = "NAME")]
    name: String,
    /// Take its files from this folder, from below this address, or from a repository of Hugging Face (hf:ORG/NAME)
    #[arg(long, value_name = "FOLDER|URL|hf:ORG/NAME")]
    from: OsString,
    /// Install it only if graph and weights have this sha256, in hex
    #[arg(long, value_name = "HEX")]
    sha256: Option<String>,
    /// Put this before a query, where the model wants it
    #[arg(long, value_name = "TEXT")]
    query_prefix: Option<String>,
    /// Put this before a passage, where the model wants it
    #[arg(long, value_name = "TEXT")]
    passage_prefix: Option<String>,
    /// It judges pairs of query and passage, whatever its files say
    #[arg(long)]
    reranker: bool,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    match args.what {
        None => list(context, args.check),
        Some(What::Add(add)) => self::add(context, add),
        Some(What::Rm { name }) => {
            let models = models_dir()?;
            let known = installed(&models)?.into_iter().find(|model| model.name == name);
            if registry::find(&name).is_ok() {
                return Err(Failure::usage(format!("`{name}` is part of the program and cannot be removed"))
                    .hint("`--no-embed` makes an index without it, `--embed-model` one with another"));
            }
            remove(&models, &name)?;
            if context.screen.json {
                print_json(context, known.iter().map(|model| summary(model, None)).collect())?;
            } else {
                context.screen.print(&format!("removed  {}\n", sanitize::line(&name)))?;
            }
            Ok(exit::OK)
        }
    }
}

fn list(context: &Context, check: bool) -> Result<u8, Failure> {
    let mut models = Vec::new();
    models.extend(registry::built_in().ok().map(built_in));
    for model in installed(&models_dir()?)? {
        let whole = if check { Some(checked(&model)?) } else { None };
        models.push(summary(&model, whole));
    }
    let damaged = models.iter().any(|model| model.whole == Some(false));
    let code = if damaged { exit::NO } else { exit::OK };
    if context.screen.json {
        print_json(context, models)?;
        return Ok(code);
    }
    let width = models.iter().map(|model| model.name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for model in &models {
        let place = if model.built_in { "built in" } else { &model.from };
        let whole = match model.whole {
            Some(true) => "  whole",
            Some(false) => "  DAMAGED: remove it, and add it again",
            None => "",
        };
        let line = format!(
            "{:width$}  {:8}  {:>9}  {:>5} tokens  {place}{whole}",
            model.name,
            model.purpose,
            bytes(model.size_bytes),
            model.max_tokens
        );
        out.push_str(&sanitize::line(&line));
        out.push('\n');
    }
    context.screen.print(&out)?;
    Ok(code)
}

fn add(context: &Context, add: Add) -> Result<u8, Failure> {
    let models = models_dir()?;
    let web = add.from.to_str().filter(|from| from.starts_with("hf:") || from.contains("://"));
    let fetch = match web {
        Some(address) => {
            let hub = env::text(env::HF_ENDPOINT).unwrap_or_else(|| HUB.to_owned());
            let of_hub = address.starts_with("hf:");
            let key = of_hub.then(|| env::text(env::HF_TOKEN)).flatten().map(Key::new);
            let cancel = Cancel::default();
            signals::watch(&cancel)?;
            Some(Fetch::new(address, &hub, key, cancel)?)
        }
        None => None,
    };
    let from = match &fetch {
        Some(fetch) => From::Web(fetch),
        None if !Path::new(&add.from).is_dir() => {
            return Err(Failure::usage(format!("`{}` is no folder", add.from.display())).hint(SOURCES));
        }
        None => From::Folder(Path::new(&add.from)),
    };
    let change = |card: &mut Card| {
        if add.reranker {
            card.purpose = Purpose::Reranker;
        }
        card.query_prefix = add.query_prefix.clone().unwrap_or_else(|| card.query_prefix.clone());
        card.passage_prefix = add.passage_prefix.clone().unwrap_or_else(|| card.passage_prefix.clone());
    };
    let progress = FileProgress::new(&context.screen);
    let made = install(&models, &add.name, &from, add.sha256.as_deref(), &change, &mut |file| progress.tell(file));
    progress.finish();
    let made = match made {
        // The name is wrong, or what is there is no model.
        Err(error @ model::Error::BadModel { .. }) => return Err(Failure::from(error).replace_hint(SOURCES)),
        other => other?,
    };
    if context.screen.json {
        print_json(context, vec![summary(&made, None)])?;
        return Ok(exit::OK);
    }
    let name = sanitize::line(&made.name).into_owned();
    let use_it = match made.card.purpose {
        Purpose::Embedder => {
            format!("`rag ingest --embed-model {name}` or `rag reembed --embed-model {name}` embeds with it")
        }
        Purpose::Reranker => format!("`rerank.model = \"{name}\"` in your settings, then `--rerank`"),
    };
    let sha256 = &made.card.sha256;
    context.screen.print(&format!("installed  {name}  {}  sha256 {sha256}\n", bytes(made.size_bytes)))?;
    context.screen.note(&use_it);
    Ok(exit::OK)
}

fn print_json(context: &Context, models: Vec<ModelSummary>) -> Result<(), Failure> {
    let folder = models_dir()?.display().to_string();
    Ok(context.screen.print_json(&ModelsResult { schema: "rag.models/1".into(), folder, models })?)
}

fn built_in(model: &'static Model) -> ModelSummary {
    ModelSummary {
        name: model.name.to_owned(),
        purpose: Purpose::Embedder.word().into(),
        built_in: true,
        max_tokens: model.max_tokens,
        query_prefix: model.query_prefix.to_owned(),
        passage_prefix: model.passage_prefix.to_owned(),
        size_bytes: rag::model::onnx::built_in_bytes(),
        sha256: model.sha256.to_owned(),
        from: String::new(),
        folder: None,
        whole: None,
    }
}

fn summary(model: &Installed, whole: Option<bool>) -> ModelSummary {
    let Installed { name, folder, card, size_bytes } = model;
    ModelSummary {
        name: name.clone(),
        purpose: card.purpose.word().into(),
        built_in: false,
        max_tokens: card.max_tokens,
        query_prefix: card.query_prefix.clone(),
        passage_prefix: card.passage_prefix.clone(),
        size_bytes: *size_bytes,
        sha256: card.sha256.clone(),
        from: card.from.clone(),
        folder: Some(folder.display().to_string()),
        whole,
    }
}

/// A bar on a terminal, nothing elsewhere.
struct FileProgress(Option<Mutex<ProgressBar>>);

impl FileProgress {
    fn new(screen: &Screen) -> Self {
        let shown = !screen.quiet && !screen.json && screen.stderr_is_terminal;
        Self(shown.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg}  {bar:30}  {bytes} of {total_bytes}  {bytes_per_sec}");
            bar.set_style(style.expect("a template of ours"));
            Mutex::new(bar)
        }))
    }

    fn tell(&self, file: Fetching<'_>) {
        let Some(Ok(bar)) = self.0.as_ref().map(Mutex::lock) else { return };
        bar.set_message(file.file.to_owned());
        if let Some(of) = file.of {
            bar.set_length(of);
        }
        bar.set_position(file.bytes);
    }

    fn finish(&self) {
        if let Some(Ok(bar)) = self.0.as_ref().map(Mutex::lock) {
            bar.finish_and_clear();
        }
    }
}
