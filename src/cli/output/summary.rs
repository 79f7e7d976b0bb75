//! What an ingest run did, for people.

use rag::ingest::{Outcome, Report};

use super::{Screen, Style, bytes, count, sanitize, sources::problem_line};

/// Counts first, then each source that failed, was skipped or is doubtful, with the reason.
pub fn text(screen: &Screen, report: &Report, embedder: Option<&str>) -> String {
    let mut out = String::new();
    let changes = [
        ("added", report.added.len()),
        ("updated", report.updated.len()),
        ("unchanged", report.unchanged.len()),
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
    let vectors = match embedder {
        Some(_) => {
            let reused =
                if report.chunks_reused > 0 { format!(", {} reused", report.chunks_reused) } else { String::new() };
            format!("{} embedded{reused}", report.chunks_embedded)
        }
        None => "no vectors (--no-embed)".into(),
    };
    out.push_str(&format!(
        "{}, {vectors}; {} written; generation {}; {:.1} s\n",
        count(report.chunks_written, "chunk"),
        bytes(report.bytes_written),
        report.generation,
        report.seconds
    ));
    if report.interrupted {
        out.push_str(&screen.paint(Style::Warn, "interrupted: what was whole is committed; run it again to go on"));
        out.push('\n');
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

fn named(screen: &Screen, word: &str, style: Style, outcome: &Outcome) -> String {
    let reasons: Vec<String> = outcome.problems.iter().map(problem_line).collect();
    format!("{}  {}  {}\n", screen.paint(style, word), sanitize::line(&outcome.path), reasons.join("; "))
}
