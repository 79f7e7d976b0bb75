//! `rag migrate`: brings an index of an older format to the one this program writes.

use rag::{index::FORMAT, serve::wire};

use super::Context;
use crate::cli::{exit, output::sanitize, report::Failure};

#[derive(Debug, clap::Args)]
pub struct Args {}

/// Format 1 is the first there is, so nothing can be older; what is newer is refused where it is opened.
pub fn run(context: &Context, _args: Args) -> Result<u8, Failure> {
    let index = context.place.open()?;
    let format = index.format()?;
    let result = wire::MigrateResult {
        schema: "rag.migrate/1".into(),
        index: context.place.dir.display().to_string(),
        from: format,
        to: format,
        changed: false,
        generation: index.snapshot()?.generation(),
    };
    if context.screen.json {
        context.screen.print_json(&result)?;
        return Ok(exit::OK);
    }
    let name = sanitize::line(&result.index).into_owned();
    let known = if format == FORMAT { "the one this program writes" } else { "which this program reads" };
    context.screen.print(&format!("nothing to do: `{name}` has format {format}, {known}\n"))?;
    Ok(exit::OK)
}
