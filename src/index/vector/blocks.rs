//! Blocks of 16 rows of two-bit codes: made from rows, and scanned.
//!
//! Useful for: a score that is nearly right for every row that counts, in a hundredth of the time of rows from memory. Not
//! for: the last word (see [`ask`](super::ask)).

use super::{
    codes::{self, BLOCK_ROWS, Bits},
    kernels::{BlockQuery, Kernels},
    parallel::for_each_chunk,
    quant::Encoder,
};

/// Blocks that go to the kernel at once: 256 rows.
const RUN: usize = 16;
/// Blocks of a word of 64 rows.
const WORD_BLOCKS: usize = 64 / BLOCK_ROWS;

/// The section of blocks for these rows. What the last block has beyond the rows is zero.
pub(super) fn encode(encoder: &Encoder<'_>, rows: &[&[f32]], threads: usize) -> Vec<u8> {
    const TURN: usize = 64;
    let dim = encoder.centre.len();
    let block_bytes = codes::block_bytes(dim);
    let mut blocks = vec![0; rows.len().div_ceil(BLOCK_ROWS) * block_bytes];
    let buffers = || (vec![0.0; dim], vec![0; dim]);
    for_each_chunk(threads, &mut blocks, TURN * block_bytes, buffers, |(residual, values), first, bytes| {
        let from = first / block_bytes * BLOCK_ROWS;
        for (rows, block) in rows[from..].chunks(BLOCK_ROWS).zip(bytes.chunks_exact_mut(block_bytes)) {
            for (at, row) in rows.iter().enumerate() {
                encoder.residual(row, residual);
                let terms = encoder.encode(Bits::Two, residual, values);
                codes::pack_block_row(at, values, terms.factor, terms.bias, block);
            }
        }
    });
    blocks
}

/// Room for the scores of a run.
pub(super) struct Scores {
    scores: [f32; RUN * BLOCK_ROWS],
    hits: [u16; RUN],
}

impl Default for Scores {
    fn default() -> Self {
        Self { scores: [0.0; RUN * BLOCK_ROWS], hits: [0; RUN] }
    }
}

/// Scores the rows whose bit is set: `wanted(i)` has the bits of rows 64 × i to 64 × i + 63. `offer` gets row,
/// factor and score of those that reach the bar and gives the next bar; an infinite one ends the scan. Returns how many rows were scored: whole runs of blocks are, where one row of them counts.
pub(super) fn scan(
    kernels: &Kernels,
    query: &BlockQuery<'_>,
    (blocks, rows): (&[u8], usize),
    room: &mut Scores,
    wanted: impl Fn(usize) -> u64,
    mut bar: f32,
    mut offer: impl FnMut(usize, f32, f32) -> f32,
) -> usize {
    let block_bytes = codes::block_bytes(query.values.len());
    let words = rows.div_ceil(64);
    let wanted = |word: usize| match rows - 64 * word {
        left @ ..64 => wanted(word) & !(u64::MAX << left),
        _ => wanted(word),
    };
    let (mut word, mut scored) = (0, 0);
    while word < words {
        if wanted(word) == 0 {
            word += 1;
            continue;
        }
        let mut end = word + 1;
        while end < words && end - word < RUN / WORD_BLOCKS && wanted(end) != 0 {
            end += 1;
        }
        let first = word * WORD_BLOCKS;
        let count = (rows.div_ceil(BLOCK_ROWS) - first).min((end - word) * WORD_BLOCKS);
        let bytes = &blocks[first * block_bytes..][..count * block_bytes];
        let (scores, hits) = (&mut room.scores[..count * BLOCK_ROWS], &mut room.hits[..count]);
        kernels.blocks(query, bytes, bar, scores, hits);
        scored += count * BLOCK_ROWS;
        for (within, hits) in hits.iter().enumerate() {
            if *hits == 0 {
                continue;
            }
            let bits = wanted(word + within / WORD_BLOCKS) >> (within % WORD_BLOCKS * BLOCK_ROWS);
            let mut good = *hits & bits as u16;
            let (factors, _) = codes::block_terms(&bytes[within * block_bytes..][..block_bytes]);
            while good != 0 {
                let row = good.trailing_zeros() as usize;
                good &= good - 1;
                let at = within * BLOCK_ROWS + row;
                bar = offer(first * BLOCK_ROWS + at, factors[row], scores[at]);
            }
        }
        if bar == f32::INFINITY {
            break;
        }
        word = end;
    }
    scored
}
