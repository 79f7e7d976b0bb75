//! The vector core: rows in immutable, checksummed segments, with codes of two bits to scan and graphs to walk, searched by
//! dispatched kernels. Imports nothing of ours: bytes come in from the caller (mapped or in memory) and go out as bytes.
//!
//! Useful for: the nearest of up to 2³² vectors by inner product, distance or cosine, with filters, on its own. Not for:
//! files, commits, texts.
//!
//! From bytes to answers: [`Segment`] and [`Tombstones`] read one file each, [`Toc`] says which belong together, [`Set`]
//! searches them as one. [`encode_segment`] and [`LiveRows`] are the way back. `docs/format.md` has every byte,
//! `docs/vectors.md` what was measured.
//!
//! Build, search, filter, delete, merge:
//!
//! ```
//! use std::sync::Arc;
//! use rag::index::vector::{
//!     Effort, Metric, NewRow, Scratch, Search, Segment, SegmentOptions, Set, Tombstones, encode_segment, merge,
//! };
//!
//! let vectors: Vec<[f32; 4]> = (0..5000_u16).map(|i| [1.0, f32::from(i % 71), f32::from(i % 89), f32::from(i)]).collect();
//! let rows: Vec<NewRow<'_>> =
//!     (0..).zip(&vectors).map(|(id, vector)| NewRow { id, hash: [0; 16], vector }).collect();
//! let options = SegmentOptions { metric: Metric::L2, graph_from: 4000, ..SegmentOptions::default() };
//!
//! // The bytes are a file as it is: write them, map them, and open what was mapped.
//! let bytes = encode_segment(4, &rows, &options);
//! let segment = Segment::open(Arc::new(bytes))?;
//! let set = Set::new(4, vec![(segment.clone(), Tombstones::default())]);
//! let nearest = set.search(&vectors[7], 3, None);
//! assert_eq!(nearest[0], (7, 0.0));
//!
//! // Only these ids; nothing may be missed; and with buffers of its own a search allocates nothing.
//! let search = Search { effort: Effort::Exact, ..Search::new(3, Some(&[5, 9, 4000])) };
//! let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
//! set.search_with(&mut scratch, &vectors[7], &search, &mut hits);
//! assert_eq!(hits.iter().map(|hit| hit.0).collect::<Vec<_>>(), [5, 9, 4000]);
//!
//! // A deleted row is a bit beside the segment, until a merge leaves it out.
//! let mut deleted = Tombstones::default();
//! deleted.insert(segment.find_id(7).expect("it was put in"));
//! let merged = merge(&[(&segment, &deleted)], &options)?.expect("rows are left");
//! assert_eq!(Segment::open(Arc::new(merged))?.find_id(7), None);
//! # Ok::<(), rag::index::vector::Damage>(())
//! ```

#[cfg(target_endian = "big")]
compile_error!("the index maps little-endian numbers from disk as they are; big-endian machines are not supported");

mod ask;
mod blocks;
mod bytes;
mod codes;
mod encode;
mod flat;
mod hnsw;
mod input;
pub mod kernels;
mod layout;
mod metric;
mod parallel;
mod plan;
mod proof;
mod quant;
mod recompute;
mod search;
mod segment;
mod set;
mod shortlist;
#[cfg(test)]
mod testing;
mod tiers;
mod toc;
mod tombstones;
mod top;

pub use bytes::{Bytes, Damage};
pub use codes::Bits;
pub use encode::{LiveRows, NewRow, SegmentOptions, encode_segment, merge, write_segment};
pub use hnsw::GraphOptions;
pub use input::{BadInput, check_rows};
pub use layout::{MAX_DIM, MAX_ROWS};
pub use metric::{Metric, dot};
pub use search::{Effort, Scratch, Search, Work};
pub use segment::{RowFormat, Segment};
pub use set::Set;
pub use tiers::MAX_PARTS;
pub use toc::{FileEntry, MAX_ENTRIES, Toc, TocEntry, is_plain_name};
pub use tombstones::Tombstones;
