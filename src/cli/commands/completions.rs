//! `rag completions`: a script for the user's shell.

use clap::CommandFactory as _;

use crate::cli::{args::Cli, exit, report::Failure};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the script for this shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub fn run(args: &Args) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rag", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(exit::OK)
}
