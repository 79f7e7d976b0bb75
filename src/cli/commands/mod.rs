//! One verb a file, its arguments beside its run.

pub mod ask;
pub mod cache;
pub mod check;
pub mod collections;
pub mod compact;
pub mod completions;
pub mod config;
pub mod doctor;
pub mod eval;
pub mod export;
pub mod extract;
pub mod import;
pub mod ingest;
pub mod list;
pub mod man;
pub mod mcp;
pub mod migrate;
#[cfg(feature = "onnx")]
pub mod models;
pub mod proxy;
pub mod query;
pub mod reembed;
pub mod rm;
pub mod serve;
pub mod show;
pub mod status;
pub mod tune;
pub mod verify;
pub mod why;
pub mod why_not;

use rag::serve::client::Client;

use super::{
    args::{Cli, Command},
    backend::Place,
    config::{self as settings, Config, files_with_secrets, is_open_to_others},
    env,
    output::Screen,
    remote::Named,
    report::Failure,
};

/// What every verb gets: where the index is, the settings, and how to talk.
pub struct Context {
    pub place: Place,
    /// The server to ask in place of the index.
    pub remote: Option<Client>,
    pub config: Config,
    pub screen: Screen,
}

/// Resolves the settings and runs the verb; gives the exit code.
pub fn run(cli: Cli) -> Result<u8, Failure> {
    let server = match Named::find(&cli.global)? {
        Some(server) => server.serves(&cli.command)?.then_some(server),
        None => None,
    };
    if let Command::Completions(args) = &cli.command {
        return completions::run(args);
    }
    if let Command::Man(args) = &cli.command {
        return man::run(args);
    }
    if let Command::Doctor(args) = &cli.command {
        return doctor::run(&cli.global, args);
    }
    let place = Place::find(&cli.global)?;
    // A server obeys its own index's file, not that of one that happens to be here.
    let config = Config::load((server.is_none() && place.exists()).then_some(place.dir.as_path()))?;
    let screen = Screen::new(&cli.global, &config);
    for path in files_with_secrets(&config).iter().filter(|path| is_open_to_others(path)) {
        screen.note(&format!("`{0}` holds secrets and others may read it; `chmod 600 {0}`", path.display()));
    }
    for stranger in settings::strangers(env::names("RAG_")) {
        screen.note(&stranger.to_string());
    }
    let remote = server.map(|server| server.client(&cli.global, &config)).transpose()?;
    let context = Context { place, remote, config, screen };
    match cli.command {
        Command::Ingest(args) => ingest::run(&context, args),
        Command::Query(args) => query::run(&context, args),
        Command::Ask(args) => ask::run(&context, args),
        Command::Check(args) => check::run(&context, args),
        Command::Status(args) => status::run(&context, args),
        Command::List(args) => list::run(&context, args),
        Command::Show(args) => show::run(&context, args),
        Command::Rm(args) => rm::run(&context, args),
        Command::Why(args) => why::run(&context, args),
        Command::WhyNot(args) => why_not::run(&context, args),
        Command::Verify(args) => verify::run(&context, args),
        Command::Serve(args) => serve::run(&context, args),
        Command::Eval(args) => eval::run(&context, args),
        Command::Tune(args) => tune::run(&context, args),
        Command::Compact(args) => compact::run(&context, args),
        Command::Reembed(args) => reembed::run(&context, args),
        Command::Export(args) => export::run(&context, args),
        Command::Import(args) => import::run(&context, args),
        Command::Proxy(args) => proxy::run(&context, args),
        Command::Cache(args) => cache::run(&context, args),
        Command::Config(args) => config::run(&context, args),
        Command::Migrate(args) => migrate::run(&context, args),
        #[cfg(feature = "onnx")]
        Command::Models(args) => models::run(&context, args),
        Command::Doctor(args) => doctor::run(&cli.global, &args),
        Command::Man(args) => man::run(&args),
        Command::Mcp(args) => mcp::run(&context, args),
        Command::Completions(args) => completions::run(&args),
    }
}
