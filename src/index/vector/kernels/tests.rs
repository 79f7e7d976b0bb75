//! Every set this CPU can run, the specification among them, against sums that are plainly right.
//!
//! `RAG_TEST_SETS` names the sets there must be: for the scripts that run this on emulated CPUs.

mod blocks;
mod code_rows;
mod encoding;
mod floats;

use super::*;

/// Numbers below 2²⁴, the same for a seed on every machine.
fn random(seed: u64) -> impl FnMut() -> u32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as u32
    }
}

/// From −1 to 1.
fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut next = random(seed);
    (0..count).map(|_| next() as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// From −127 to 127.
fn integers(seed: u64, count: usize) -> Vec<i8> {
    let mut next = random(seed);
    (0..count).map(|_| ((next() % 255) as i16 - 127) as i8).collect()
}

/// Equal to the last bit; but a value that is not a number may be any such value.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Values that are hard on sums, rounding and comparing.
const SPECIAL: [f32; 12] =
    [0.0, -0.0, 1e-45, -3e-39, 1.5, -2.5, 1e30, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

#[test]
fn the_first_set_is_plain_and_the_last_is_used() {
    let sets = available();
    assert_eq!(sets[0].name(), "scalar");
    assert_eq!(sets.last().unwrap().name(), best().name());
}

#[test]
fn the_sets_are_those_that_were_asked_for() {
    if let Ok(wanted) = std::env::var("RAG_TEST_SETS") {
        let names: Vec<_> = available().iter().map(Kernels::name).collect();
        assert_eq!(names.join(" "), wanted);
    }
}

#[test]
fn bytes_anywhere_can_be_fetched() {
    let bytes = values(1, 1000);
    let bytes: Vec<u8> = bytes.iter().flat_map(|value| value.to_le_bytes()).collect();
    for kernels in available() {
        for range in [0..0, 0..1, 3..200, 0..4000, 4000..4000] {
            kernels.fetch(&bytes[range]);
        }
    }
}
