//! `rag proxy`: an OpenAI-compatible caching proxy in front of an LLM or embedding endpoint.

#![cfg_attr(not(feature = "serve"), allow(dead_code, reason = "the flags are there, what reads them is not"))]

use std::{path::PathBuf, time::Duration};

use super::Context;
use crate::cli::{
    args::{duration, size},
    config::cache_dir,
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Base URL of the server behind the proxy [default: `llm.url`]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Listen here; port 0 takes any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8187")]
    listen: String,
    /// Keep answers for so long
    #[arg(long, value_name = "TIME", default_value = "168h", value_parser = duration)]
    ttl: Duration,
    /// Keep so much at most
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    max_size: u64,
    /// Keep the cache in this folder [default: `rag/proxy` in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Keep answers to requests with a temperature up to this (unset counts as 1), not only of 0 or with a seed
    #[arg(long, value_name = "MAX", default_value_t = 0.0, value_parser = temperature)]
    cache_temp: f64,
    /// Keep answers to requests that offer tools, where none was called
    #[arg(long)]
    cache_tools: bool,
    /// Answer questions that mean the same in other words: the least similarity, as 0.97
    #[arg(long, value_name = "SIMILARITY", value_parser = similarity)]
    semantic: Option<f32>,
    /// Pause between two parts of a replayed stream
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration)]
    replay_pace: Duration,
    /// Refuse longer requests
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = size)]
    max_body: u64,
    /// Give up when the server behind is silent for so long
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = duration)]
    upstream_timeout: Duration,
    /// Lend the key of RAG_LLM_API_KEY to requests that bring none
    #[arg(long)]
    own_key: bool,
    /// Ask clients for one of the keys in this file, one a line
    #[arg(long, value_name = "FILE")]
    keys_file: Option<PathBuf>,
    /// Answer under this host name too (can be repeated)
    #[arg(long, value_name = "NAME")]
    allowed_host: Vec<String>,
    /// Speak TLS with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let keys travel unencrypted to a server on another machine
    #[arg(long)]
    allow_plaintext: bool,
    /// Listen beyond this machine without asking for keys
    #[arg(long)]
    insecure: bool,
}

/// The folder of the cache that is named, or the usual one.
pub fn folder(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    named.or_else(|| cache_dir().map(|dir| dir.join("proxy"))).ok_or_else(|| {
        Failure::usage("there is no home folder for the cache").hint("name a folder with `--cache-dir DIR`")
    })
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=10.0).contains(&value) => Ok(value),
        Ok(_) | Err(_) => Err(format!("`{text}` is not a temperature from 0 to 10")),
    }
}

fn similarity(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (0.5..=1.0).contains(&value) => Ok(value),
        Ok(_) | Err(_) => Err(format!("`{text}` is not a similarity from 0.5 to 1")),
    }
}

#[cfg(not(feature = "serve"))]
pub fn run(_: &Context, _: Args) -> Result<u8, Failure> {
    Err(without())
}

/// What a program without the feature says.
#[cfg(not(feature = "serve"))]
pub fn without() -> Failure {
    Failure::usage("this program was built without the proxy").hint("build it with the feature `serve`")
}

#[cfg(feature = "serve")]
pub use with::{failure, run};

#[cfg(feature = "serve")]
mod with {
    use std::{fs, sync::Arc};

    use rag::{
        model::{Embedder, http::Key},
        serve::proxy::{Allowed, Error, Options, bind, serve},
        types::Cancel,
    };
    use serde_json::json;

    use super::{Args, Context, Failure, folder};
    use crate::cli::{backend, commands::serve::tls, env, exit, output::sanitize, signals};

    pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
        let config = &context.config;
        let upstream = args.upstream.as_deref().or(config.text("llm.url")).ok_or_else(|| {
            Failure::usage("no server is named to stand behind the proxy")
                .hint("name one with `--upstream https://api.openai.com/v1`, or set `llm.url`")
        })?;
        let client_keys = client_keys(&args)?;
        let own_key = match args.own_key {
            true => Some(backend::llm_key(config, upstream)?.ok_or_else(|| {
                Failure::usage("`--own-key` lends a key, and none is set").hint("set RAG_LLM_API_KEY or `llm.key_file`")
            })?),
            false => None,
        };
        let options = Options {
            ttl: args.ttl,
            max_size_bytes: args.max_size,
            allowed: Allowed { temperature: args.cache_temp, tools: args.cache_tools },
            max_body_bytes: usize::try_from(args.max_body).unwrap_or(usize::MAX),
            replay_pace: args.replay_pace,
            idle_timeout: args.upstream_timeout,
            own_key,
            allowed_hosts: args.allowed_host.clone(),
            allow_plaintext: args.allow_plaintext || config.bool("llm.allow_plaintext"),
            ca_pem: backend::ca_pem(config)?,
            semantic: match args.semantic {
                Some(threshold) => Some((threshold, embedder()?)),
                None => None,
            },
            tls: tls(args.tls_cert.as_deref(), args.tls_key.as_deref())?,
            ..Options::new(upstream, folder(args.cache_dir.clone())?)
        };
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let listener = bind(&args.listen, !client_keys.is_empty(), args.insecure).map_err(failure)?;
        let options = Options { client_keys, ..options };
        let cancel = Cancel::default();
        signals::watch(&cancel)
            .map_err(|error| Failure::new(rag::types::Kind::Io, format!("signals cannot be heard: {error}")))?;
        hide_memory();
        let (open, dir) = (options.client_keys.is_empty(), options.dir.clone());
        let mut told = Ok(());
        serve(options, listener, &cancel, &mut |ready| {
            let screen = &context.screen;
            if let Some(aside) = &ready.set_aside {
                screen.warn(&format!("the cache was damaged; it is kept as `{}`, and an empty one was begun", aside.display()));
            }
            if open && !ready.address.ip().is_loopback() {
                screen.warn(&format!(
                    "anyone who reaches {} may read cached answers and use `{}`",
                    ready.address,
                    sanitize::line(&ready.upstream)
                ));
            }
            screen.note(&format!(
                "listening on {scheme}://{}/v1 for {}; {} answers in `{}`",
                ready.address,
                ready.upstream,
                ready.cache.entries,
                dir.display()
            ));
            if screen.json {
                let line = json!({
                    "schema": "rag.proxy.ready/1", "url": format!("{scheme}://{}/v1", ready.address), "upstream": ready.upstream,
                    "entries": ready.cache.entries,
                });
                told = screen.print_json(&line);
                if told.is_err() {
                    cancel.ask();
                }
            }
        })
        .map_err(failure)?;
        told?;
        Ok(exit::OK)
    }

    /// Keys pass through this process: no core dump of it is written, and no process of the same user reads its memory.
    fn hide_memory() {
        // A system that refuses leaves it as it was.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }

    /// The keys that clients must show: of the file, of RAG_PROXY_API_KEY, and beyond this machine of RAG_API_KEY.
    fn client_keys(args: &Args) -> Result<Vec<Key>, Failure> {
        let mut keys = Vec::new();
        if let Some(path) = &args.keys_file {
            let text = fs::read_to_string(path)
                .map_err(|error| Failure::usage(format!("cannot read the keys in `{}`: {error}", path.display())))?;
            keys.extend(
                text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(Key::new),
            );
            if keys.is_empty() {
                return Err(Failure::usage(format!("`{}` holds no key", path.display())).hint("one a line"));
            }
        }
        keys.extend(env::text(env::PROXY_KEY).map(Key::new));
        let is_local = ["127.", "localhost", "[::1]"].iter().any(|name| args.listen.starts_with(name));
        if keys.is_empty() && !is_local && !args.insecure {
            keys.extend(env::text(env::KEY).map(Key::new));
        }
        Ok(keys)
    }

    #[cfg(feature = "onnx")]
    fn embedder() -> Result<Arc<dyn Embedder>, Failure> {
        use rag::model::onnx::{OnnxEmbedder, Profile};
        Ok(Arc::new(OnnxEmbedder::built_in(Profile::Throughput)?))
    }

    #[cfg(not(feature = "onnx"))]
    fn embedder() -> Result<Arc<dyn Embedder>, Failure> {
        Err(Failure::usage("`--semantic` compares by the built-in model, which this program was built without"))
    }

    /// A failure of the proxy with what to do next.
    pub fn failure(error: Error) -> Failure {
        let hint = match &error {
            Error::Options { what } if what.contains("other machines") => {
                Some("set RAG_PROXY_API_KEY or `--keys-file`, listen on 127.0.0.1, or insist with `--insecure`")
            }
            Error::Options { what } if what.contains("unencrypted") => {
                Some("use `https://`, or `--allow-plaintext` if you trust the way")
            }
            Error::Locked { .. } => {
                Some("one proxy owns a cache: stop that one, or give this one another `--cache-dir`")
            }
            Error::Damaged { .. } => Some("`rag proxy` sets it aside when it starts, and begins an empty one"),
            Error::Listen { .. } => Some("is another program listening there? `--listen 127.0.0.1:0` takes any port"),
            Error::Options { .. } | Error::Io { .. } | Error::Store { .. } | Error::Answer { .. } => None,
        };
        let failure = Failure::new(error.kind(), error.to_string());
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
