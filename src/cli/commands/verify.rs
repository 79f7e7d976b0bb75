//! `rag verify`: every checksum, every invariant.

use rag::serve::{api, memory::portable, wire};

use super::Context;
use crate::cli::{
    exit,
    output::{Style, count, sanitize},
    report::Failure,
};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Read every file instead of mapping it, and make anew what follows from something else: ids, word counts, codes
    #[arg(long)]
    paranoid: bool,
}

pub fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    if let Some(remote) = &context.remote {
        return print(context, &remote.verify(&api::VerifyRequest { paranoid: args.paranoid })?, None);
    }
    let index = context.place.open()?;
    let mut report = if args.paranoid { index.verify_thoroughly()? } else { index.verify()? };
    portable::verify(&context.place.dir, args.paranoid, &mut report)?;
    let generation = index.snapshot().ok().map(|snapshot| snapshot.generation());
    let result = wire::VerifyResult {
        schema: "rag.verify/1".into(),
        index: context.place.dir.display().to_string(),
        generation,
        sound: report.is_sound(),
        faults: report.faults.iter().map(ToString::to_string).collect(),
        files: report.files as u64,
        bytes: report.bytes,
        paranoid: args.paranoid,
        orphans: report.orphans.iter().map(|path| path.display().to_string()).collect(),
    };
    let mend = context.place.mend(index.snapshot().ok().as_ref());
    print(context, &result, Some(&mend))
}

/// `mend`: the command for an index that is here.
fn print(context: &Context, result: &wire::VerifyResult, mend: Option<&str>) -> Result<u8, Failure> {
    let code = if result.sound { exit::OK } else { exit::NO };
    if context.screen.json {
        context.screen.print_json(result)?;
        return Ok(code);
    }
    let mut out = String::new();
    for fault in &result.faults {
        out.push_str(&format!("{}  {}\n", context.screen.paint(Style::Bad, "damaged"), sanitize::line(fault)));
    }
    if !result.orphans.is_empty() {
        let files = count(result.orphans.len() as u64, "file");
        context.screen.note(&format!("{files} of no generation: of a run that goes on, or of one that was cut off; then the next `rag ingest` removes them"));
    }
    if result.sound {
        let generation = result.generation.map_or(String::new(), |generation| format!(", generation {generation}"));
        out.push_str(&format!("{} is sound{generation}\n", sanitize::line(&result.index)));
    }
    context.screen.print(&out)?;
    if !result.sound {
        let mend = mend.unwrap_or("move the index folder away and run `rag ingest` again");
        context.screen.note(&format!("the sources are not touched; to make the index anew: {}", sanitize::line(mend)));
    }
    Ok(code)
}
