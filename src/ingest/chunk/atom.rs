//! What is never cut further while it fits: a sentence, a row, a fence, a paragraph of code, a record.

use super::{
    measure::{self, Measure},
    split,
};
use crate::{
    ingest::document::{Block, BlockKind, Document},
    model::wordpiece::{Tally, WordPiece},
    types::Span,
};

/// A table's header is repeated if it takes at most one part in so many of the budget.
const HEADER_SHARE: usize = 4;

/// A piece of a block. The atoms of a block tile it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    pub span: Span,
    /// In tokens or what counts as such; see [`Measure::size`].
    pub size: usize,
    /// The size of its whole block, on the block's first atom; else 0.
    pub block_size: usize,
    /// Its word pieces; `None` where it was cut out of something larger.
    pub tally: Option<Tally>,
    /// The header that must be repeated where the atom's chunk does not hold it.
    pub header: Option<Header>,
}

/// A table's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub span: Span,
    pub size: usize,
}

/// The atoms of a block, none larger than `budget` (with its header) unless it is a single letter. O(n).
pub fn atoms(document: &Document, block: &Block, measure: Measure, budget: usize) -> Vec<Atom> {
    let text = document.text.as_str();
    let whole = &text[block.span.range()];
    let counted = |pieces: Vec<Span>| -> Vec<(Span, Tally)> {
        let tally = |span: Span| (span, WordPiece::builtin().tally(&text[span.range()]));
        pieces.into_iter().map(tally).collect()
    };
    let prose = match block.kind {
        BlockKind::Heading(_) => Some(vec![block.span]),
        BlockKind::Paragraph | BlockKind::Quote => Some(split::sentences(text, block.span)),
        BlockKind::List => Some(split::lines(text, block.span)),
        BlockKind::Table { .. } | BlockKind::Fence | BlockKind::Code | BlockKind::Record => None,
    };
    // These pieces depend on no size, so what is counted of them can tell the measure as well.
    let prose = prose.map(counted);
    let sum =
        |pieces: &Vec<(Span, Tally)>| measure::sum(text, pieces.iter().map(|(span, tally)| (span.start, Some(*tally))));
    let measure = measure.of_part(whole, prose.as_ref().and_then(sum));
    let size = |span: Span| measure.size(&text[span.range()]);
    let (pieces, header) = match (prose, &block.kind) {
        (Some(pieces), _) => (pieces, None),
        (None, BlockKind::Fence | BlockKind::Record) if size(block.span) <= budget => (counted(vec![block.span]), None),
        (None, BlockKind::Fence | BlockKind::Code) => (counted(code(text, block.span, budget, &size)), None),
        (None, BlockKind::Table { header, rows }) => {
            let fits = header.end <= text.len() && !text[header.range()].trim().is_empty();
            let header = Some(Header { span: *header, size: if fits { size(*header) } else { usize::MAX } });
            (counted(table(text, block.span, header.map(|header| header.span), rows)), header)
        }
        (None, _) => (counted(split::lines(text, block.span)), None),
    };
    let header = header.filter(|header| header.size <= budget / HEADER_SHARE);
    let budget = budget - header.map_or(0, |header| header.size);
    let mut atoms = Vec::with_capacity(pieces.len());
    let mut total = 0;
    let mut push = |span: Span, size: usize, tally: Option<Tally>| {
        total += size;
        let header = header.filter(|header| span.start >= header.span.end);
        atoms.push(Atom { span, size, block_size: 0, tally, header });
    };
    for (piece, tally) in pieces {
        let piece_size = measure.size_of(&text[piece.range()], tally);
        if piece_size <= budget {
            push(piece, piece_size, Some(tally));
            continue;
        }
        let sentences = if block.kind == BlockKind::List { split::sentences(text, piece) } else { vec![piece] };
        for sentence in sentences {
            for part in split::cut(text, sentence, budget, &|text| measure.size(text)) {
                push(part, size(part), None);
            }
        }
    }
    if let Some(first) = atoms.first_mut() {
        first.block_size = total;
    }
    atoms
}

/// Paragraphs of code, or their lines where they are too large.
fn code(text: &str, span: Span, budget: usize, size: &dyn Fn(Span) -> usize) -> Vec<Span> {
    split::paragraphs(text, span)
        .into_iter()
        .flat_map(|part| if size(part) <= budget { vec![part] } else { split::lines(text, part) })
        .collect()
}

/// The header, if it stands in the block, then the rows.
fn table(text: &str, block: Span, header: Option<Span>, rows: &[Span]) -> Vec<Span> {
    let mut starts = vec![block.start];
    let body = header.map_or(block.start, |header| header.end.clamp(block.start, block.end));
    if rows.is_empty() {
        starts.extend(split::lines(text, Span::new(body, block.end)).iter().map(|line| line.start));
    } else {
        starts.extend(rows.iter().map(|row| row.start).filter(|start| block.range().contains(start)));
    }
    starts.push(block.end);
    starts.sort_unstable();
    starts.dedup();
    starts.windows(2).map(|pair| Span::new(pair[0], pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(kind: BlockKind, text: &str, budget: usize) -> Vec<String> {
        let document = Document { text: text.to_owned(), ..Document::default() };
        let block = Block { kind, span: Span::new(0, text.len()), heading: vec![], lines: None, pages: None };
        let atoms = atoms(&document, &block, Measure::of_document(""), budget);
        assert_eq!(atoms.iter().map(|atom| &text[atom.span.range()]).collect::<String>(), text, "atoms tile the block");
        assert!(atoms.iter().all(|atom| atom.size + atom.header.map_or(0, |header| header.size) <= budget));
        assert_eq!(atoms.first().map_or(0, |atom| atom.block_size), atoms.iter().map(|atom| atom.size).sum::<usize>());
        let mark = |atom: &Atom| if atom.header.is_some() { "^" } else { "" };
        atoms.iter().map(|atom| format!("{}{}", mark(atom), &text[atom.span.range()])).collect()
    }

    #[test]
    fn each_kind_has_its_own_atoms() {
        let words = "one two three four five six. ";
        assert_eq!(pieces(BlockKind::Paragraph, &words.repeat(2), 50).len(), 1, "lower case goes on");
        assert_eq!(pieces(BlockKind::Paragraph, "One two. Three four.", 50), ["One two. ", "Three four."]);
        assert_eq!(pieces(BlockKind::List, "- one\n- two\n", 50), ["- one\n", "- two\n"]);
        assert_eq!(pieces(BlockKind::Fence, "a\n\nb\n", 50), ["a\n\nb\n"]);
        assert_eq!(pieces(BlockKind::Fence, "a b\nc d\n\ne f\n", 4), ["a b\nc d\n\n", "e f\n"]);
        assert_eq!(pieces(BlockKind::Code, "a b\nc d\n\ne f\n", 3), ["a b\n", "c d\n", "\n", "e f\n"]);
        assert_eq!(pieces(BlockKind::Record, "a: b\nc: d\n", 50).len(), 1);
        assert_eq!(pieces(BlockKind::Record, "a: b\nc: d\n", 4), ["a: b\n", "c: d\n"]);
    }

    #[test]
    fn rows_are_whole_and_know_their_header() {
        let text = "a|b\n-|-\n1|2\n3|4\n";
        let table = |end: usize, rows: Vec<Span>| BlockKind::Table { header: Span::new(0, end), rows };
        assert_eq!(pieces(table(8, vec![]), text, 100), ["a|b\n-|-\n", "^1|2\n", "^3|4\n"]);
        let rows = vec![Span::new(8, 16)];
        assert_eq!(pieces(table(8, rows), text, 100), ["a|b\n-|-\n", "^1|2\n3|4\n"], "a row of two lines");
        assert_eq!(pieces(table(0, vec![]), text, 100), ["a|b\n", "-|-\n", "1|2\n", "3|4\n"]);
        assert_eq!(pieces(table(8, vec![]), text, 10), ["a|b\n-|-\n", "1|2\n", "3|4\n"], "the header is too large");
    }

    #[test]
    fn what_is_too_large_is_cut_all_the_same() {
        let endless = "x".repeat(20_000);
        for kind in [
            BlockKind::Heading(1),
            BlockKind::Paragraph,
            BlockKind::List,
            BlockKind::Fence,
            BlockKind::Code,
            BlockKind::Record,
            BlockKind::Table { header: Span::new(0, 0), rows: vec![] },
        ] {
            assert!(pieces(kind, &endless, 50).len() > 10);
        }
    }
}
