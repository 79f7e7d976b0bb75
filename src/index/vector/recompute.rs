//! Whether the codes of a segment are those of its rows.

use super::{
    blocks,
    bytes::Damage,
    codes::BLOCK_ROWS,
    kernels, parallel,
    quant::{self, Encoder, Rotation},
    segment::Segment,
};

/// Processors round differently, and a value near the border of two codes may fall on either side: of so many codes one may
/// differ.
const CODES_A_DIFFERENCE: usize = 200;
/// By how much a number beside the codes, or of the centre, may differ, relative to the largest of its kind.
const TOLERANCE: f32 = 1e-3;

impl Segment {
    /// Makes centre and two-bit codes of the rows anew and compares. Nothing to do in a segment without codes. Holds all
    /// rows and codes in memory. O(rows × dim), as encoding is.
    pub fn verify_recomputed(&self) -> Result<(), Damage> {
        let Some(codes) = self.codes() else { return Ok(()) };
        let mut room = Vec::new();
        let rows: Vec<&[f32]> = match self.len() {
            0 => return Ok(()),
            count => self.rows(0..count, &mut room).chunks_exact(self.dim()).collect(),
        };
        let (kernels, rotation) = (kernels::best(), Rotation::new(self.dim()));
        let centre = quant::centre(kernels, self.metric(), &rotation, &rows);
        let damage = |what: String| Err(Damage::new(0, what));
        if !near(&centre, codes.centre) {
            return damage("the centre is not that of the rows".to_owned());
        }
        let encoder = Encoder { kernels, metric: self.metric(), rotation: &rotation, centre: codes.centre };
        let made = blocks::encode(&encoder, &rows, parallel::threads(0));
        if made.len() != codes.blocks.len() {
            return damage(format!("{} bytes of codes, {} expected", codes.blocks.len(), made.len()));
        }
        // Of a block the codes come first, then two numbers a row.
        let numbers = 2 * 4 * BLOCK_ROWS;
        let block = made.len() / self.len().div_ceil(BLOCK_ROWS);
        let (mut differ, mut far) = (0, 0);
        for (made, found) in made.chunks_exact(block).zip(codes.blocks.chunks_exact(block)) {
            let (made_codes, made_numbers) = made.split_at(block - numbers);
            let (found_codes, found_numbers) = found.split_at(block - numbers);
            differ += made_codes.iter().zip(found_codes).map(|(a, b)| different_codes(*a, *b)).sum::<usize>();
            far += usize::from(!near(&floats(made_numbers), &floats(found_numbers)));
        }
        if differ * CODES_A_DIFFERENCE > self.len() * self.dim() {
            return damage(format!("{differ} codes are not those of the rows"));
        }
        // A code that fell on the other side of its border moves the numbers of its row.
        if far * 8 > self.len().div_ceil(BLOCK_ROWS).max(8) {
            return damage(format!("numbers beside the codes of {far} blocks are not those of the rows"));
        }
        Ok(())
    }
}

/// How many of the four codes of a byte differ.
fn different_codes(a: u8, b: u8) -> usize {
    let differ = a ^ b;
    (0..4).filter(|code| differ >> (2 * code) & 3 != 0).count()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

fn near(a: &[f32], b: &[f32]) -> bool {
    let largest = a.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= TOLERANCE * largest.max(f32::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::index::vector::{Metric, NewRow, SegmentOptions, encode_segment};

    fn bytes(codes_of: impl Fn(usize) -> f32) -> Vec<u8> {
        let vectors: Vec<Vec<f32>> = (0..300)
            .map(|row: usize| {
                (0..48).map(|at: usize| ((row * 31 + at * 17) % 29) as f32 - 14.0 + codes_of(row)).collect()
            })
            .collect();
        let rows: Vec<NewRow<'_>> =
            (0..).zip(&vectors).map(|(id, vector)| NewRow { id, hash: [0; 16], vector }).collect();
        encode_segment(48, &rows, &SegmentOptions { codes_from: 1, metric: Metric::Dot, ..SegmentOptions::default() })
    }

    #[test]
    fn codes_of_other_rows_are_found_out() {
        let segment = Segment::open(Arc::new(bytes(|_| 0.0))).unwrap();
        assert_eq!(segment.verify_recomputed(), Ok(()));
        // The same file with the codes of other rows: every row apart is sound.
        let (one, other) = (bytes(|_| 0.0), bytes(|row| if row % 2 == 0 { 5.0 } else { -5.0 }));
        let codes = {
            let other = Segment::open(Arc::new(other)).unwrap();
            other.codes().unwrap().blocks.to_vec()
        };
        let mut mixed = one.clone();
        let own = segment.codes().unwrap().blocks.to_vec();
        let at = one.windows(own.len()).position(|window| window == own).unwrap();
        mixed[at..at + codes.len()].copy_from_slice(&codes);
        let mixed = Segment::open(Arc::new(mixed)).unwrap();
        assert!(mixed.verify_recomputed().unwrap_err().to_string().contains("codes"));
    }
}
