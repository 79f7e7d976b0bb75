//! Rows for tests: the same for a seed on every machine.

use std::sync::Arc;

use super::{NewRow, Segment, SegmentOptions, Set, Tombstones, encode_segment, quant::splitmix};

/// Numbers from a seed.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed << 32)
    }

    pub fn next(&mut self) -> u64 {
        self.0 += 1;
        splitmix(self.0)
    }

    /// Less than `most`.
    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    /// From 0 to 1.
    pub fn share(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// Nearly normal, of deviation 1.
    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.share()).sum::<f32>() - 6.0
    }
}

/// Rows around some centres that lie away from the origin, as embeddings do.
pub(super) fn clustered(seed: u64, rows: usize, dim: usize) -> Vec<Vec<f32>> {
    let mut random = Random::new(99);
    let centres: Vec<Vec<f32>> = (0..20).map(|_| (0..dim).map(|_| 0.5 + random.normal()).collect()).collect();
    let mut random = Random::new(seed);
    let row = |random: &mut Random| {
        let centre = &centres[random.below(centres.len())];
        centre.iter().map(|value| value + random.normal()).collect()
    };
    (0..rows).map(|_| row(&mut random)).collect()
}

/// Ids are the places.
pub(super) fn segment(rows: &[Vec<f32>], options: &SegmentOptions) -> Segment {
    let dim = rows.first().map_or(1, Vec::len);
    let new: Vec<_> = (0..).zip(rows).map(|(id, row)| NewRow { id, hash: [0; 16], vector: row }).collect();
    Segment::open(Arc::new(encode_segment(dim, &new, options))).unwrap()
}

pub(super) fn set(rows: &[Vec<f32>], options: &SegmentOptions) -> Set {
    Set::new(rows.first().map_or(1, Vec::len), vec![(segment(rows, options), Tombstones::default())])
}
