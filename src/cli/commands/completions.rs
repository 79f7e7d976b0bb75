//! `rag completions`: a script for the user's shell.

use crate::cli::{args, exit, report::Failure};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the script for this shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub fn run(given: &Args) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(given.shell, &mut args::command(), "rag", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(exit::OK)
}
