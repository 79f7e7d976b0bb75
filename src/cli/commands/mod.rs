//! One verb a file, its arguments beside its run.

pub mod ask;
pub mod check;
pub mod completions;
pub mod config;
pub mod eval;
pub mod extract;
pub mod ingest;
pub mod list;
pub mod query;
pub mod rm;
pub mod show;
pub mod status;
pub mod tune;
pub mod verify;
pub mod why;
pub mod why_not;

use super::{
    args::{Cli, Command},
    backend::Place,
    config::Config,
    output::Screen,
    report::Failure,
};

/// What every verb gets: where the index is, the settings, and how to talk.
pub struct Context {
    pub place: Place,
    pub config: Config,
    pub screen: Screen,
}

/// Resolves the settings and runs the verb; gives the exit code.
pub fn run(cli: Cli) -> Result<u8, Failure> {
    if let Command::Completions(args) = &cli.command {
        return completions::run(args);
    }
    let place = Place::find(cli.global.index.as_deref())?;
    let config = Config::load(place.exists().then_some(place.dir.as_path()))?;
    let screen = Screen::new(&cli.global, &config);
    let context = Context { place, config, screen };
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
        Command::Eval(args) => eval::run(&context, args),
        Command::Tune(args) => tune::run(&context, args),
        Command::Config(args) => config::run(&context, args),
        Command::Completions(args) => completions::run(&args),
    }
}
