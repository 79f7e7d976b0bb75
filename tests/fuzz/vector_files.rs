//! Any bytes as the files of the vector core: a clear refusal or an answer, never a panic, and no memory by what they say.

use std::sync::{Arc, LazyLock};

use rag::index::vector::{
    Effort, NewRow, Scratch, Search, Segment, SegmentOptions, Set, Toc, Tombstones, encode_segment,
};

/// A sound segment with codes and a graph: what the bytes are laid over, so that headers are passed more often.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let vectors: Vec<[f32; 8]> =
        (0..100_u16).map(|row| std::array::from_fn(|at| f32::from(row * 7 % 31) + at as f32)).collect();
    let rows: Vec<NewRow<'_>> = (0..).zip(&vectors).map(|(id, vector)| NewRow { id, hash: [0; 16], vector }).collect();
    encode_segment(8, &rows, &SegmentOptions { codes_from: 1, graph_from: 1, threads: 1, ..SegmentOptions::default() })
});

fn search(bytes: Vec<u8>) {
    let Ok(segment) = Segment::open(Arc::new(bytes)) else { return };
    let _ = segment.verify();
    let dim = segment.dim();
    if dim > 1 << 12 {
        return;
    }
    let set = Set::new(dim, vec![(segment, Tombstones::default())]);
    let mut hits = Vec::new();
    for effort in [Effort::Exact, Effort::Flat, Effort::Walk { ef: 20, slack: 0.1 }, Effort::default()] {
        let search = Search { effort, ..Search::new(5, None) };
        set.search_with(&mut Scratch::default(), &vec![0.5; dim], &search, &mut hits);
    }
}

pub fn run(bytes: &[u8]) {
    let _ = Toc::decode(bytes);
    let _ = Tombstones::decode(bytes, 1000);
    search(bytes.to_vec());
    // Two bytes say where, the others what.
    if let [low, high, change @ ..] = bytes {
        let mut damaged = SOUND.clone();
        let at = usize::from(u16::from_le_bytes([*low, *high])) % damaged.len();
        let end = damaged.len().min(at + change.len());
        damaged[at..end].copy_from_slice(&change[..end - at]);
        // The header's checksum made right again: what stands behind it is to be looked at.
        let table = 64 + 32 * usize::from(damaged[10]);
        if table <= damaged.len() {
            let checksum = crc32(&[&damaged[..60], &damaged[64..table]].concat());
            damaged[60..64].copy_from_slice(&checksum.to_le_bytes());
        }
        search(damaged);
    }
}

/// CRC-32C, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
