//! Settings: flag > environment > `rag.toml` in the index > the user's file > default.
//!
//! One table names every setting. A value keeps where it came from, so that `rag config` can say it. An index may have
//! come from somebody else, so its file sets how to ingest and retrieve and nothing that reaches outside.

mod check;
mod secrets;
mod settings;
mod strangers;

pub use secrets::{files_with_secrets, is_open_to_others};
pub use settings::{SETTINGS, Setting, Shape};
pub use strangers::strangers;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use self::check::{check, from_toml, unknown};
use super::{
    args::{duration, size},
    env,
    report::Failure,
};

/// Name of the file in the index folder.
pub const INDEX_FILE: &str = "rag.toml";

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

#[cfg(test)]
mod tests;
