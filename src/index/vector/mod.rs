//! The vector core: rows of f32 in immutable, checksummed segments; exact search by dispatched kernels.
//! Imports nothing of ours: bytes come in from the caller (mapped or in memory) and go out as bytes.
//!
//! Useful for: dot products of one query with many rows, and the bytes of a segment. Not for: files, commits, texts.
//!
//! From bytes to answers: [`Segment`] and [`Tombstones`] read one file each, [`Toc`] says which belong together, [`Set`]
//! searches them as one. [`encode_segment`] and [`live_rows`] are the way back. `docs/format.md` has every byte.

#[cfg(target_endian = "big")]
compile_error!("the index maps little-endian numbers from disk as they are; big-endian machines are not supported");

mod bytes;
mod encode;
mod flat;
pub mod kernels;
mod layout;
mod metric;
mod segment;
mod set;
mod tiers;
mod toc;
mod tombstones;
mod top;

pub use bytes::{Bytes, Damage};
pub use encode::{NewRow, encode_segment, live_rows, merge, write_segment};
pub use layout::{MAX_DIM, MAX_ROWS};
pub use metric::dot;
pub use segment::Segment;
pub use set::Set;
pub use tiers::MAX_PARTS;
pub use toc::{FileEntry, MAX_ENTRIES, Toc, TocEntry, is_plain_name};
pub use tombstones::Tombstones;
