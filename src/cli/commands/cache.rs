//! `rag cache`: what the proxy has kept, and forgetting it. A running proxy is asked; else its files are read.

#![cfg_attr(not(feature = "serve"), allow(dead_code, reason = "the flags are there, what reads them is not"))]

use std::{path::PathBuf, time::Duration};

use super::{Context, proxy};
use crate::cli::{args::duration, report::Failure};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Show what the cache of `rag proxy` holds, and what it has saved since its start
    Stats(Folder),
    /// Empty the cache of `rag proxy`
    Purge {
        #[command(flatten)]
        folder: Folder,
        /// Forget only what is at least so old
        #[arg(long, value_name = "TIME", value_parser = duration)]
        older_than: Option<Duration>,
    },
}

#[derive(Debug, clap::Args)]
struct Folder {
    /// The folder that was given to `rag proxy`
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

#[cfg(not(feature = "serve"))]
pub fn run(_: &Context, args: Args) -> Result<u8, Failure> {
    let (Act::Stats(folder) | Act::Purge { folder, older_than: _ }) = args.act;
    proxy::folder(folder.cache_dir)?;
    Err(proxy::without())
}

#[cfg(feature = "serve")]
pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let (Act::Stats(folder) | Act::Purge { folder, .. }) = &args.act;
    with::check(folder.cache_dir.as_deref())?;
    match args.act {
        Act::Stats(folder) => with::stats(context, &proxy::folder(folder.cache_dir)?),
        Act::Purge { folder, older_than } => with::purge(context, &proxy::folder(folder.cache_dir)?, older_than),
    }
}

#[cfg(feature = "serve")]
mod with {
    use std::{path::Path, time::Duration};

    use rag::serve::proxy::{STATS_SCHEMA, Stats, cache_purge, cache_stats, client, owner};
    use serde_json::json;

    use super::{
        super::{Context, proxy::failure},
        Failure,
    };
    use crate::cli::{
        env, exit,
        output::{bytes, count, sanitize},
    };

    /// Where the proxy of this cache listens, if one runs.
    fn running(dir: &Path) -> Result<Option<String>, Failure> {
        match owner(dir) {
            None => Ok(None),
            Some(owner) => owner.url.map(Some).ok_or_else(|| {
                Failure::new(
                    rag::types::Kind::Locked,
                    format!("the cache at `{}` is in use by process {}", dir.display(), owner.pid),
                )
                .hint("it is about to start or to end; try again in a moment")
            }),
        }
    }

    fn key() -> Option<rag::model::http::Key> {
        env::text(env::PROXY_KEY).or_else(|| env::text(env::KEY)).map(rag::model::http::Key::new)
    }

    /// Errors: a folder that is named and is not there. The one of nobody's choice may wait to be made.
    pub fn check(named: Option<&Path>) -> Result<(), Failure> {
        match named.filter(|dir| !dir.is_dir()) {
            Some(dir) => Err(Failure::usage(format!("no folder `{}`", dir.display()))
                .hint("name the folder that was given to `rag proxy --cache-dir`")),
            None => Ok(()),
        }
    }

    pub fn stats(context: &Context, dir: &Path) -> Result<u8, Failure> {
        let stats = match running(dir)? {
            Some(url) => client::stats(&url, key().as_ref()).map_err(failure)?,
            None if dir.join("cache.redb").exists() => {
                Stats { schema: STATS_SCHEMA.to_owned(), cache: cache_stats(dir).map_err(failure)?, ..Stats::default() }
            }
            None => Stats { schema: STATS_SCHEMA.to_owned(), ..Stats::default() },
        };
        if context.screen.json {
            context.screen.print_json(&stats)?;
            return Ok(exit::OK);
        }
        let mut text = format!("cache      {}\n", sanitize::line(&dir.display().to_string()));
        let of = match stats.cache.max_bytes {
            0 => String::new(),
            most => format!(" of {}", bytes(most)),
        };
        text.push_str(&format!("holds      {}, {}{of}\n", count_of(stats.cache.entries), bytes(stats.cache.bytes)));
        if stats.running {
            text.push_str(&format!(
                "requests   {} hit ({} by meaning), {} miss, {} coalesced, {} bypass, {} uncacheable\n",
                stats.hits, stats.semantic_hits, stats.misses, stats.coalesced, stats.bypassed, stats.uncacheable
            ));
            text.push_str(&format!(
                "texts      {} of {} embedded before\n",
                stats.element_hits,
                stats.element_hits + stats.element_misses
            ));
            text.push_str(&format!(
                "saved      {} of prompts, {} of answers\n",
                count(stats.saved_prompt_tokens, "token"),
                count(stats.saved_completion_tokens, "token")
            ));
            text.push_str(&format!(
                "upstream   {}, {} failed; {} evicted, {} expired\n",
                count(stats.upstream_calls, "call"),
                stats.upstream_errors,
                stats.cache.evicted,
                stats.cache.expired
            ));
        } else {
            text.push_str("           no proxy uses it now\n");
        }
        context.screen.print(&text)?;
        Ok(exit::OK)
    }

    pub fn purge(context: &Context, dir: &Path, older_than: Option<Duration>) -> Result<u8, Failure> {
        let purged = match running(dir)? {
            Some(url) => client::purge(&url, key().as_ref(), older_than).map_err(failure)?,
            None if dir.join("cache.redb").exists() => cache_purge(dir, older_than).map_err(failure)?,
            None => 0,
        };
        if context.screen.json {
            context.screen.print_json(&json!({"schema": "rag.proxy.purge/1", "purged": purged}))?;
        } else {
            context.screen.print(&format!("purged {}\n", count_of(purged)))?;
        }
        Ok(exit::OK)
    }

    fn count_of(entries: u64) -> String {
        if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") }
    }
}
