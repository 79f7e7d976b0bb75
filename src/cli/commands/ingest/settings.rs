//! How to ingest where nothing but the settings says it: for `ingest`, and for the servers that ingest for others.

use std::{collections::BTreeMap, time::Duration};

use rag::ingest::{Loaders, Options, extract::Passwords};

use super::{programs, worker};
use crate::cli::{backend::Place, config::Config, env, report::Failure};

/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// No sources yet, everything else by the settings. Errors: a setting that means nothing; OCR wanted and not installed.
pub fn configured(place: &Place, config: &Config) -> Result<Options, Failure> {
    let chunk_tokens = config.chunk_tokens();
    let jobs = config.number("ingest.jobs").filter(|&jobs| jobs > 0);
    Ok(Options {
        paths: Vec::new(),
        given: Vec::new(),
        pages: Vec::new(),
        home: place.home(),
        index_dir: place.dir.clone(),
        collection: "default".to_owned(),
        include: config.list("ingest.include"),
        exclude: config.list("ingest.exclude"),
        ignore_rules: true,
        hidden: config.bool("ingest.hidden"),
        follow: config.bool("ingest.follow"),
        max_file_bytes: config.size("ingest.max_file_size").unwrap_or(MAX_FILE_BYTES),
        tags: BTreeMap::new(),
        chunk_tokens,
        chunk_overlap: config.chunk_overlap(chunk_tokens),
        jobs: jobs.or(std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1),
        dry_run: false,
        loaders: Loaders::of(&config.list("ingest.loaders"))
            .map_err(|error| Failure::usage(error.to_string()).hint("the setting is `ingest.loaders`"))?,
        page_readers: programs::page_readers(false, None, config)?,
        archives: config.bool("ingest.archives"),
        passwords: Passwords::new(env::text(env::PASSWORD).into_iter().collect()),
        retry_failed: false,
        prune: true,
        allow_empty: false,
        file_timeout: config.time("ingest.file_timeout").unwrap_or(Duration::from_secs(60)),
        worker: worker()?,
    })
}
