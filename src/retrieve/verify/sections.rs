//! Under which headings each sentence of a passage stands, and which sentences may speak together.
//!
//! Useful for: passages joined of several sections, where the words of one section say nothing about another. Not for:
//! headings that neither the document's structure nor a `#` tells.

use std::ops::Range;

use crate::{
    index::ChunkRecord,
    retrieve::{
        passages::Passage,
        sentences::{Kind, Unit},
    },
};

/// Sentences that may together say what one sentence of an answer says.
const WINDOW_UNITS: usize = 3;

/// Where a unit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Ascends from unit to unit; headings belong to the section that they begin.
    pub section: usize,
    pub heading: bool,
    /// Title, headings and table header above the unit, one a line.
    pub above: String,
    /// The heading right above it, or empty.
    pub nearest: String,
}

/// The place of each unit. A line is a heading if it is marked as one or stands in the heading path of a chunk; where the
/// path changes without such a line a section begins as well.
pub(super) fn places(passage: &Passage, units: &[Unit]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    // Headings met in the text that are still open, with their levels.
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut last: Option<&ChunkRecord> = None;
    for unit in units {
        let chunk = chunk_of(passage, unit);
        let level = heading_level(passage, chunk, unit);
        let moved = last.is_some_and(|last| last.heading != chunk.heading);
        if moved {
            open.clear();
        }
        if let Some(level) = level {
            open.retain(|(above, _)| *above < level);
            open.push((level, &passage.text[unit.range.clone()]));
        }
        let before = places.last();
        let begins = moved || level.is_some() && before.is_some_and(|place| !place.heading);
        let section = before.map_or(0, |place| place.section + usize::from(begins));
        let mut above: Vec<&str> = chunk.title.as_deref().into_iter().collect();
        above.extend(chunk.heading.iter().map(String::as_str));
        above.extend(open.iter().map(|(_, heading)| *heading).filter(|open| chunk.heading.iter().all(|h| h != open)));
        above.push(passage.context());
        let nearest = open.last().map(|(_, heading)| *heading).or(chunk.heading.last().map(String::as_str));
        let nearest = nearest.unwrap_or_default().to_owned();
        places.push(Place { section, heading: level.is_some(), above: above.join("\n"), nearest });
        last = Some(chunk);
    }
    places
}

/// The neighbouring units, as ranges of their numbers, that may together say what one sentence says: at most
/// [`WINDOW_UNITS`] under one heading. A heading speaks by itself only where nothing stands under it.
pub(super) fn windows(places: &[Place]) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut start = 0;
    for section in places.chunk_by(|a, b| a.section == b.section) {
        let end = start + section.len();
        let headings = section.iter().take_while(|place| place.heading).count();
        let from = if headings < section.len() { start + headings } else { start };
        let width = WINDOW_UNITS.min(end - from);
        windows.extend((from..=end - width).map(|at| at..at + width));
        start = end;
    }
    windows
}

/// The chunk that a unit begins in.
fn chunk_of<'p>(passage: &'p Passage, unit: &Unit) -> &'p ChunkRecord {
    let first = passage.text[unit.range.clone()].chars().next().map_or(0, char::len_utf8);
    let span = passage.document_span(unit.range.start..unit.range.start + first);
    span.and_then(|span| passage.chunks.iter().rfind(|chunk| chunk.span.start <= span.start))
        .unwrap_or_else(|| passage.record())
}

/// From 1; `None` if the unit is no heading.
fn heading_level(passage: &Passage, chunk: &ChunkRecord, unit: &Unit) -> Option<usize> {
    let text = &passage.text;
    let start = text[..unit.range.start].rfind('\n').map_or(0, |at| at + 1);
    let before = text[start..unit.range.start].trim();
    if unit.kind == Kind::Heading {
        return Some(before.len().max(1));
    }
    let end = text[unit.range.start..].find('\n').map_or(text.len(), |at| unit.range.start + at);
    if unit.kind != Kind::Prose || unit.range.end > end {
        return None;
    }
    // A heading of two sentences is two units.
    let line = text[start..end].trim();
    let own = chunk.heading.iter().position(|heading| heading.trim() == line).map(|at| at + 1);
    own.or_else(|| {
        let other = passage.chunks.iter().any(|chunk| chunk.heading.iter().any(|heading| heading.trim() == line));
        other.then_some(chunk.heading.len() + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieve::{passages::tests::hit, verify::units_of};

    fn read(text: &str, heading: &[&str]) -> (Vec<Place>, Vec<Range<usize>>) {
        let mut hit = hit(1, "doc.md", text, text, 0);
        hit.chunk.heading = heading.iter().map(|h| (*h).to_owned()).collect();
        let passage = Passage::of_hit(1, &hit);
        let places = places(&passage, &units_of(&passage));
        let windows = windows(&places);
        (places, windows)
    }

    #[test]
    fn headings_divide_and_stand_above() {
        let (places, windows) =
            read("# Pay\n\n## Staff\n\nOne is. Two are. Three are. Four are.\n\n## Guests\n\nFive are. Six are.", &[]);
        assert_eq!(windows, [2..5, 3..6, 7..9]);
        let above: Vec<&str> = places.iter().map(|place| place.above.trim()).collect();
        assert_eq!(above[0], "Pay");
        assert_eq!(above[2], "Pay\nStaff");
        assert_eq!(above[8], "Pay\nGuests");
    }

    #[test]
    fn a_bare_line_of_the_path_is_a_heading() {
        let (places, windows) = read("Pay\n\nWho is paid?\n\nStaff are paid.", &["Pay", "Who is paid?"]);
        assert_eq!(places.iter().map(|place| place.heading).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(windows, vec![2..3]);
        assert_eq!(places[2].above.trim(), "Pay\nWho is paid?");
        let (places, windows) = read("Pay\n\nStaff are paid.", &[]);
        assert!(places.iter().all(|place| !place.heading));
        assert_eq!(windows, vec![0..2]);
    }

    #[test]
    fn nothing_and_headings_alone() {
        assert!(windows(&[]).is_empty());
        assert_eq!(read("# Pay", &[]).1, vec![0..1]);
    }
}
