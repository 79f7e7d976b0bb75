//! Settings: flag > environment > `rag.toml` in the index > the user's file > default.
//!
//! One table names every setting. A value keeps where it came from, so that `rag config` can say it. An index may have
//! come from somebody else, so its file sets how to ingest and retrieve and nothing that reaches outside.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    args::{duration, size},
    env,
    report::Failure,
};

/// Name of the file in the index folder.
pub const INDEX_FILE: &str = "rag.toml";

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Text,
    Bool,
    /// From, to.
    Number(u64, u64),
    /// 0..=1.
    Share,
    /// From 0.
    Decimal(u32),
    Size,
    Time,
    List,
    Choice(&'static [&'static str]),
}

/// One setting.
#[derive(Debug)]
pub struct Setting {
    pub key: &'static str,
    pub shape: Shape,
    /// As it would be typed; `None`: unset.
    pub default: Option<&'static str>,
    /// The index's own file may set it.
    pub in_index: bool,
    pub help: &'static str,
}

const fn own(key: &'static str, shape: Shape, default: Option<&'static str>, help: &'static str) -> Setting {
    Setting { key, shape, default, in_index: false, help }
}

const fn shared(key: &'static str, shape: Shape, default: Option<&'static str>, help: &'static str) -> Setting {
    Setting { key, shape, default, in_index: true, help }
}

/// Every setting there is.
pub const SETTINGS: &[Setting] = &[
    shared("ingest.chunk_tokens", Shape::Number(32, 254), Some("230"), "word pieces a chunk aims at"),
    shared(
        "ingest.chunk_overlap",
        Shape::Number(0, 127),
        None,
        "word pieces two neighbour chunks share; unset: 40 of 230, as much of other sizes",
    ),
    shared("ingest.max_file_size", Shape::Size, Some("512MiB"), "larger files are skipped"),
    shared("ingest.file_timeout", Shape::Time, Some("60s"), "a file that takes longer has failed"),
    shared("ingest.hidden", Shape::Bool, Some("false"), "take hidden files too"),
    shared("ingest.archives", Shape::Bool, Some("false"), "read what is in archives (zip, tar, gz)"),
    shared("ingest.include", Shape::List, None, "take only files that match one of these globs"),
    shared("ingest.exclude", Shape::List, None, "leave out files that match one of these globs"),
    own("ingest.follow", Shape::Bool, Some("false"), "follow symbolic links inside the given folders"),
    own(
        "ingest.loaders",
        Shape::List,
        None,
        "programs that read other formats: `djvu=djvutxt /dev/stdin`; the file on their standard input",
    ),
    own("ingest.ocr", Shape::Bool, Some("false"), "read scanned pages of PDFs with `tesseract` and `pdftoppm`"),
    own(
        "ingest.ocr_languages",
        Shape::Text,
        Some("eng"),
        "what they are written in, as `tesseract` names it: `deu+eng`",
    ),
    own("ingest.jobs", Shape::Number(0, 1024), Some("0"), "worker processes; 0: one a core"),
    shared("retrieve.k", Shape::Number(1, 1000), Some("10"), "results of a query"),
    shared("retrieve.mode", Shape::Choice(&["hybrid", "lexical", "dense"]), Some("hybrid"), "which legs search"),
    shared(
        "retrieve.fusion",
        Shape::Choice(&["blend", "rrf", "weighted", "dbsf"]),
        Some("blend"),
        "how legs become one",
    ),
    shared("retrieve.alpha", Shape::Share, None, "weight of the dense leg"),
    shared("retrieve.min_score", Shape::Share, None, "least relevance of a result"),
    shared("retrieve.per_source", Shape::Number(1, 1000), None, "most results of one source"),
    shared("retrieve.recall", Shape::Share, None, "share of the nearest chunks that a graph must find"),
    shared("retrieve.mmr", Shape::Share, None, "diversity: 1 relevance alone, 0 diversity alone"),
    own("embed.url", Shape::Text, None, "OpenAI-style endpoint for embeddings; unset: the built-in model"),
    own(
        "embed.model",
        Shape::Text,
        None,
        "model name at that endpoint; without one, an installed model (`rag models`)",
    ),
    own("embed.key_file", Shape::Text, None, "file that holds the key of that endpoint"),
    own("embed.query_prefix", Shape::Text, None, "put before a query, where the model wants it"),
    own("embed.passage_prefix", Shape::Text, None, "put before a passage, where the model wants it"),
    own("embed.onnxruntime", Shape::Text, None, "ONNX Runtime library to use, or `auto`; unset: the built-in runtime"),
    own("rerank.url", Shape::Text, None, "endpoint that reranks (Cohere, Jina, TEI, llama.cpp), for `--rerank`"),
    own(
        "rerank.model",
        Shape::Text,
        None,
        "model name at that endpoint; without one, an installed model (`rag models`)",
    ),
    own("rerank.key_file", Shape::Text, None, "file that holds the key of that endpoint"),
    own("rerank.folder", Shape::Text, None, "folder with a cross-encoder (`model.onnx`, its tokenizer) to rerank here"),
    own("rerank.budget", Shape::Time, Some("2s"), "longest wait for a reranker; then the order of the search stands"),
    own("llm.url", Shape::Text, None, "OpenAI-style endpoint that answers; unset: extracts are quoted"),
    own("llm.model", Shape::Text, None, "model name at that endpoint; unset: the first one it lists"),
    own("llm.key_file", Shape::Text, None, "file that holds the key of that endpoint"),
    own("llm.key_env", Shape::Text, None, "environment variable that holds the key of that endpoint"),
    own("llm.key_header", Shape::Text, None, "header that carries the key; unset: authorization, and api-key at Azure"),
    own(
        "llm.headers",
        Shape::List,
        None,
        "further headers, `Name: value`; `${VARIABLE}` is taken from the environment",
    ),
    own("llm.api", Shape::Choice(&["chat", "responses"]), Some("chat"), "chat completions, or the Responses API"),
    own("llm.api_version", Shape::Text, None, "put into the address as `api-version`, as Azure wants it"),
    own("llm.ca_file", Shape::Text, None, "certificates (PEM) to trust besides those of the system"),
    own("llm.temperature", Shape::Decimal(2), Some("0"), "0: the likeliest words"),
    own(
        "llm.max_tokens_field",
        Shape::Choice(&["max_tokens", "max_completion_tokens", "none"]),
        None,
        "how the endpoint names the longest answer; unset: it is learnt",
    ),
    own("llm.no_system", Shape::Bool, Some("false"), "the model knows no system message: put it before the question"),
    own("llm.price_per_million_input", Shape::Decimal(1_000_000), None, "what a million tokens of prompts cost"),
    own("llm.price_per_million_output", Shape::Decimal(1_000_000), None, "what a million tokens of answers cost"),
    own("llm.max_tokens", Shape::Number(1, 1_000_000), Some("800"), "longest answer"),
    own("llm.context_tokens", Shape::Number(256, 10_000_000), Some("8192"), "prompt and answer together"),
    own("llm.connect_timeout", Shape::Time, Some("10s"), "longest wait for a connection"),
    own("llm.first_token_timeout", Shape::Time, Some("120s"), "longest wait for the first word"),
    own("llm.idle_timeout", Shape::Time, Some("60s"), "longest wait between two words"),
    own("llm.timeout", Shape::Time, None, "longest wait for a whole answer; unset: none"),
    own("llm.allow_plaintext", Shape::Bool, Some("false"), "send a key over http:// to another machine"),
    own("ask.system_prompt", Shape::Text, None, "in place of our rules for the model; `{rules}` in it stands for them"),
    own("ask.system_prompt_file", Shape::Text, None, "a file that holds the same"),
    own(
        "ask.datamark",
        Shape::Bool,
        Some("false"),
        "put marks between the words of passages, against orders in documents",
    ),
    own("ask.unsupported", Shape::Choice(&["mark", "drop"]), Some("mark"), "what becomes of unsupported sentences"),
    own("remote.ca_file", Shape::Text, None, "certificates (PEM) to trust of a server, besides those of the system"),
    own("remote.allow_plaintext", Shape::Bool, Some("false"), "send a server's key over http:// to another machine"),
    own("output.color", Shape::Choice(&["auto", "always", "never"]), Some("auto"), "colour on the terminal"),
];

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
    Environment(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => out.write_str("default"),
            Self::File(path) => write!(out, "{}", path.display()),
            Self::Environment(name) => write!(out, "environment {name}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Checked against the shape; sizes and times stay as they were typed.
    One(String),
    Many(Vec<String>),
}

/// All settings of this run.
#[derive(Debug, Clone, Default)]
pub struct Config {
    values: BTreeMap<&'static str, (Value, Origin)>,
    /// `[profiles.NAME]`: settings of `llm.` for one model.
    profiles: BTreeMap<String, Values>,
    own_endpoint: bool,
}

type Values = BTreeMap<&'static str, (Value, Origin)>;

/// The section that names models, and whose settings theirs are.
const PROFILES: &str = "profiles";
const OF_PROFILE: &str = "llm";
/// What belongs to one endpoint and must not reach another.
const OF_ENDPOINT: [&str; 10] = [
    "llm.model",
    "llm.key_file",
    "llm.key_env",
    "llm.key_header",
    "llm.headers",
    "llm.ca_file",
    "llm.api",
    "llm.api_version",
    "llm.price_per_million_input",
    "llm.price_per_million_output",
];

impl Config {
    /// Reads all layers. `index_dir`: the index in use, if there is one.
    pub fn load(index_dir: Option<&Path>) -> Result<Self, Failure> {
        let mut config = Self::defaults();
        if let Some(path) = user_file() {
            if env::path(env::CONFIG).is_some() && !path.exists() {
                return Err(Failure::usage(format!("no file `{}`", path.display())).hint("RAG_CONFIG names it"));
            }
            config.layer(&path, false)?;
        }
        if let Some(dir) = index_dir {
            config.layer(&dir.join(INDEX_FILE), true)?;
        }
        for setting in SETTINGS {
            let name = variable(setting.key);
            if let Some(value) = env::os(&name) {
                let text = value.into_string().map_err(|_| Failure::usage(format!("{name} is not UTF-8")))?;
                let value = if setting.shape == Shape::List {
                    Value::Many(text.split(',').map(|part| part.trim().to_string()).collect())
                } else {
                    Value::One(text)
                };
                check(setting, &value).map_err(|why| Failure::usage(format!("{name}: {why}")))?;
                config.values.insert(setting.key, (value, Origin::Environment(name)));
            }
        }
        Ok(config)
    }

    /// blake3 of every setting that an answer can depend on, in hex: equal where the same command says the same.
    pub fn fingerprint(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for (key, (value, _)) in self.values.iter().filter(|(key, _)| !key.starts_with("output.")) {
            hash.update(format!("{key}={value:?}\n").as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }

    /// What there is without any file or variable.
    pub fn defaults() -> Self {
        let default = |setting: &Setting| Some((setting.key, (Value::One(setting.default?.into()), Origin::Default)));
        Self { values: SETTINGS.iter().filter_map(default).collect(), ..Self::default() }
    }

    fn layer(&mut self, path: &Path, of_index: bool) -> Result<(), Failure> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Failure::usage(format!("cannot read `{}`: {error}", path.display()))),
        };
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            Failure::usage(format!("`{}` line {line}: {}", path.display(), error.message()))
        })?;
        for (section, content) in &table {
            let toml::Value::Table(content) = content else {
                return Err(unknown(path, section));
            };
            if section == PROFILES {
                self.read_profiles(path, content, of_index)?;
                continue;
            }
            for (name, value) in content {
                let key = format!("{section}.{name}");
                let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
                    return Err(unknown(path, &key));
                };
                if of_index && !setting.in_index {
                    let message = format!("`{}` sets `{key}`, which an index must not set", path.display());
                    return Err(Failure::usage(message)
                        .hint("an index may come from somebody else; put this in your own config or the environment"));
                }
                let value = from_toml(value)
                    .and_then(|value| check(setting, &value).map(|()| value))
                    .map_err(|why| Failure::usage(format!("`{}`: {key}: {why}", path.display())))?;
                self.values.insert(setting.key, (value, Origin::File(path.to_path_buf())));
            }
        }
        Ok(())
    }

    fn read_profiles(&mut self, path: &Path, profiles: &toml::Table, of_index: bool) -> Result<(), Failure> {
        if of_index {
            let message = format!("`{}` has `[{PROFILES}]`, which an index must not set", path.display());
            return Err(Failure::usage(message)
                .hint("an index may come from somebody else; put this in your own config or the environment"));
        }
        for (name, content) in profiles {
            let shown = format!("{PROFILES}.{name}");
            let toml::Value::Table(content) = content else {
                return Err(unknown(path, &shown));
            };
            let mut values = Values::new();
            for (own, value) in content {
                let key = format!("{OF_PROFILE}.{own}");
                let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
                    let failure = Failure::usage(format!("`{}`: unknown setting `{shown}.{own}`", path.display()));
                    return Err(
                        failure.hint("a profile takes the settings of `llm.`: url, model, key_file, max_tokens, …")
                    );
                };
                let value = from_toml(value)
                    .and_then(|value| check(setting, &value).map(|()| value))
                    .map_err(|why| Failure::usage(format!("`{}`: {shown}.{own}: {why}", path.display())))?;
                values.insert(setting.key, (value, Origin::File(path.to_path_buf())));
            }
            self.profiles.insert(name.clone(), values);
        }
        Ok(())
    }

    /// The profiles, by name, with what each sets.
    pub fn profiles(&self) -> &BTreeMap<String, Values> {
        &self.profiles
    }

    /// The settings for a model that is asked for by this name, or by `llm.model`: with those of the profile of the name,
    /// if there is one. A profile that names an endpoint takes no key, header or certificate that is meant for another.
    pub fn for_model(&self, name: Option<&str>) -> Self {
        let mut config = self.clone();
        let Some(name) = name.or(self.text("llm.model")).map(str::to_owned) else { return config };
        match self.profiles.get(&name) {
            Some(profile) => {
                if profile.contains_key("llm.url") {
                    OF_ENDPOINT.iter().for_each(|key| drop(config.values.remove(key)));
                    config.own_endpoint = true;
                }
                if !profile.contains_key("llm.model") {
                    config.values.remove("llm.model");
                }
                config.values.extend(profile.iter().map(|(key, value)| (*key, value.clone())));
            }
            None => {
                let origin = self.values.get("llm.model").map_or(Origin::Default, |(_, origin)| origin.clone());
                config.values.insert("llm.model", (Value::One(name), origin));
            }
        }
        config
    }

    /// The endpoint is a profile's own: the keys of the environment are for another.
    pub fn has_own_endpoint(&self) -> bool {
        self.own_endpoint
    }

    /// The value of a setting and where it came from.
    pub fn get(&self, key: &str) -> Option<&(Value, Origin)> {
        debug_assert!(SETTINGS.iter().any(|setting| setting.key == key), "{key}");
        self.values.get(key)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some((Value::One(text), _)) => Some(text),
            Some((Value::Many(_), _)) | None => None,
        }
    }

    pub fn list(&self, key: &str) -> Vec<String> {
        match self.get(key) {
            Some((Value::Many(list), _)) => list.clone(),
            Some((Value::One(text), _)) => vec![text.clone()],
            None => Vec::new(),
        }
    }

    /// Values were checked against their shapes when they were read, so the typed readers below cannot fail.
    fn parsed<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.text(key).and_then(|text| text.parse().ok())
    }

    pub fn bool(&self, key: &str) -> bool {
        self.parsed(key).unwrap_or(false)
    }

    pub fn number(&self, key: &str) -> Option<usize> {
        self.parsed(key)
    }

    /// Tokens of a chunk to aim at.
    pub fn chunk_tokens(&self) -> usize {
        self.number("ingest.chunk_tokens").unwrap_or(rag::ingest::CHUNK_TOKENS)
    }

    /// Tokens that neighbour chunks of this size share.
    pub fn chunk_overlap(&self, chunk_tokens: usize) -> usize {
        self.number("ingest.chunk_overlap").unwrap_or_else(|| rag::ingest::default_overlap(chunk_tokens))
    }

    pub fn share(&self, key: &str) -> Option<f32> {
        self.parsed(key)
    }

    pub fn decimal(&self, key: &str) -> Option<f64> {
        self.parsed(key)
    }

    pub fn size(&self, key: &str) -> Option<u64> {
        self.text(key).and_then(|text| size(text).ok())
    }

    pub fn time(&self, key: &str) -> Option<Duration> {
        self.text(key).and_then(|text| duration(text).ok())
    }
}

/// `llm.url` → `RAG_LLM_URL`.
pub fn variable(key: &str) -> String {
    format!("RAG_{}", key.replace('.', "_").to_uppercase())
}

/// A variable that looks like a setting and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    pub name: String,
    /// The variable that may be meant.
    pub near: Option<String>,
}

impl std::fmt::Display for Stranger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, near } = self;
        match near {
            Some(near) => write!(f, "the variable {name} is no setting and has no effect: did you mean {near}?"),
            None => write!(f, "the variable {name} is no setting and has no effect; `rag config` lists the settings"),
        }
    }
}

/// Those of the variables that begin with the name of a section of ours, or are spelled almost like one that is read.
/// What other programs call `RAG_…` is left alone.
pub fn strangers(names: Vec<String>) -> Vec<Stranger> {
    let known: Vec<String> = env::OURS
        .iter()
        .map(|name| (*name).to_owned())
        .chain(SETTINGS.iter().map(|setting| variable(setting.key)))
        .collect();
    let sections: std::collections::BTreeSet<&str> =
        SETTINGS.iter().filter_map(|setting| Some(setting.key.split_once('.')?.0)).collect();
    let of_section = |name: &str| {
        let rest = name.trim_start_matches("RAG_").to_lowercase();
        sections.iter().any(|section| rest.strip_prefix(section).is_some_and(|rest| rest.starts_with('_')))
    };
    names
        .into_iter()
        .filter(|name| !known.contains(name))
        .filter_map(|name| {
            let near = known.iter().map(|known| (edits(&name, known), known)).min();
            let near = near.filter(|(distance, known)| *distance <= known.len() / 6 && *distance <= 3);
            let near = near.map(|(_, known)| known.clone());
            (near.is_some() || of_section(&name)).then_some(Stranger { name, near })
        })
        .collect()
}

/// The user's file: `$RAG_CONFIG`, else `rag/config.toml` in the configuration folder of the home folder.
pub fn user_file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    env::path(env::CONFIG).or_else(|| {
        etcetera::choose_base_strategy().ok().map(|strategy| strategy.config_dir().join("rag").join("config.toml"))
    })
}

/// The folder for what may be made again: `rag` in the cache folder of the home folder.
pub fn cache_dir() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    etcetera::choose_base_strategy().ok().map(|strategy| strategy.cache_dir().join("rag"))
}

/// Files that hold a key, or an address with a password in it.
pub fn files_with_secrets(config: &Config) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        ["embed.key_file", "llm.key_file"].iter().filter_map(|key| config.text(key)).map(PathBuf::from).collect();
    for key in ["embed.url", "llm.url"] {
        if let Some((Value::One(url), Origin::File(path))) = config.get(key)
            && url
                .split_once("://")
                .is_some_and(|(_, rest)| rest.split('/').next().is_some_and(|host| host.contains('@')))
        {
            files.push(path.clone());
        }
    }
    files.sort();
    files.dedup();
    files
}

/// Whether others than its owner may read a file. Never elsewhere than on Unix.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    return fs::metadata(path)
        .is_ok_and(|meta| std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077 != 0);
    #[cfg(not(unix))]
    return path.as_os_str().is_empty();
}

fn from_toml(value: &toml::Value) -> Result<Value, String> {
    Ok(Value::One(match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(flag) => flag.to_string(),
        toml::Value::Array(items) => {
            let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_string)).collect();
            return texts.map(Value::Many).ok_or_else(|| "a list of texts is wanted".into());
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => return Err("a plain value is wanted".into()),
    }))
}

fn check(setting: &Setting, value: &Value) -> Result<(), String> {
    let text = match (value, setting.shape) {
        (Value::Many(_), Shape::List) => return Ok(()),
        (Value::Many(_), _) => return Err("one value is wanted, not a list".into()),
        (Value::One(text), _) => text,
    };
    match setting.shape {
        Shape::Text | Shape::List => Ok(()),
        Shape::Bool => text.parse::<bool>().map(drop).map_err(|_| format!("`{text}` is not true or false")),
        Shape::Number(from, to) => match text.parse::<u64>() {
            Ok(number) if (from..=to).contains(&number) => Ok(()),
            Ok(_) | Err(_) => Err(format!("`{text}` is not a number from {from} to {to}")),
        },
        Shape::Share => match text.parse::<f32>() {
            Ok(number) if (0.0..=1.0).contains(&number) => Ok(()),
            Ok(_) | Err(_) => Err(format!("`{text}` is not a number from 0 to 1")),
        },
        Shape::Decimal(to) => match text.parse::<f64>() {
            Ok(number) if (0.0..=f64::from(to)).contains(&number) => Ok(()),
            Ok(_) | Err(_) => Err(format!("`{text}` is not a number from 0 to {to}")),
        },
        Shape::Size => size(text).map(drop),
        Shape::Time => duration(text).map(drop),
        Shape::Choice(choices) => match choices.contains(&text.as_str()) {
            true => Ok(()),
            false => Err(format!("`{text}` is not one of {}", choices.join(", "))),
        },
    }
}

fn unknown(path: &Path, key: &str) -> Failure {
    let failure = Failure::usage(format!("`{}`: unknown setting `{key}`", path.display()));
    match nearest(key) {
        Some(near) => failure.hint(format!("did you mean `{near}`? `rag config` lists every setting")),
        None => failure.hint("`rag config` lists every setting"),
    }
}

/// The setting whose name is fewest edits away, if it is near at all.
fn nearest(key: &str) -> Option<&'static str> {
    SETTINGS
        .iter()
        .map(|setting| (edits(key, setting.key), setting.key))
        .min()
        .filter(|(distance, near)| *distance <= near.len() / 3)
        .map(|(_, near)| near)
}

/// Levenshtein distance over characters.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_fit_their_shapes_and_keys_are_unique() {
        let mut seen = std::collections::BTreeSet::new();
        for setting in SETTINGS {
            assert!(seen.insert(setting.key), "{}", setting.key);
            if let Some(default) = setting.default {
                assert_eq!(check(setting, &Value::One(default.into())), Ok(()), "{}", setting.key);
            }
        }
    }

    #[test]
    fn variables_that_nobody_reads_are_told() {
        let strangers = |names: &[&str]| strangers(names.iter().map(|name| (*name).to_owned()).collect());
        for (name, near) in [
            ("RAG_RETRIEVE_KK", Some("RAG_RETRIEVE_K")),
            ("RAG_LLM_MODLE", Some("RAG_LLM_MODEL")),
            ("RAG_INDX", Some("RAG_INDEX")),
            ("RAG_INGEST_ZEBRA", None),
        ] {
            let want = Stranger { name: name.to_owned(), near: near.map(str::to_owned) };
            assert_eq!(strangers(&[name]), [want]);
        }
        assert_eq!(strangers(&["RAG_RETRIEVE_K", "RAG_INDEX", "RAG_KILL_AT", "RAG_TEST_SEED", "RAG_BACKEND"]), []);
    }

    #[test]
    fn a_typo_is_named_with_its_neighbour() {
        assert_eq!(nearest("llm.modle"), Some("llm.model"));
        assert_eq!(nearest("ingest.chunk_token"), Some("ingest.chunk_tokens"));
        assert_eq!(nearest("zebra"), None);
    }

    fn load(text: &str, of_index: bool) -> Result<Config, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.toml");
        fs::write(&path, text).unwrap();
        let mut config = Config::default();
        match config.layer(&path, of_index) {
            Ok(()) => Ok(config),
            Err(Failure::Error { message, .. }) => Err(message.replace(&path.display().to_string(), "FILE")),
            Err(Failure::ClosedPipe) => unreachable!(),
        }
    }

    #[test]
    fn files_are_checked() {
        for (text, want) in [
            ("[llm]\nurl = \"http://x/v1\"\n", Ok(())),
            ("[ingest]\ninclude = [\"*.md\"]\nmax_file_size = \"1MiB\"\n", Ok(())),
            (
                "[ingest]\nchunk_tokens = 9999\n",
                Err("`FILE`: ingest.chunk_tokens: `9999` is not a number from 32 to 254"),
            ),
            ("[llm]\nulr = \"x\"\n", Err("`FILE`: unknown setting `llm.ulr`")),
            ("k = 1\n", Err("`FILE`: unknown setting `k`")),
            (
                "[retrieve]\nmode = \"magic\"\n",
                Err("`FILE`: retrieve.mode: `magic` is not one of hybrid, lexical, dense"),
            ),
            ("[retrieve]\nk = [\"1\"]\n", Err("`FILE`: retrieve.k: one value is wanted, not a list")),
        ] {
            assert_eq!(load(text, false).map(drop), want.map_err(str::to_string), "{text}");
        }
        assert!(load("[llm\n", false).unwrap_err().starts_with("`FILE` line 1"));
    }

    #[test]
    fn profiles_are_settings_of_one_model() {
        let text = "[llm]\nurl = \"http://a/v1\"\nmodel = \"big\"\nkey_file = \"a.key\"\nmax_tokens = 50\n\
            [profiles.fast]\nurl = \"http://b/v1\"\nmodel = \"tiny\"\ntemperature = 0.5\n\
            [profiles.long]\nmax_tokens = 9000\n";
        let config = load(text, false).unwrap();
        let fast = config.for_model(Some("fast"));
        assert_eq!((fast.text("llm.url"), fast.text("llm.model")), (Some("http://b/v1"), Some("tiny")));
        assert_eq!((fast.text("llm.key_file"), fast.number("llm.max_tokens")), (None, Some(50)));
        assert_eq!(fast.decimal("llm.temperature"), Some(0.5));
        assert!(fast.has_own_endpoint());
        let long = config.for_model(Some("long"));
        assert_eq!((long.text("llm.url"), long.text("llm.key_file")), (Some("http://a/v1"), Some("a.key")));
        assert_eq!((long.number("llm.max_tokens"), long.has_own_endpoint()), (Some(9000), false));
        assert_eq!(config.for_model(Some("other")).text("llm.model"), Some("other"));
        assert_eq!(config.for_model(None).text("llm.model"), Some("big"));
        for (text, want) in [
            ("[profiles.x]\nulr = \"y\"\n", "unknown setting `profiles.x.ulr`"),
            ("[profiles.x]\nmax_tokens = \"many\"\n", "profiles.x.max_tokens: `many` is not a number"),
            ("[profiles]\nx = 1\n", "unknown setting `profiles.x`"),
        ] {
            let error = load(text, false).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
        assert!(load("[profiles.x]\nmodel = \"y\"\n", true).unwrap_err().contains("must not set"));
    }

    #[test]
    fn an_index_reaches_nothing_outside() {
        for setting in SETTINGS {
            let (section, name) = setting.key.split_once('.').unwrap();
            let value = if setting.shape == Shape::List {
                "[\"x\"]".to_string()
            } else {
                format!("{:?}", setting.default.unwrap_or("1"))
            };
            let loaded = load(&format!("[{section}]\n{name} = {value}\n"), true);
            assert_eq!(loaded.is_ok(), setting.in_index, "{}: {loaded:?}", setting.key);
        }
        assert!(
            !SETTINGS
                .iter()
                .any(|s| s.in_index && ["llm.", "embed.", "rerank."].iter().any(|section| s.key.starts_with(section)))
        );
    }
}
