//! Settings and flags become the server's options: what a client does not say is what the same command would do here.

use std::sync::{Arc, Mutex};

use rag::{
    retrieve::Query,
    serve::server::{Access, Limits, Log, Options, Prices},
    types::Cancel,
};

use super::{Args, models::Configured};
use crate::cli::{
    commands::{Context, ask, ingest, query::SearchArgs},
    report::Failure,
};

/// All options of the server.
pub fn options(context: &Context, args: &Args, access: Access, cancel: &Cancel) -> Result<Options, Failure> {
    let place = &context.place;
    let models = Configured::new(place.clone(), context.config.clone(), args.llm_url.clone(), args.model.clone())?;
    let config = models.config().clone();
    let search = SearchArgs::default();
    let k = config.number("retrieve.k").unwrap_or(10);
    let ask = ask::configured(&config)?;
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
        ingest: ingest::settings::configured(place, &config)?,
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
