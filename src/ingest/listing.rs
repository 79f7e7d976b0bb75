//! Which list of the report a source belongs in.

use super::{Report, reader, report, survey::Survey, walk::Name};
use crate::index::{SourceRecord, Status};

/// Lists what the survey settled: what stands, what is skipped, what could not be looked at.
pub fn list_known(report: &mut Report, survey: &mut Survey) {
    report.ignored = survey.ignored;
    report.skipped.append(&mut survey.skipped);
    report.failed.append(&mut survey.failed);
    report.warnings.append(&mut survey.warnings);
    for record in std::mem::take(&mut survey.plan.stand) {
        list(report, &record, List::Unchanged, None);
    }
}

/// Lists what would be done without any file being read.
pub fn list_planned(report: &mut Report, survey: &Survey) {
    for record in &survey.plan.retag {
        list(report, record, List::Updated, None);
    }
    for step in &survey.plan.moves {
        let Name { id, root, path } = step.found.name.clone();
        let record = SourceRecord { id, root, path, ..step.from.clone() };
        list(report, &record, List::Moved, Some(step.from.display_path()));
    }
    for record in &survey.plan.gone {
        report.removed.push(gone(record, survey));
    }
}

/// The entry of a source that is gone, with the reason where its file is not.
pub fn gone(record: &SourceRecord, survey: &Survey) -> report::Outcome {
    report::Outcome {
        path: record.display_path(),
        problems: survey.left.get(&record.id).cloned().into_iter().collect(),
        chunks: 0,
        from: None,
    }
}

/// The entry of a place that a source was moved from without becoming text at the new one.
fn left(path: String) -> report::Outcome {
    report::Outcome { path, problems: vec![], chunks: 0, from: None }
}

/// What happened to a source.
#[derive(Debug, Clone, Copy)]
pub enum List {
    Added,
    Updated,
    Unchanged,
    Moved,
}

/// Lists a source by its record: a failure as failed and what is left alone as skipped, whatever happened to it, and the
/// place it was moved from as removed; and once more as a warning, if it has one.
pub fn list(report: &mut Report, record: &SourceRecord, list: List, from: Option<String>) {
    let is_failed = record.status == Status::Failed;
    if is_failed || reader::is_skipped(record) {
        let list = if is_failed { &mut report.failed } else { &mut report.skipped };
        list.push(entry(record, None));
        report.removed.extend(from.map(left));
        return;
    }
    let entry = entry(record, from);
    if record.status == Status::Warned {
        report.warnings.push(entry.clone());
    }
    match list {
        List::Added => report.added.push(entry),
        List::Updated => report.updated.push(entry),
        List::Unchanged => report.unchanged.push(entry),
        List::Moved => report.moved.push(entry),
    }
}

fn entry(record: &SourceRecord, from: Option<String>) -> report::Outcome {
    report::Outcome { path: record.display_path(), problems: record.problems.clone(), chunks: record.chunks, from }
}
