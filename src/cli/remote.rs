//! Remote mode: the server that verbs are asked of in place of an index here, and what the flags say in its words.

use std::{ffi::OsStr, fs, path::Path};

use rag::{
    model,
    serve::{
        api::{self, ErrorType},
        client::{self, Client},
    },
    types::SourcePath,
};

use super::{
    args::{Command, Global},
    config::Config,
    env,
    report::Failure,
};

/// A server, and who named it.
#[derive(Debug, Clone)]
pub struct Named {
    pub url: String,
    /// By `--remote`: not by a variable.
    pub by_flag: bool,
}

impl Named {
    /// `--remote`, else `RAG_REMOTE` unless `--index` names an index here.
    pub fn find(global: &Global) -> Result<Option<Self>, Failure> {
        match (&global.remote, &global.index) {
            (Some(_), Some(_)) => Err(Failure::usage("`--remote` and `--index` are both given")
                .hint("a server has its own index: leave one of them out")),
            (Some(url), None) => Ok(Some(Self { url: url.clone(), by_flag: true })),
            (None, Some(_)) => Ok(None),
            (None, None) => Ok(env::text(env::REMOTE).map(|url| Self { url, by_flag: false })),
        }
    }

    /// Whether a verb is asked of the server. Errors: it was named for a verb that works on this machine alone.
    pub fn serves(&self, command: &Command) -> Result<bool, Failure> {
        let (verb, why) = match command {
            Command::Ingest(_)
            | Command::Query(_)
            | Command::Ask(_)
            | Command::Check(_)
            | Command::Status(_)
            | Command::List(_)
            | Command::Show(_)
            | Command::Rm(_)
            | Command::Why(_)
            | Command::WhyNot(_)
            | Command::Verify(_)
            | Command::Eval(_) => return Ok(true),
            // They have nothing to do with an index that a variable could mean.
            Command::Config(_)
            | Command::Man(_)
            | Command::Completions(_)
            | Command::Serve(_)
            | Command::Mcp(_)
            | Command::Proxy(_)
            | Command::Cache(_)
                if !self.by_flag =>
            {
                return Ok(false);
            }
            Command::Config(_) => ("config", "shows the settings of this machine"),
            Command::Man(_) => ("man", "prints what is in the program"),
            Command::Completions(_) => ("completions", "prints what is in the program"),
            Command::Serve(_) => ("serve", "serves an index here"),
            Command::Mcp(_) => ("mcp", "serves an index here"),
            Command::Proxy(_) => ("proxy", "serves a cache of this machine"),
            Command::Cache(_) => ("cache", "is about the cache of this machine"),
            Command::Tune(_) => ("tune", "proposes settings for an index here"),
            Command::Compact(_) => ("compact", "rewrites the files of an index here"),
            Command::Reembed(_) => ("reembed", "rewrites the files of an index here"),
            #[cfg(feature = "onnx")]
            Command::Models(_) if !self.by_flag => return Ok(false),
            #[cfg(feature = "onnx")]
            Command::Models(_) => ("models", "is about the models of this machine"),
            Command::Migrate(_) => ("migrate", "rewrites the files of an index here"),
            Command::Doctor(_) => ("doctor", "checks the setup of this machine"),
            Command::Export(_) => ("export", "reads the files of an index here"),
            Command::Import(_) => ("import", "fills an index here"),
        };
        let hint = match self.by_flag {
            true => "leave out `--remote`, or run it on the server's machine",
            false => "RAG_REMOTE names a server: unset it, or name an index with `--index DIR`",
        };
        Err(Failure::usage(format!("`rag {verb}` {why}, it cannot be asked of a server")).hint(hint))
    }

    /// A client of the server; nothing is sent yet. The key comes from `RAG_API_KEY` and from nowhere else.
    pub fn client(&self, global: &Global, config: &Config) -> Result<Client, Failure> {
        let options = client::Options {
            key: env::text(env::KEY).map(model::http::Key::new),
            ca_pem: certificates(global.ca_file.as_deref(), config)?,
            allow_plaintext: config.bool("remote.allow_plaintext"),
            waits: super::output::waits::told(global),
            ..client::Options::new(&self.url)
        };
        Ok(Client::new(options)?)
    }
}

fn certificates(flag: Option<&Path>, config: &Config) -> Result<Vec<u8>, Failure> {
    let Some(path) = flag.or(config.text("remote.ca_file").map(Path::new)) else { return Ok(Vec::new()) };
    fs::read(path)
        .map_err(|error| Failure::usage(format!("cannot read the certificates `{}`: {error}", path.display())))
}

/// A path or an id as it may stand in a server's index: as it is given, for the files of here are not those of there.
pub fn spelled(what: &OsStr) -> String {
    match what.to_str() {
        Some(text) => text.trim_start_matches("./").trim_end_matches('/').to_owned(),
        None => SourcePath::from_path(Path::new(what)).to_string(),
    }
}

/// Errors: flags were given that only count where the program itself does what they are about.
pub fn refuse(flags: &[(&str, bool)], why: &str) -> Result<(), Failure> {
    match flags.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::usage(format!("`{flag}` cannot be asked of a server"))
            .hint(format!("{why}; leave it out, or leave out `--remote`"))),
    }
}

/// Why a model cannot be chosen from afar.
pub const MODELS: &str = "the server's own settings say which model it uses";

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        let failure = Self::new(error.kind(), error.to_string());
        // A server speaks of headers, a command of variables.
        let own = matches!(error, client::Error::Refused { kind: ErrorType::Unauthorized, .. });
        let said = error.hint().filter(|_| !own).or_else(|| hint(&error)).map(str::to_owned);
        match said {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most errors say enough by themselves")]
fn hint(error: &client::Error) -> Option<&'static str> {
    use client::Error;
    Some(match error {
        Error::Net(model::Error::Unreachable { .. }) => "is `rag serve` running there, and the address right?",
        Error::Net(model::Error::CutOff { .. }) => "the server or the way to it broke down; run the command again",
        Error::Net(model::Error::TimedOut { .. }) => "the server is busy, or waits for something; try again",
        Error::Net(model::Error::Options { .. } | model::Error::Unencrypted { .. }) => {
            "an address is `https://host` or `http://127.0.0.1:8080`; a key travels over `http://` only with `remote.allow_plaintext`"
        }
        Error::NotOurs { .. } => "is this the address of `rag serve`, of this version or a newer one?",
        Error::Refused { kind: ErrorType::Unauthorized, .. } => "put the server's key into RAG_API_KEY",
        Error::Refused { kind: ErrorType::Forbidden, .. } => {
            "the server or the key does not allow it: `rag serve --allow-write`, a key with the scope `write`"
        }
        Error::Refused { kind: ErrorType::NoRoute, .. } => {
            "the server is older than this program, or was told not to do it"
        }
        Error::Refused { kind: ErrorType::Busy | ErrorType::TooMany, .. } => {
            "too much is asked of it just now; try again"
        }
        _ => return None,
    })
}

/// What a request says of how to search.
pub fn search(flags: &super::commands::query::SearchArgs) -> api::Search {
    use super::commands::query::{FusionArg, ModeArg};
    api::Search {
        k: flags.k,
        mode: flags.mode.map(|mode| match mode {
            ModeArg::Hybrid => api::Mode::Hybrid,
            ModeArg::Lexical => api::Mode::Lexical,
            ModeArg::Dense => api::Mode::Dense,
        }),
        fusion: flags.fusion.map(|fusion| match fusion {
            FusionArg::Blend => api::Fusion::Blend,
            FusionArg::Rrf => api::Fusion::Rrf,
            FusionArg::Weighted => api::Fusion::Weighted,
            FusionArg::Dbsf => api::Fusion::Dbsf,
        }),
        alpha: flags.alpha,
        filter: flags.filter.clone(),
        collection: flags.collection.clone(),
        mmr: flags.mmr,
        exact: flags.exact,
        ef: flags.ef,
        rerank: flags.rerank,
        rerank_budget_ms: flags.rerank_budget.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        duplicates: flags.duplicates,
        per_source: flags.per_source,
        min_score: flags.min_score,
        syntax: flags.syntax,
    }
}
