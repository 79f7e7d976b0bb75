//! Which chunks a model gets to read, in what order, and where their bytes stand in the documents.
//!
//! Useful for: turning ranked chunks into numbered passages within a budget. Not for: ranking, and the words around the
//! passages (`prompt`).

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::{Copied, Hit, budget, sentences, shingles::Shingles};
use crate::{
    index::ChunkRecord,
    types::{Lines, Pages, Span},
};

/// Chunks considered.
pub(super) const MAX_CANDIDATES: usize = 50;
/// Passages offered: more of them stop helping, then hurt.
pub(super) const MAX_PASSAGES: usize = 12;
/// Passages that should fit: a single one must not take the room of the others.
const WANTED_PASSAGES: usize = 3;
/// From so many passages on their order matters: models read the beginning and the end best.
const ORDERED_FROM: usize = 5;
/// A passage made of neighbours stays short enough for its number to say something.
const MAX_MERGED_TOKENS: usize = 1000;
/// Bytes between two neighbours that can only be white space or marks around blocks.
const MAX_GAP_BYTES: usize = 64;
/// A rest smaller than this is not worth a passage.
const MIN_PASSAGE_TOKENS: usize = 24;

/// Text of one source that a model reads under one number.
#[derive(Debug, Clone)]
pub(super) struct Passage {
    /// From 1, in the order of the prompt.
    pub n: u32,
    /// In the order of the source.
    pub chunks: Vec<ChunkRecord>,
    /// The chunks' texts joined; where the source has something between them, a line break stands for it.
    pub text: String,
    /// The stretches of `text` that stand in the document as they are, in order.
    stretches: Vec<Stretch>,
    pub score: f32,
    pub relevance: f32,
    /// Of the chunk it began with, in other documents.
    pub copies: Vec<Copied>,
}

/// `len` bytes at `at` of the passage are the bytes at `document` of the extracted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    at: usize,
    document: usize,
    len: usize,
}

impl Passage {
    fn first(&self) -> &ChunkRecord {
        self.chunks.first().expect("a passage is made of a chunk")
    }

    pub fn record(&self) -> &ChunkRecord {
        self.first()
    }

    /// Text that belongs to the passage without standing in its span: a table's header row.
    pub fn context(&self) -> &str {
        &self.first().context
    }

    /// Where the passage stands in the document's extracted text, from its first byte to its last.
    pub fn span(&self) -> Span {
        match (self.stretches.first(), self.stretches.last()) {
            (Some(first), Some(last)) => Span::new(first.document, last.document + last.len),
            _ => self.first().span,
        }
    }

    /// Where a range of the passage's text stands in the document; `None` if the document has something else in it.
    pub fn document_span(&self, range: Range<usize>) -> Option<Span> {
        let inside = |s: &&Stretch| s.at <= range.start && range.end <= s.at + s.len;
        let stretch = self.stretches.iter().find(inside)?;
        let start = stretch.document + (range.start - stretch.at);
        Some(Span::new(start, start + range.len()))
    }

    /// The ranges of the passage's text that quote the document as it is.
    pub fn quotable(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.stretches.iter().map(|s| s.at..s.at + s.len)
    }

    pub fn lines(&self) -> Option<Lines> {
        let lines = || self.chunks.iter().filter_map(|chunk| chunk.lines);
        Some(Lines { first: lines().map(|l| l.first).min()?, last: lines().map(|l| l.last).max()? })
    }

    pub fn pages(&self) -> Option<Pages> {
        let pages = || self.chunks.iter().filter_map(|chunk| chunk.pages);
        Some(Pages { first: pages().map(|p| p.first).min()?, last: pages().map(|p| p.last).max()? })
    }

    /// One chunk whole, as a passage.
    pub fn of_hit(n: u32, hit: &Hit) -> Self {
        let mut passage = Self {
            n,
            chunks: vec![hit.chunk.clone()],
            text: String::new(),
            stretches: Vec::new(),
            score: hit.score,
            relevance: hit.relevance,
            copies: copied(hit),
        };
        passage.join();
        passage
    }

    /// Chunks of one source, of which there is at least one, as one passage.
    pub fn of_chunks(n: u32, mut chunks: Vec<ChunkRecord>) -> Self {
        chunks.sort_by_key(|chunk| chunk.ordinal);
        let mut passage = Self {
            n,
            chunks,
            text: String::new(),
            stretches: Vec::new(),
            score: 0.0,
            relevance: 0.0,
            copies: Vec::new(),
        };
        passage.join();
        passage
    }

    /// The same with the neighbour that follows, if there is one: the text goes on there.
    pub fn continued(self, hit: &Hit) -> Self {
        match hit.after.first().filter(|next| self.touches(next)) {
            Some(next) => self.with(next),
            None => self,
        }
    }

    /// Makes `text` of the chunks.
    fn join(&mut self) {
        self.text.clear();
        self.stretches.clear();
        for chunk in &self.chunks {
            let mut text = chunk.text.as_str();
            let mut start = chunk.span.start;
            if let Some(last) = self.stretches.last_mut() {
                let end = last.document + last.len;
                // Chunks may overlap: what was taken already is not taken twice.
                let known = end.saturating_sub(start);
                if known >= text.len() {
                    continue;
                }
                let Some(rest) = text.get(known..) else { continue };
                text = rest;
                start += known;
                if start == end {
                    last.len += text.len();
                    self.text.push_str(text);
                    continue;
                }
                self.text.push_str(if start - end == 1 { "\n" } else { "\n\n" });
            }
            self.stretches.push(Stretch { at: self.text.len(), document: start, len: text.len() });
            self.text.push_str(text);
        }
    }

    /// The neighbours' chunks of one source, this one and `chunk`, follow one another.
    fn touches(&self, chunk: &ChunkRecord) -> bool {
        let (first, last) = (self.first(), self.chunks.last().expect("a passage is made of a chunk"));
        if first.source != chunk.source || first.context != chunk.context {
            return false;
        }
        let gap = |before: &ChunkRecord, after: &ChunkRecord| {
            before.ordinal.checked_add(1) == Some(after.ordinal)
                && after.span.start >= before.span.start
                && after.span.start.saturating_sub(before.span.end) <= MAX_GAP_BYTES
        };
        gap(last, chunk) || gap(chunk, first)
    }

    fn holds(&self, chunk: &ChunkRecord) -> bool {
        self.chunks.iter().any(|own| own.id == chunk.id)
    }

    fn with(&self, chunk: &ChunkRecord) -> Self {
        let mut more = self.clone();
        more.chunks.push(chunk.clone());
        more.chunks.sort_by_key(|chunk| chunk.ordinal);
        more.join();
        more
    }

    /// What the passage costs in a prompt, its frame not counted.
    fn tokens(&self) -> usize {
        budget::tokens(&self.text) + budget::tokens(self.context())
    }

    /// Cuts at sentence ends so that at most `limit` tokens are left, around the byte `keep`. False if nothing fits.
    fn cut(&mut self, limit: usize, keep: usize) -> bool {
        if self.tokens() <= limit {
            return true;
        }
        let limit = limit.saturating_sub(budget::tokens(self.context()));
        let Some(window) = window(&self.text, limit, keep) else { return false };
        self.text = self.text[window.clone()].to_owned();
        self.stretches = self
            .stretches
            .iter()
            .filter_map(|s| {
                let (start, end) = (s.at.max(window.start), (s.at + s.len).min(window.end));
                (start < end).then(|| Stretch {
                    at: start - window.start,
                    document: s.document + (start - s.at),
                    len: end - start,
                })
            })
            .collect();
        true
    }
}

/// The chunks of other documents that a hit stands for, each document once.
fn copied(hit: &Hit) -> Vec<Copied> {
    let mut copies: Vec<Copied> = Vec::new();
    for chunk in hit.copies.iter().chain(&hit.duplicates) {
        if chunk.path != hit.chunk.path && copies.iter().all(|copy| copy.path != chunk.path) {
            copies.push(Copied { id: chunk.id, path: chunk.path.clone() });
        }
    }
    copies
}

/// The whole sentences of `text` around the byte `keep` that cost at most `limit` tokens; a part of one where not even one
/// fits.
fn window(text: &str, limit: usize, keep: usize) -> Option<Range<usize>> {
    if limit < MIN_PASSAGE_TOKENS {
        return None;
    }
    let units = sentences::units(text);
    let from = units.iter().position(|unit| unit.range.end > keep).unwrap_or(0);
    let first = units.get(from)?;
    if budget::tokens(&text[first.range.clone()]) > limit {
        return Some(cut_words(text, first.range.clone(), limit));
    }
    let (mut start, mut end) = (from, from);
    let fits =
        |start: usize, end: usize| budget::tokens(&text[units[start].range.start..units[end].range.end]) <= limit;
    // What stands before a sentence explains it, so room goes to both sides in turn.
    loop {
        let after = end + 1 < units.len() && fits(start, end + 1);
        end += usize::from(after);
        let before = start > 0 && fits(start - 1, end);
        start -= usize::from(before);
        if !after && !before {
            return Some(units[start].range.start..units[end].range.end);
        }
    }
}

/// As many words of a range as fit, from its start.
fn cut_words(text: &str, range: Range<usize>, limit: usize) -> Range<usize> {
    let mut end = range.start;
    let mut cost = String::new();
    for piece in text[range.clone()].split_word_bounds() {
        cost.push_str(piece);
        if budget::tokens(&cost) > limit {
            break;
        }
        end += piece.len();
    }
    range.start..range.start + text[range.start..end].trim_end().len()
}

/// Chooses passages from ranked chunks: repeats left out, neighbours joined, filled by rank up to `budget_tokens`, cut at
/// sentence ends, at most [`MAX_PASSAGES`]. `frame_tokens` is what each passage costs besides its text.
pub(super) fn choose(hits: &[Hit], budget_tokens: usize, frame_tokens: usize) -> Vec<Passage> {
    let mut chosen: Vec<Passage> = Vec::new();
    let mut seen: Vec<Shingles> = Vec::new();
    let mut left = budget_tokens;
    let share = (budget_tokens / WANTED_PASSAGES).saturating_sub(frame_tokens).max(MIN_PASSAGE_TOKENS);
    for hit in hits.iter().take(MAX_CANDIDATES) {
        if chosen.iter().any(|passage| passage.holds(&hit.chunk)) {
            continue;
        }
        let shingles = Shingles::of(&hit.chunk.text);
        if shingles.is_empty() || seen.iter().any(|other| shingles.is_in(other)) {
            continue;
        }
        if let Some(passage) = chosen.iter_mut().find(|passage| passage.touches(&hit.chunk)) {
            let more = passage.with(&hit.chunk);
            let cost = more.tokens().saturating_sub(passage.tokens());
            if cost <= left && more.tokens() <= share.min(MAX_MERGED_TOKENS) {
                *passage = more;
                left -= cost;
                seen.push(shingles);
                continue;
            }
        }
        if chosen.len() == MAX_PASSAGES || left <= frame_tokens {
            continue;
        }
        let mut passage = Passage::of_hit(0, hit);
        for neighbour in hit.before.iter().rev().chain(&hit.after) {
            let more = if passage.touches(neighbour) { passage.with(neighbour) } else { continue };
            if more.tokens() <= share.min(MAX_MERGED_TOKENS) {
                passage = more;
            }
        }
        let offset = passage.chunks.iter().position(|chunk| chunk.id == hit.chunk.id).map_or(0, |own| {
            let start = passage.chunks[own].span.start + hit.snippet.start.min(hit.chunk.text.len());
            start.saturating_sub(passage.span().start).min(passage.text.len())
        });
        let room = left - frame_tokens;
        let room = if chosen.len() < WANTED_PASSAGES { room.min(share) } else { room };
        if passage.cut(room, offset) {
            left -= (passage.tokens() + frame_tokens).min(left);
            chosen.push(passage);
            seen.push(shingles);
        }
    }
    join_neighbours(&mut chosen, share.min(MAX_MERGED_TOKENS));
    order(chosen)
}

/// Joins passages that a chunk chosen later made neighbours, into the better one.
fn join_neighbours(chosen: &mut Vec<Passage>, limit: usize) {
    let whole =
        |passage: &Passage| passage.text.len() >= passage.chunks.iter().map(|c| c.text.len()).max().unwrap_or(0);
    let mut at = 0;
    while at < chosen.len() {
        let partner = (at + 1..chosen.len()).find(|&other| {
            let (a, b) = (&chosen[at], &chosen[other]);
            whole(a) && whole(b) && (a.touches(b.first()) || b.touches(a.first())) && a.tokens() + b.tokens() <= limit
        });
        match partner {
            Some(other) => {
                let taken = chosen.remove(other);
                let passage = &mut chosen[at];
                passage.chunks.extend(taken.chunks);
                passage.chunks.sort_by_key(|chunk| chunk.ordinal);
                passage.join();
            }
            None => at += 1,
        }
    }
}

/// Puts the best passage first and the second best last, the others inwards by turns, and numbers them as they stand.
/// Source: Liu et al., "Lost in the Middle", TACL 2024.
fn order(ranked: Vec<Passage>) -> Vec<Passage> {
    let mut ordered = ranked;
    if ordered.len() >= ORDERED_FROM {
        let mut back = Vec::new();
        let mut front = Vec::new();
        for (rank, passage) in ordered.into_iter().enumerate() {
            if rank % 2 == 0 { front.push(passage) } else { back.push(passage) }
        }
        front.extend(back.into_iter().rev());
        ordered = front;
    }
    for (n, passage) in (1..).zip(&mut ordered) {
        passage.n = n;
    }
    ordered
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::types::{ChunkId, SourceId};

    /// A chunk of a document, found at the place its text stands there.
    pub fn hit(rank: usize, path: &str, document: &str, text: &str, ordinal: u32) -> Hit {
        let start = document.find(text).expect("the chunk is of the document");
        let source = SourceId(path.bytes().fold(7, |h, b| h * 31 + u64::from(b)));
        let span = Span::new(start, start + text.len());
        let line = |at: usize| document[..at].matches('\n').count() as u32 + 1;
        Hit {
            rank,
            score: 1.0 / rank as f32,
            relevance: 0.9,
            chunk: ChunkRecord {
                id: ChunkRecord::id_of(source, span, text),
                source,
                collection: "default".into(),
                path: path.into(),
                ordinal,
                span,
                lines: Some(Lines { first: line(start), last: line(start + text.len()) }),
                pages: None,
                title: None,
                heading: Vec::new(),
                context: String::new(),
                text: text.into(),
                lang: Some("en".into()),
                tokens: 0,
                fertility: 1.2,
                code_share: 0.0,
            },
            freshness: crate::types::Freshness::default(),
            copies: vec![],
            duplicates: vec![],
            before: Vec::new(),
            after: Vec::new(),
            snippet: 0..0,
            highlights: Vec::new(),
            explain: None,
            flags: Vec::new(),
        }
    }

    fn one(rank: usize, path: &str, text: &str) -> Hit {
        hit(rank, path, text, text, 0)
    }

    #[test]
    fn repeats_go_unless_a_number_or_a_negation_differs() {
        let long = "The proxy keeps completions for one week and answers the same question again from memory at no cost to anyone in the team, which saves both time and money whenever a batch of jobs is run twice by mistake";
        let hits = [
            one(1, "a", long),
            one(2, "b", &long.to_uppercase()),
            one(3, "c", &format!("{long} 2")),
            one(4, "d", &long.replace("keeps", "never")),
            one(5, "e", &format!("{long} and then it says something else that is longer and quite new to the reader")),
        ];
        let paths: Vec<String> = choose(&hits, 10_000, 10).iter().map(|p| p.record().path.clone()).collect();
        assert_eq!(paths, ["a", "c", "d", "e"]);
    }

    #[test]
    fn neighbours_are_joined_and_every_byte_is_found_again() {
        let document = "First part here.\n\nSecond part there. Third one\n\n\n\nFourth, far.";
        let hits = [
            hit(1, "a", document, "Second part there.", 1),
            hit(2, "a", document, "First part here.", 0),
            hit(3, "a", document, "there. Third one", 2),
            hit(4, "b", document, "Fourth, far.", 3),
        ];
        let passages = choose(&hits, 10_000, 10);
        assert_eq!(passages.len(), 2);
        let joined = &passages[0];
        assert_eq!(joined.text, "First part here.\n\nSecond part there. Third one");
        assert_eq!(joined.chunks.len(), 3);
        assert_eq!((joined.span().start, joined.span().end), (0, 46));
        let mut found = 0;
        for (start, _) in joined.text.char_indices() {
            for (len, _) in joined.text[start..].char_indices().skip(1) {
                if let Some(span) = joined.document_span(start..start + len) {
                    assert_eq!(&document[span.range()], &joined.text[start..start + len]);
                    found += 1;
                }
            }
        }
        assert!(found > 100);
    }

    #[test]
    fn other_chunks_of_a_source_are_not_joined() {
        let document = "One two three. Four five six. Seven eight nine.";
        let hits = [hit(1, "a", document, "One two three.", 0), hit(2, "a", document, "Seven eight nine.", 2)];
        assert_eq!(choose(&hits, 10_000, 10).len(), 2);
    }

    #[test]
    fn a_chunk_between_two_passages_joins_them() {
        let document = "One two three. Four five six. Seven eight nine.";
        let hits = [
            hit(1, "a", document, "One two three.", 0),
            hit(2, "a", document, "Seven eight nine.", 2),
            hit(3, "a", document, "Four five six.", 1),
        ];
        let passages = choose(&hits, 10_000, 10);
        assert_eq!(passages.len(), 1);
        assert_eq!(passages[0].chunks.len(), 3);
    }

    #[test]
    fn best_first_second_best_last() {
        let hits: Vec<Hit> = (1..=7).map(|i| one(i, &format!("p{i}"), &format!("text of number {i}"))).collect();
        let order = |hits: &[Hit]| choose(hits, 10_000, 1).iter().map(|p| p.record().path.clone()).collect::<Vec<_>>();
        assert_eq!(order(&hits), ["p1", "p3", "p5", "p7", "p6", "p4", "p2"]);
        assert_eq!(order(&hits[..4]), ["p1", "p2", "p3", "p4"]);
        assert!(choose(&hits, 10_000, 1).iter().zip(1..).all(|(p, n)| p.n == n));
    }

    #[test]
    fn never_over_the_budget_and_three_if_they_fit() {
        let sentence = |i: usize, j: usize| format!("Sentence {j} of document {i} says a little more than nothing. ");
        let hits: Vec<Hit> = (1..=20)
            .map(|i| one(i, &format!("p{i}"), (0..30).map(|j| sentence(i, j)).collect::<String>().trim_end()))
            .collect();
        for budget in [0, 10, 60, 100, 200, 500, 1000, 3000, 20_000] {
            let passages = choose(&hits, budget, 12);
            let spent: usize = passages.iter().map(|p| p.tokens() + 12).sum();
            assert!(spent <= budget, "{spent} > {budget}");
            assert!(passages.len() <= MAX_PASSAGES);
            assert!(budget < 200 || passages.len() >= 3, "{budget}: {}", passages.len());
            for passage in &passages {
                assert!(passage.text.ends_with('.'), "{:?}", passage.text);
            }
        }
    }

    #[test]
    fn a_cut_keeps_what_was_found() {
        let text = (0..100).map(|i| format!("This is sentence number {i} of many. ")).collect::<String>();
        let mut far = one(1, "a", text.trim_end());
        far.snippet = text.find("number 70 ").unwrap()..text.len() - 1;
        let passages = choose(&[far], 400, 10);
        assert!(passages[0].text.contains("number 70 of"), "{}", passages[0].text);
        let span = passages[0].span();
        assert_eq!(&text[span.range()], passages[0].text);
    }

    #[test]
    fn one_endless_word_is_cut_too() {
        for text in ["x".repeat(9000), "漢".repeat(4000), "1 ".repeat(4000)] {
            let passages = choose(&[one(1, "a", text.trim_end())], 300, 10);
            assert!(passages.iter().map(Passage::tokens).sum::<usize>() <= 300);
        }
    }

    #[test]
    fn ids_of_all_chunks_are_kept() {
        let document = "aa bb.\ncc dd.";
        let hits = [hit(1, "a", document, "aa bb.", 0), hit(2, "a", document, "cc dd.", 1)];
        let ids: Vec<ChunkId> = choose(&hits, 1000, 10)[0].chunks.iter().map(|chunk| chunk.id).collect();
        assert_eq!(ids, [hits[0].chunk.id, hits[1].chunk.id]);
    }
}
