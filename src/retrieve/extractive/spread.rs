//! What is shown with a sentence, because it cannot be read without.

use std::ops::Range;

use super::super::sentences::{Kind, Unit};

/// A line that introduces a list is shown with the list up to this size.
const MAX_GROUP_BYTES: usize = 800;
/// A paragraph is shown whole if it is no longer.
const MAX_PARAGRAPH_BYTES: usize = 400;

/// A sentence with what it cannot be read without: the list or code after its colon, the sentence before its pronoun.
pub(super) fn grown(text: &str, units: &[Unit], at: usize) -> Range<usize> {
    let unit = &units[at];
    let body = &text[unit.range.clone()];
    if body.ends_with([':', '：']) && unit.kind != Kind::Row {
        let mut end = unit.range.end;
        for next in &units[at + 1..] {
            let belongs = matches!(next.kind, Kind::Item | Kind::Code | Kind::Row)
                || end == unit.range.end && next.kind == Kind::Prose;
            if !belongs || next.range.end - unit.range.start > MAX_GROUP_BYTES {
                break;
            }
            end = next.range.end;
            if next.kind == Kind::Prose {
                break;
            }
        }
        return unit.range.start..end;
    }
    const PRONOUNS: [&str; 20] = [
        "It", "They", "This", "These", "Its", "Their", "He", "She", "Both", "Er", "Sie", "Es", "Dies", "Diese",
        "Dieser", "Ella", "Ellos", "Esto", "Estos", "Il",
    ];
    let first = body.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    if let Some(before) = at.checked_sub(1).map(|before| &units[before])
        && PRONOUNS.contains(&first)
        && (before.kind, unit.kind) == (Kind::Prose, Kind::Prose)
        && !before.ends_line
        && unit.range.end - before.range.start <= MAX_GROUP_BYTES / 2
    {
        return before.range.start..unit.range.end;
    }
    unit.range.clone()
}

/// The sentences of one paragraph or item round a range of sentences, within `end`: all of them if they are few, else those
/// that follow as far as there is room.
pub(super) fn paragraph(units: &[Unit], range: Range<usize>, end: usize) -> Range<usize> {
    let inside = |unit: &Unit| range.start <= unit.range.start && unit.range.end <= range.end;
    let Some(first) = units.iter().position(inside) else { return range };
    let Some(last) = units.iter().rposition(inside) else { return range };
    let joins = |before: usize| {
        let (a, b) = (&units[before], &units[before + 1]);
        let prose = |unit: &Unit| matches!(unit.kind, Kind::Prose | Kind::Item);
        !a.ends_line && prose(a) && prose(b) && b.range.start < end
    };
    let mut to = last;
    while to + 1 < units.len() && joins(to) && units[to + 1].range.end - range.start <= MAX_PARAGRAPH_BYTES {
        to += 1;
    }
    let mut from = first;
    while from > 0 && joins(from - 1) && units[to].range.end - units[from - 1].range.start <= MAX_PARAGRAPH_BYTES {
        from -= 1;
    }
    units[from].range.start.min(range.start)..units[to].range.end.max(range.end)
}
