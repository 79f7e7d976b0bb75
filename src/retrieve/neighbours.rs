//! The chunks before and after a result in its source: so many, or those of its section.

use super::{Query, Result};
use crate::{
    index::{ChunkRecord, Snapshot},
    types::Span,
};

/// A section is followed so far on each side.
const MAX_SECTION_CHUNKS: usize = 40;
/// Word pieces of what is added of a section.
const MAX_SECTION_TOKENS: u32 = 4_000;

/// What the query wants around `chunk`, before and after it, in the order of the source. Reads no other record.
pub(super) fn around(
    snapshot: &Snapshot,
    chunk: &ChunkRecord,
    query: &Query,
) -> Result<(Vec<ChunkRecord>, Vec<ChunkRecord>)> {
    let reach = if query.section { query.context.max(MAX_SECTION_CHUNKS) } else { query.context };
    let (mut before, mut after) = neighbours(snapshot, chunk, reach)?;
    if query.section {
        let (back, on) = section(chunk, &before, &after);
        before.drain(..before.len() - back.max(query.context.min(before.len())));
        after.truncate(on.max(query.context));
    }
    say_once(&mut before, chunk, &mut after);
    Ok((before, after))
}

/// Neighbours share text where chunks overlap. Each keeps what no other one and not the chunk itself says: those before it
/// lose their ends, those after it their beginnings. Spans tell what is left.
fn say_once(before: &mut Vec<ChunkRecord>, chunk: &ChunkRecord, after: &mut Vec<ChunkRecord>) {
    let mut start = chunk.span.start;
    for neighbour in before.iter_mut().rev() {
        let end = neighbour.span.end.min(start).max(neighbour.span.start);
        keep(neighbour, neighbour.span.start, end);
        start = neighbour.span.start;
    }
    let mut end = chunk.span.end;
    for neighbour in after.iter_mut() {
        let start = neighbour.span.start.max(end).min(neighbour.span.end);
        end = neighbour.span.end;
        keep(neighbour, start, end);
    }
    before.retain(|neighbour| !neighbour.span.is_empty());
    after.retain(|neighbour| !neighbour.span.is_empty());
}

/// Cuts a chunk to `start..end` of its document, both within its span, and both where a letter begins.
fn keep(chunk: &mut ChunkRecord, start: usize, end: usize) {
    let Span { start: from, end: to } = chunk.span;
    if (start, end) == (from, to) {
        return;
    }
    let Some(text) = chunk.text.get(start - from..end - from).map(str::to_owned) else { return };
    if let Some(lines) = &mut chunk.lines {
        let breaks = |text: &str| u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
        lines.first = lines.first.saturating_add(breaks(&chunk.text[..start - from])).min(lines.last);
        lines.last = lines.last.saturating_sub(breaks(&chunk.text[end - from..])).max(lines.first);
    }
    chunk.text = text;
    chunk.span = Span::new(start, end);
}

/// At most `reach` chunks before and after `chunk`.
fn neighbours(snapshot: &Snapshot, chunk: &ChunkRecord, reach: usize) -> Result<(Vec<ChunkRecord>, Vec<ChunkRecord>)> {
    let reach = u32::try_from(reach).unwrap_or(u32::MAX);
    if reach == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let around = chunk.ordinal.saturating_sub(reach)..=chunk.ordinal.saturating_add(reach);
    let mut before = snapshot.chunks_between(chunk.source, around)?;
    before.retain(|other| other.ordinal != chunk.ordinal);
    let after = before.split_off(before.partition_point(|other| other.ordinal < chunk.ordinal));
    Ok((before, after))
}

/// How many chunks before and after belong to the section of `chunk`: the run around it under its headings, what stands
/// under further ones below them included. Grows on both sides by turns up to [`MAX_SECTION_TOKENS`].
fn section(chunk: &ChunkRecord, before: &[ChunkRecord], after: &[ChunkRecord]) -> (usize, usize) {
    let is_in = |other: &&ChunkRecord| match chunk.heading.is_empty() {
        // Text above the first heading.
        true => other.heading.is_empty(),
        false => other.heading.starts_with(&chunk.heading),
    };
    let back: Vec<u32> = before.iter().rev().take_while(is_in).map(|other| other.tokens).collect();
    let on: Vec<u32> = after.iter().take_while(is_in).map(|other| other.tokens).collect();
    let (mut taken_back, mut taken_on, mut left) = (0, 0, MAX_SECTION_TOKENS);
    loop {
        let mut grew = false;
        for (side, taken) in [(&on, &mut taken_on), (&back, &mut taken_back)] {
            if let Some(tokens) = side.get(*taken).filter(|tokens| **tokens <= left) {
                left -= tokens;
                *taken += 1;
                grew = true;
            }
        }
        if !grew {
            return (taken_back, taken_on);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ChunkId, Lines, SourceId};

    /// A chunk under headings, of so many tokens.
    fn chunk(heading: &str, tokens: u32) -> ChunkRecord {
        ChunkRecord {
            id: ChunkId(0),
            source: SourceId(0),
            collection: String::new(),
            path: String::new(),
            ordinal: 0,
            span: Span::new(0, 0),
            lines: None,
            pages: None,
            title: None,
            heading: heading.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            context: String::new(),
            text: String::new(),
            lang: None,
            tokens,
            fertility: 1.0,
            code_share: 0.0,
        }
    }

    #[test]
    fn what_neighbours_share_is_said_once() {
        let text = "ab\ncd\nef\ngh\nij\n";
        let part = |range: std::ops::Range<usize>| ChunkRecord {
            text: text[range.clone()].to_owned(),
            lines: Some(Lines { first: range.start as u32 / 3 + 1, last: range.end as u32 / 3 }),
            span: Span::new(range.start, range.end),
            ..chunk("", 1)
        };
        let mut before = vec![part(0..6), part(3..9)];
        let mut after = vec![part(9..12), part(9..15)];
        say_once(&mut before, &part(6..12), &mut after);
        let shown = |chunks: &[ChunkRecord]| -> Vec<(String, Lines)> {
            chunks.iter().map(|chunk| (chunk.text.clone(), chunk.lines.expect("lines"))).collect()
        };
        assert_eq!(
            shown(&before),
            [("ab\n".to_owned(), Lines { first: 1, last: 1 }), ("cd\n".to_owned(), Lines { first: 2, last: 2 })]
        );
        assert_eq!(shown(&after), [("ij\n".to_owned(), Lines { first: 5, last: 5 })]);
    }

    #[test]
    fn a_section_ends_where_its_headings_do() {
        let chunks = ["", "a", "a/x", "a/x", "a/x/deep", "a/y", "b"].map(|heading| chunk(heading, 10));
        for (at, want) in [(0, (0, 0)), (1, (0, 4)), (2, (0, 2)), (3, (1, 1)), (4, (0, 0)), (5, (0, 0)), (6, (0, 0))] {
            assert_eq!(section(&chunks[at], &chunks[..at], &chunks[at + 1..]), want, "{at}");
        }
    }

    #[test]
    fn a_long_section_is_taken_as_far_as_there_is_room() {
        let chunks: Vec<ChunkRecord> = (0..21).map(|_| chunk("a", 1_000)).collect();
        assert_eq!(section(&chunks[10], &chunks[..10], &chunks[11..]), (2, 2));
        assert_eq!(section(&chunks[0], &[], &chunks[1..]), (0, 4));
        assert_eq!(section(&chunks[20], &chunks[..20], &[]), (4, 0));
    }
}
