//! The exit codes: a promise to scripts (README, "Exit codes").

use rag::types::Kind;

pub const OK: u8 = 0;
/// Ran well and the answer is no.
pub const NO: u8 = 1;
pub const USAGE: u8 = 2;
pub const SOME_FAILED: u8 = 3;
pub const UNSUPPORTED: u8 = 4;
pub const MODEL: u8 = 5;
pub const LOCKED: u8 = 6;
pub const DAMAGED: u8 = 7;
pub const IO: u8 = 8;
/// What Rust itself leaves with after a panic: a fault of ours.
pub const BUG: u8 = 101;
pub const INTERRUPTED: u8 = 130;

/// The one table from kinds of failure to exit codes.
pub fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Usage | Kind::NotFound => USAGE,
        Kind::Locked => LOCKED,
        Kind::Incompatible | Kind::Corrupt => DAMAGED,
        Kind::Io => IO,
        Kind::Model => MODEL,
        Kind::Cancelled => INTERRUPTED,
        Kind::Bug => BUG,
    }
}
