//! How atoms are gathered into chunks.
//!
//! Greedy, in order: a chunk takes atoms up to the target. A block that would overflow it begins a chunk of its own, if
//! at least half the target is there already; else it is begun here and cut. What is under the minimum takes one atom
//! more, or goes to the chunk before it, as long as the limit allows.

use std::ops::Range;

use super::atom::Atom;

/// Chunks smaller than this look for company in their section.
pub const MIN_TOKENS: usize = 40;

/// How large chunks are to be, prefix not counted.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub target: usize,
    pub limit: usize,
    pub overlap: usize,
}

impl Sizes {
    fn min(self) -> usize {
        MIN_TOKENS.min(self.target / 2)
    }
}

/// The atoms of each chunk of a section, in order. Every atom is in one chunk; with overlap the last atoms of a chunk may
/// be the first of the next too, as many whole ones as fit into it. O(atoms), times the overlap's atoms.
pub fn pack(atoms: &[Atom], sizes: Sizes) -> Vec<Range<usize>> {
    let mut chunks: Vec<Range<usize>> = Vec::new();
    let mut chunk = Chunk::default();
    for (at, atom) in atoms.iter().enumerate() {
        if chunk.is_full(atom, sizes) {
            let range = chunk.range.clone();
            chunk = Chunk::beginning_before(at, atoms, range.start, sizes);
            chunks.push(range);
        }
        chunk.add(atom, at);
    }
    if !chunk.range.is_empty() {
        let previous = chunks.last().cloned();
        match previous {
            Some(previous) if chunk.size < sizes.min() => {
                let joined = Chunk::of(previous.start..chunk.range.end, atoms);
                if joined.size <= sizes.limit {
                    chunks.pop();
                }
                chunks.push(if joined.size <= sizes.limit { joined.range } else { chunk.range });
            }
            _ => chunks.push(chunk.range),
        }
    }
    chunks
}

/// A chunk being gathered.
#[derive(Debug, Default)]
struct Chunk {
    range: Range<usize>,
    /// With the header it has to repeat.
    size: usize,
    start_byte: usize,
    has_header: bool,
}

impl Chunk {
    fn of(range: Range<usize>, atoms: &[Atom]) -> Self {
        let mut chunk = Self::default();
        for at in range {
            chunk.add(&atoms[at], at);
        }
        chunk
    }

    /// The chunk after one that ends before atom `end` and began at `start`: as many of its last atoms as the overlap
    /// holds, and atom `end` still fits.
    fn beginning_before(end: usize, atoms: &[Atom], start: usize, sizes: Sizes) -> Self {
        let mut first = end;
        let mut overlap = 0;
        while first > start + 1 && overlap + atoms[first - 1].size <= sizes.overlap {
            first -= 1;
            overlap += atoms[first].size;
        }
        while first < end && Self::of(first..end, atoms).with(&atoms[end]) > sizes.target {
            first += 1;
        }
        Self::of(first..end, atoms)
    }

    fn add(&mut self, atom: &Atom, at: usize) {
        if self.range.is_empty() {
            (self.range, self.start_byte) = (at..at, atom.span.start);
        }
        self.size = self.with(atom);
        self.has_header |= self.lacks_header(atom);
        self.range.end = at + 1;
    }

    /// Its size with one atom more.
    fn with(&self, atom: &Atom) -> usize {
        let header = if self.lacks_header(atom) { atom.header.map_or(0, |header| header.size) } else { 0 };
        self.size + header + atom.size
    }

    fn lacks_header(&self, atom: &Atom) -> bool {
        let start = if self.range.is_empty() { atom.span.start } else { self.start_byte };
        !self.has_header && atom.header.is_some_and(|header| header.span.start < start)
    }

    fn is_full(&self, atom: &Atom, sizes: Sizes) -> bool {
        if self.range.is_empty() {
            return false;
        }
        let with = self.with(atom);
        if with > sizes.target {
            return with > sizes.limit || self.size >= sizes.min();
        }
        self.size >= sizes.target / 2 && self.size + atom.block_size > sizes.target
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of chunks may hold one")]
mod tests {
    use super::*;
    use crate::{ingest::chunk::atom::Header, types::Span};

    const SIZES: Sizes = Sizes { target: 100, limit: 127, overlap: 0 };

    /// Atoms of the given blocks of sizes.
    fn blocks(blocks: &[&[usize]]) -> Vec<Atom> {
        let mut atoms = Vec::new();
        for block in blocks {
            for (at, &size) in block.iter().enumerate() {
                let start = atoms.len() * 10;
                let block_size = if at == 0 { block.iter().sum() } else { 0 };
                atoms.push(Atom { span: Span::new(start, start + 10), size, block_size, tally: None, header: None });
            }
        }
        atoms
    }

    #[test]
    fn chunks_are_near_the_target() {
        for (input, want) in [
            (&[][..], &[][..]),
            (&[&[30, 30, 30, 30, 30, 30][..]], &[0..3, 3..6]),
            (&[&[5], &[90], &[90]], &[0..2, 2..3]),
            (&[&[60], &[30, 30]], &[0..1, 1..3]),
            (&[&[45], &[30, 30]], &[0..3]),
            (&[&[45], &[30, 60]], &[0..2, 2..3]),
            (&[&[30], &[90]], &[0..2]),
            (&[&[30], &[110]], &[0..1, 1..2]),
            (&[&[90], &[20]], &[0..2]),
            (&[&[90], &[20, 20]], &[0..1, 1..3]),
            (&[&[120], &[20]], &[0..1, 1..2]),
        ] {
            assert_eq!(pack(&blocks(input), SIZES), want, "{input:?}");
        }
    }

    #[test]
    fn overlap_takes_whole_atoms() {
        let atoms = blocks(&[&[30, 30, 30, 30, 30, 30, 30]]);
        let with = |overlap| pack(&atoms, Sizes { overlap, ..SIZES });
        assert_eq!(with(0), [0..3, 3..7]);
        assert_eq!(with(29), [0..3, 3..7]);
        assert_eq!(with(30), [0..3, 2..5, 4..7]);
        assert_eq!(with(60), [0..3, 1..4, 2..5, 3..6, 4..7]);
    }

    #[test]
    fn a_repeated_header_counts() {
        let mut atoms = blocks(&[&[20], &[40, 40, 40, 40]]);
        for atom in &mut atoms[2..] {
            atom.header = Some(Header { span: Span::new(10, 20), size: 40 });
        }
        assert_eq!(pack(&atoms, SIZES), [0..3, 3..4, 4..5]);
    }
}
