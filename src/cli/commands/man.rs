//! `rag man`: the manual, made of the same words as `--help`.

use std::{fs, io, path::PathBuf};

use clap::Command;
use rag::types::Kind;

use crate::cli::{args, exit, output, report::Failure};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the page of this verb instead of that of `rag`
    #[arg(value_name = "VERB", conflicts_with = "out")]
    verb: Option<String>,
    /// Write the pages of all verbs into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(given: &Args) -> Result<u8, Failure> {
    let mut root = args::command();
    root.build();
    let Some(folder) = &given.out else {
        let page = match &given.verb {
            None => page(&root)?,
            Some(verb) => {
                let found = root.get_subcommands().find(|command| command.get_name() == verb && verb != "help");
                let command = found.ok_or_else(|| {
                    Failure::usage(format!("there is no verb `{verb}`")).hint("`rag --help` lists them")
                })?;
                page(command)?
            }
        };
        output::print_bytes(&page)?;
        return Ok(exit::OK);
    };
    let failed =
        |error: io::Error| Failure::new(Kind::Io, format!("cannot write into `{}`: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    let verbs = root.get_subcommands().filter(|command| command.get_name() != "help");
    for command in std::iter::once(&root).chain(verbs) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        fs::write(folder.join(format!("{name}.1")), page(command)?).map_err(failed)?;
    }
    Ok(exit::OK)
}

/// One page in roff.
fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut out = Vec::new();
    clap_mangen::Man::new(command.clone().version(env!("CARGO_PKG_VERSION")))
        .source(concat!("rag ", env!("CARGO_PKG_VERSION")))
        .title(name.to_uppercase())
        .section("1")
        .manual("rag")
        .render(&mut out)
        .map_err(|error| Failure::new(Kind::Io, format!("cannot make the page: {error}")))?;
    Ok(out)
}
