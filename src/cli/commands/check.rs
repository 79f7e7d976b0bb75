//! `rag check`: a saved answer verified again, against the index as it is now.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use rag::{
    retrieve::{self, Saved},
    serve::{api, wire},
};

use super::Context;
use crate::cli::{exit, output::check, report::Failure};

/// Longer files are no answers.
const MAX_BYTES: u64 = 16 << 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Check the answer in this file: JSON of `rag ask --json`, or text with [n] and a list of sources; `-`: standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Fail (exit 1) also where a sentence is supported weakly
    #[arg(long)]
    strict: bool,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        let (_, answer) = saved(&args)?;
        return print(context, &args, &remote.check(&api::CheckRequest { answer })?);
    }
    let snapshot = context.place.open()?.snapshot()?;
    let (saved, _) = saved(&args)?;
    let files = context.place.freshness(&snapshot);
    let checked = retrieve::check(&snapshot, &saved, &|source| files.file(source))?;
    print(context, &args, &wire::CheckResult::from(&checked))
}

/// The saved answer, and the text it was read from.
fn saved(args: &Args) -> Result<(Saved, String), Failure> {
    let is_stdin = args.file == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { args.file.display().to_string() };
    let text = read((!is_stdin).then_some(args.file.as_path()))
        .map_err(|why| Failure::usage(format!("cannot read `{name}`: {why}")))?;
    let saved = Saved::read(&text).map_err(|why| {
        Failure::usage(format!("`{name}` is no saved answer: {why}"))
            .hint("`rag ask … --json > FILE` saves one; so does the text that `rag ask` prints, sources included")
    })?;
    Ok((saved, text))
}

fn print(context: &Context, args: &Args, checked: &wire::CheckResult) -> Result<u8, Failure> {
    if context.screen.json {
        context.screen.print_json(checked)?;
    } else {
        context.screen.print(&check::text(&context.screen, checked))?;
        if checked.sources.iter().any(|source| source.file == "changed") {
            context.screen.note("run `rag ingest` on what has changed, then check again");
        }
    }
    let weak = checked.sentences.iter().any(|sentence| sentence.state != "supported");
    Ok(if checked.holds && !(args.strict && weak) { exit::OK } else { exit::NO })
}

/// `None`: standard input.
fn read(file: Option<&Path>) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = |from: &mut dyn io::Read, bytes: &mut Vec<u8>| from.take(MAX_BYTES + 1).read_to_end(bytes);
    let done = match file {
        None => read(&mut io::stdin().lock(), &mut bytes),
        Some(path) => fs::File::open(path).and_then(|mut file| read(&mut file, &mut bytes)),
    };
    done.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is longer than {} MiB", MAX_BYTES >> 20));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}
