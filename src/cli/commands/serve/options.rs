//! Settings and flags become the server's options: what a client does not say is what the same command would do here.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use rag::{
    ingest::{self, Loaders, extract::Passwords},
    retrieve::Query,
    serve::server::{Access, Limits, Log, Options, Prices},
    types::Cancel,
};

use super::{Args, models::Configured};
use crate::cli::{
    backend::Place,
    commands::{
        Context,
        ask::configured,
        ingest::{programs, worker},
        query::SearchArgs,
    },
    config::Config,
    env,
    report::Failure,
};

/// All options of the server.
pub fn options(context: &Context, args: &Args, access: Access, cancel: &Cancel) -> Result<Options, Failure> {
    let place = &context.place;
    let models = Configured::new(place.clone(), context.config.clone(), args.llm_url.clone(), args.model.clone())?;
    let config = models.config().clone();
    let search = SearchArgs::default();
    let k = config.number("retrieve.k").unwrap_or(10);
    let ask = configured(&config)?;
    let query: Query = search.to_query(String::new(), &config, k);
    Ok(Options {
        index: place.dir.clone(),
        tenants: args.tenants.clone(),
        query,
        ask,
        prices: Prices {
            per_million_input: config.decimal("llm.price_per_million_input"),
            per_million_output: config.decimal("llm.price_per_million_output"),
        },
        ingest: ingest(place, &config)?,
        access,
        limits: Limits {
            connections: args.max_connections.into(),
            in_flight: args.max_in_flight.into(),
            query_timeout: args.query_timeout,
            ..Limits::default()
        },
        settings: config.fingerprint(),
        log: log(context, args)?,
        cancel: cancel.clone(),
        models: Arc::new(models),
    })
}

/// An ingest without paths, by the settings alone.
fn ingest(place: &Place, config: &Config) -> Result<ingest::Options, Failure> {
    let chunk_tokens = config.chunk_tokens();
    let jobs = config.number("ingest.jobs").filter(|&jobs| jobs > 0);
    Ok(ingest::Options {
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
        max_file_bytes: config.size("ingest.max_file_size").unwrap_or(512 << 20),
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

/// Where the access log goes.
fn log(context: &Context, args: &Args) -> Result<Option<Log>, Failure> {
    use std::io::Write as _;
    let path = match &args.access_log {
        None if context.screen.quiet => return Ok(None),
        None => None,
        Some(path) if path.as_os_str() == "-" => None,
        Some(path) => Some(path),
    };
    let Some(path) = path else {
        return Ok(Some(Arc::new(|line: &str| {
            // Nobody is left to hear that stderr is closed.
            let _ = writeln!(std::io::stderr().lock(), "{line}");
        })));
    };
    let mut how = std::fs::OpenOptions::new();
    how.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
    let file = how.open(path).map_err(|error| {
        Failure::new(rag::types::Kind::Io, format!("cannot write the access log `{}`: {error}", path.display()))
    })?;
    let file = Mutex::new(file);
    Ok(Some(Arc::new(move |line: &str| {
        let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A full disk must not keep anybody from searching.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    })))
}
