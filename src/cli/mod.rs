//! The screen: arguments and configuration in, text and exit codes out.
//!
//! The only room that reads the environment and the home folder, and the only one that prints.

mod args;
mod backend;
mod commands;
mod config;
mod env;
mod exit;
#[cfg(feature = "onnx")]
mod installed;
mod mend;
mod output;
mod remote;
mod report;
mod signals;
mod warm;

use std::{ffi::OsString, process::ExitCode};

use args::Cli;
use clap::FromArgMatches;

/// Runs one command line, and is the only place that turns a failure into words and a number.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    report::install_panic_message();
    if arguments.get(1).is_some_and(|verb| verb == commands::extract::VERB) {
        return commands::extract::run();
    }
    if let Some(call) = env::text(env::KILL_AT).and_then(|number| number.parse().ok()) {
        rag::index::fs::kill_after(call);
    }
    let command = args::command().color(report::usage_color(&arguments));
    let parsed = command.try_get_matches_from(&arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return report::usage(&error, &arguments),
    };
    let json = cli.wants_json();
    match commands::run(cli) {
        Ok(exit) => ExitCode::from(exit),
        Err(failure) => report::failure(&failure, json),
    }
}
