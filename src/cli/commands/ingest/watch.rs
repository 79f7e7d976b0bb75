//! `rag ingest --watch`: run after run, until a stop is asked for.

use std::time::Duration;

use rag::{
    ingest::{Options, Watch},
    serve::wire::IngestReport,
    types::Cancel,
};

use super::{Args, exit_code, heed_signals, once, print};
use crate::cli::{commands::Context, exit, report::Failure};

/// A folder that changes all the time is looked at for one part of the time in so many.
const RESTS: f64 = 4.0;

/// The first run must succeed; what fails in a later one is said, and tried again. The index is locked during runs only.
pub fn watch((context, args, options): (&Context, &Args, &Options), cancel: &Cancel) -> Result<u8, Failure> {
    let screen = &context.screen;
    // Before the first run, so that nothing is missed between the two.
    let watch = Watch::new(&options.paths, &options.index_dir);
    if let Some(why) = watch.blind() {
        screen.note(why);
    }
    let mut report = once((context, args, options), cancel, || heed_signals(cancel))?;
    print(context, args, &report)?;
    while !cancel.is_asked() {
        if !screen.json {
            screen.note("watching; Ctrl-C ends it");
        }
        let pause = Duration::try_from_secs_f64(report.seconds * RESTS).unwrap_or_default();
        if !next(&watch, pause, (context, args, options), cancel, &mut report)? {
            break;
        }
    }
    Ok(if cancel.is_asked() { exit::INTERRUPTED } else { exit_code(args, &report) })
}

/// Waits and runs until a run changes something or fails otherwise than the one before; prints that. `false`: stop.
fn next(
    watch: &Watch,
    pause: Duration,
    (context, args, options): (&Context, &Args, &Options),
    cancel: &Cancel,
    last: &mut IngestReport,
) -> Result<bool, Failure> {
    loop {
        if !watch.wait(pause, cancel) {
            return Ok(false);
        }
        match once((context, args, options), cancel, || Ok(())) {
            Ok(report) => {
                let is_news = report.bytes_written > 0 || report.failed != last.failed;
                *last = report;
                if is_news {
                    print(context, args, last)?;
                    return Ok(true);
                }
            }
            Err(failure) => match failure.in_passing() {
                Some(what) => context.screen.note(&what),
                None => return Err(failure),
            },
        }
    }
}
