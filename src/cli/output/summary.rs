//! What an ingest run did, for people.

use rag::serve::wire::{IngestReport, Outcome};

use super::{Screen, Style, bytes, count, sanitize, sources::problem_line};

/// Names of one list that are printed; problems are all named.
const MAX_NAMES: usize = 40;

/// Counts first, then each source that failed, was skipped or is doubtful, with the reason.
pub fn text(screen: &Screen, report: &IngestReport) -> String {
    let mut out = String::new();
    let changes = [
        ("added", report.added.len()),
        ("updated", report.updated.len()),
        ("unchanged", report.unchanged),
        ("moved", report.moved.len()),
        ("removed", report.removed.len()),
        ("skipped", report.skipped.len()),
        ("failed", report.failed.len()),
    ];
    let counts: Vec<String> = changes.iter().map(|(word, number)| format!("{number} {word}")).collect();
    if report.dry_run {
        out.push_str(&screen.paint(Style::Bold, "dry run, nothing written: "));
    }
    out.push_str(&counts.join(", "));
    out.push('\n');
    let vectors = match &report.embedder {
        Some(_) if report.dry_run => "all of them to embed at most".into(),
        Some(_) => {
            let reused =
                if report.chunks.reused > 0 { format!(", {} reused", report.chunks.reused) } else { String::new() };
            format!("{} embedded{reused}", report.chunks.embedded)
        }
        None => "no vectors (--no-embed)".into(),
    };
    out.push_str(&format!(
        "{}, {vectors}; {} written; generation {}; {:.1} s\n",
        count(report.chunks.written, "chunk"),
        bytes(report.bytes_written),
        report.generation,
        report.seconds
    ));
    if let Some(seconds) = report.estimated_seconds {
        out.push_str(&format!("the run would take about {} (chunks and time are judged by a sample; a file that was not in it may still fail)\n", about(seconds)));
    }
    if report.interrupted {
        let said = if report.bytes_written > 0 {
            "interrupted: what was whole is committed; run it again to go on"
        } else {
            "interrupted: nothing new was committed"
        };
        out.push_str(&screen.paint(Style::Warn, said));
        out.push('\n');
    }
    // What comes is asked for; what goes or changes its name may surprise, and a dry run is read for its names.
    for (word, list, always) in [
        ("added  ", &report.added, false),
        ("updated", &report.updated, false),
        ("moved  ", &report.moved, true),
        ("removed", &report.removed, true),
    ] {
        if !always && !report.dry_run {
            continue;
        }
        for outcome in list.iter().take(MAX_NAMES) {
            let from = outcome.from.as_ref().map(|from| format!("  from {}", sanitize::line(from))).unwrap_or_default();
            out.push_str(&format!("{word}  {}{from}\n", sanitize::line(&outcome.path)));
        }
        if let Some(more) = list.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
            out.push_str(&format!("{word}  … and {more} more; `--json` names all\n"));
        }
    }
    for (word, style, list) in [
        ("failed ", Style::Bad, &report.failed),
        ("warned ", Style::Warn, &report.warnings),
        ("skipped", Style::Dim, &report.skipped),
    ] {
        for outcome in list {
            out.push_str(&named(screen, word, style, outcome));
        }
    }
    out
}

/// A time as people say it.
fn about(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".into(),
        s if s < 90.0 => format!("{s:.0} seconds"),
        s if s < 5400.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

fn named(screen: &Screen, word: &str, style: Style, outcome: &Outcome) -> String {
    let reasons: Vec<String> = outcome.problems.iter().map(problem_line).collect();
    format!("{}  {}  {}\n", screen.paint(style, word), sanitize::line(&outcome.path), reasons.join("; "))
}
