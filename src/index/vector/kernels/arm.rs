//! AArch64: NEON, and NEON with the dot product instruction (`sdot`, in most CPUs since 2018). Two tables, the second the
//! first with better integer kernels.
//!
//! As on x86-64, a row's f32 sums are added in an order that depends on the dimension alone, never on how many rows go
//! together. Accumulators are f32: a partial sum beyond ±3.4e38 becomes infinite, at any dim. Integer kernels state at each
//! narrow sum why it cannot overflow.
#![allow(unsafe_code)]
#![expect(clippy::needless_range_loop, reason = "rows and sums are the same registers in every line")]

use std::{
    arch::{aarch64::*, asm, is_aarch64_feature_detected},
    array,
};

use super::{BlockQuery, Kernels, Rows, scalar};
use crate::index::vector::codes::{self, BLOCK_ROWS, Bits};

/// How many rows of f32, rows of codes and blocks before they are needed they are fetched. As on x86-64, where they were
/// measured.
const AHEAD: usize = 4;
const CODES_AHEAD: usize = 8;
const BLOCKS_AHEAD: usize = 8;
const LINE: usize = 64;

pub(super) fn neon() -> Option<Kernels> {
    is_aarch64_feature_detected!("neon").then_some(Kernels {
        name: "neon",
        dot: |a, b| {
            // SAFETY: this table leaves the function only if neon was detected on this CPU.
            let [score] = unsafe { rows::<1, { term::DOT }>(a, [b]) };
            score
        },
        // SAFETY: as above, for all that follow.
        dot_rows: |query, rows, scores| unsafe { each_row::<{ term::DOT }>(query, rows, scores) },
        l2: |a, b| {
            // SAFETY: as above.
            let [distance] = unsafe { rows::<1, { term::L2 }>(a, [b]) };
            distance
        },
        // SAFETY: as above.
        l2_rows: |query, rows, distances| unsafe { each_row::<{ term::L2 }>(query, rows, distances) },
        code_rows: [
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::One as usize }, false>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Two as usize }, false>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Four as usize }, false>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Eight as usize }, false>(query, rows, ids, sums) },
        ],
        // SAFETY: as above.
        blocks: |query, bytes, bar, scores, hits| unsafe { blocks::<false>(query, bytes, bar, scores, hits) },
        // NEON is what compilers use for plain Rust on this target.
        rotate: scalar::rotate,
        grid: scalar::grid,
        round: scalar::round,
        fetch: |bytes| fetch_bytes(bytes.as_ptr(), bytes.len()),
        scan_ns_per_value: 0.012,
    })
}

pub(super) fn dotprod() -> Option<Kernels> {
    if !is_aarch64_feature_detected!("dotprod") {
        return None;
    }
    Some(Kernels {
        name: "dotprod",
        code_rows: [
            // SAFETY: this table leaves the function only if neon and dotprod were detected on this CPU.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::One as usize }, true>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Two as usize }, true>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Four as usize }, true>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Eight as usize }, true>(query, rows, ids, sums) },
        ],
        // SAFETY: as above.
        blocks: |query, bytes, bar, scores, hits| unsafe { blocks::<true>(query, bytes, bar, scores, hits) },
        scan_ns_per_value: 0.006,
        ..neon()?
    })
}

/// What the f32 kernels add up.
mod term {
    pub const DOT: u8 = 0;
    pub const L2: u8 = 1;
}

/// Four rows a turn: a value of the query is loaded once for all, and 16 sums leave half of the registers.
#[target_feature(enable = "neon")]
fn each_row<const TERM: u8>(query: &[f32], all: &[f32], scores: &mut [f32]) {
    const GROUP: usize = 4;
    let row = |row: usize| &all[row * query.len()..][..query.len()];
    let (groups, rest) = scores.as_chunks_mut::<GROUP>();
    let rest_from = GROUP * groups.len();
    for (index, scores) in groups.iter_mut().enumerate() {
        *scores = rows::<GROUP, TERM>(query, array::from_fn(|within| row(GROUP * index + within)));
    }
    for (index, score) in rest.iter_mut().enumerate() {
        [*score] = rows::<1, TERM>(query, [row(rest_from + index)]);
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn rows<const ROWS: usize, const TERM: u8>(query: &[f32], rows: [&[f32]; ROWS]) -> [f32; ROWS] {
    const LANES: usize = 4;
    /// Sums a row: enough that an addition need not wait for the one before.
    const SUMS: usize = 4;
    let dim = query.len();
    for row in rows {
        assert_eq!(row.len(), dim, "length of a row");
    }
    // SAFETY: callers pass `at` with `at + LANES <= values.len()`.
    let load = |values: &[f32], at: usize| unsafe { vld1q_f32(values.as_ptr().add(at)) };
    let mut sums = [[vdupq_n_f32(0.0); SUMS]; ROWS];
    let mut at = 0;
    while at + SUMS * LANES <= dim {
        for row in 0..ROWS {
            // A turn is a line of each row.
            if ROWS > 1 {
                fetch_line(rows[row].as_ptr().wrapping_add(at + AHEAD * dim).cast());
            }
        }
        for sum in 0..SUMS {
            let values = load(query, at + sum * LANES);
            for row in 0..ROWS {
                sums[row][sum] = add_term::<TERM>(values, load(rows[row], at + sum * LANES), sums[row][sum]);
            }
        }
        at += SUMS * LANES;
    }
    while at + LANES <= dim {
        let values = load(query, at);
        for row in 0..ROWS {
            sums[row][0] = add_term::<TERM>(values, load(rows[row], at), sums[row][0]);
        }
        at += LANES;
    }
    if at < dim {
        // A rest shorter than a register is moved to one that is zero elsewhere.
        let padded = |values: &[f32]| {
            let mut lanes = [0.0; LANES];
            lanes[..dim - at].copy_from_slice(&values[at..]);
            load(&lanes, 0)
        };
        let values = padded(query);
        for row in 0..ROWS {
            sums[row][1] = add_term::<TERM>(values, padded(rows[row]), sums[row][1]);
        }
    }
    sums.map(|[a, b, c, d]| vaddvq_f32(vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d))))
}

#[target_feature(enable = "neon")]
#[inline]
fn add_term<const TERM: u8>(query: float32x4_t, row: float32x4_t, sum: float32x4_t) -> float32x4_t {
    if TERM == term::L2 {
        let difference = vsubq_f32(query, row);
        vfmaq_f32(sum, difference, difference)
    } else {
        vfmaq_f32(sum, query, row)
    }
}

/// # Safety
/// If `DOT`, the CPU has dotprod.
#[target_feature(enable = "neon")]
unsafe fn code_rows<const BITS: usize, const DOT: bool>(query: &[i8], rows: Rows<'_>, ids: &[u32], sums: &mut [i32]) {
    let start = |id: u32| rows.bytes.as_ptr().wrapping_add(id as usize * rows.stride);
    let row_bytes = Bits::ALL[BITS].row_bytes(query.len());
    ids.iter().take(CODES_AHEAD).for_each(|&id| fetch_bytes(start(id), row_bytes));
    for (at, (&id, sum)) in ids.iter().zip(sums).enumerate() {
        if let Some(&id) = ids.get(at + CODES_AHEAD) {
            fetch_bytes(start(id), row_bytes);
        }
        // SAFETY: the wrapper has checked that `row_bytes` bytes of every row lie within the slice, and that the query is
        // whole blocks; the caller, that there is dotprod.
        let [a, b] = unsafe {
            match Bits::ALL[BITS] {
                Bits::One => one::<DOT>(query, start(id)),
                Bits::Two => two::<DOT>(query, start(id)),
                Bits::Four => four::<DOT>(query, start(id)),
                Bits::Eight => eight::<DOT>(query, start(id)),
            }
        };
        *sum = vaddvq_s32(vaddq_s32(a, b));
    }
}

/// Adds 16 codes times 16 values, each from −127 to 127, to a sum. Which lane gets which product is open.
///
/// # Safety
/// If `DOT`, the CPU has dotprod.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn add_products<const DOT: bool>(sum: int32x4_t, codes: int8x16_t, values: int8x16_t) -> int32x4_t {
    if DOT {
        // SAFETY: by the contract.
        unsafe { sdot(sum, codes, values) }
    } else {
        // Two products to an i16: at most 2 × 127 × 127 = 32,258.
        let products = vmull_s8(vget_low_s8(codes), vget_low_s8(values));
        vpadalq_s16(sum, vmlal_high_s8(products, codes, values))
    }
}

/// Adds products of four neighbours to each lane. The intrinsic for it, `vdotq_s32`, is not stable yet.
///
/// # Safety
/// The CPU has dotprod.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn sdot(mut sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
    // SAFETY: the instruction works on these three registers and nothing else; that the CPU has it is the contract.
    unsafe {
        asm!(
            ".arch_extension dotprod",
            "sdot {sum:v}.4s, {a:v}.16b, {b:v}.16b",
            sum = inout(vreg) sum, a = in(vreg) a, b = in(vreg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

/// # Safety
/// 16 values of `query` stand from `at` on.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn values(query: &[i8], at: usize) -> int8x16_t {
    // SAFETY: by the contract.
    unsafe { vld1q_s8(query.as_ptr().add(at)) }
}

/// # Safety
/// `query` is whole blocks, and as many bytes as its blocks have can be read at `codes`. If `DOT`, the CPU has dotprod. So
/// for the three that follow.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn one<const DOT: bool>(query: &[i8], codes: *const u8) -> [int32x4_t; 2] {
    // Byte i of a register gets byte i / 8 of two, and keeps bit i mod 8.
    let bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    let mut sums = [vdupq_n_s32(0); 2];
    for block in 0..query.len() / 64 {
        for part in 0..4 {
            // SAFETY: by the contract.
            unsafe {
                let bytes = codes.add(8 * block + 2 * part);
                let set = vtstq_u8(vcombine_u8(vdup_n_u8(*bytes), vdup_n_u8(*bytes.add(1))), bit);
                let chosen = vandq_s8(vreinterpretq_s8_u8(set), values(query, 64 * block + 16 * part));
                sums[part % 2] = add_products::<DOT>(sums[part % 2], chosen, vdupq_n_s8(1));
            }
        }
    }
    sums
}

#[target_feature(enable = "neon")]
#[inline]
unsafe fn two<const DOT: bool>(query: &[i8], codes: *const u8) -> [int32x4_t; 2] {
    let mask = vdupq_n_u8(3);
    let mut sums = [vdupq_n_s32(0); 2];
    for block in 0..query.len() / 128 {
        for half in 0..2 {
            // SAFETY: by the contract; of the 128 values of a block, those of a half and a pair of bits are 16 neighbours.
            unsafe {
                let bytes = vld1q_u8(codes.add(32 * block + 16 * half));
                let fields = [
                    vandq_u8(bytes, mask),
                    vandq_u8(vshrq_n_u8::<2>(bytes), mask),
                    vandq_u8(vshrq_n_u8::<4>(bytes), mask),
                    vshrq_n_u8::<6>(bytes),
                ];
                for part in 0..4 {
                    let values = values(query, 128 * block + 32 * part + 16 * half);
                    sums[half] = add_products::<DOT>(sums[half], vreinterpretq_s8_u8(fields[part]), values);
                }
            }
        }
    }
    sums
}

#[target_feature(enable = "neon")]
#[inline]
unsafe fn four<const DOT: bool>(query: &[i8], codes: *const u8) -> [int32x4_t; 2] {
    let mut sums = [vdupq_n_s32(0); 2];
    for block in 0..query.len() / 64 {
        for half in 0..2 {
            // SAFETY: by the contract; of the 64 values of a block, those of a half and four bits are 16 neighbours.
            unsafe {
                let bytes = vld1q_u8(codes.add(32 * block + 16 * half));
                let fields = [vandq_u8(bytes, vdupq_n_u8(15)), vshrq_n_u8::<4>(bytes)];
                for part in 0..2 {
                    let values = values(query, 64 * block + 32 * part + 16 * half);
                    sums[half] = add_products::<DOT>(sums[half], vreinterpretq_s8_u8(fields[part]), values);
                }
            }
        }
    }
    sums
}

#[target_feature(enable = "neon")]
#[inline]
unsafe fn eight<const DOT: bool>(query: &[i8], codes: *const u8) -> [int32x4_t; 2] {
    let mut sums = [vdupq_n_s32(0); 2];
    for block in 0..query.len() / 64 {
        for part in 0..4 {
            let at = 64 * block + 16 * part;
            // SAFETY: by the contract.
            unsafe {
                let codes = vreinterpretq_s8_u8(vld1q_u8(codes.add(at)));
                sums[part % 2] = add_products::<DOT>(sums[part % 2], codes, values(query, at));
            }
        }
    }
    sums
}

/// Four rows a register.
const GROUPS: usize = BLOCK_ROWS / 4;

/// # Safety
/// If `DOT`, the CPU has dotprod.
#[target_feature(enable = "neon")]
unsafe fn blocks<const DOT: bool>(
    query: &BlockQuery<'_>,
    blocks: &[u8],
    bar: f32,
    scores: &mut [f32],
    hits: &mut [u16],
) {
    let block_bytes = codes::block_bytes(query.values.len());
    let code_bytes = codes::block_code_bytes(query.values.len());
    let (scale, offset) = (vdupq_n_f32(query.scale), vdupq_n_f32(query.offset));
    let (lean, base, bar) = (vdupq_n_f32(query.lean), vdupq_n_f32(query.base), vdupq_n_f32(bar));
    // SAFETY: four numbers of 4 bytes are a register.
    let bits = unsafe { vld1q_u32([1, 2, 4, 8].as_ptr()) };
    let each = blocks.chunks_exact(block_bytes).zip(scores.chunks_exact_mut(BLOCK_ROWS)).zip(hits);
    for ((block, scores), hits) in each {
        let sums = if DOT {
            // SAFETY: by the contract.
            unsafe { block_sums_dotprod(query.values, block) }
        } else {
            block_sums(query.values, block)
        };
        *hits = 0;
        for group in 0..GROUPS {
            // SAFETY: behind the codes of a block stand 16 factors and 16 biases of 4 bytes; a group is 4 of each.
            let (factor, bias) = unsafe {
                let terms = block.as_ptr().add(code_bytes + 16 * group).cast::<f32>();
                (vld1q_f32(terms), vld1q_f32(terms.add(BLOCK_ROWS)))
            };
            let sum = vaddq_f32(vmulq_f32(vcvtq_f32_s32(sums[group]), scale), offset);
            let score = vaddq_f32(vmulq_f32(factor, sum), vmulq_f32(bias, lean));
            let score = vaddq_f32(score, base);
            // SAFETY: `scores` are 16 values.
            unsafe { vst1q_f32(scores.as_mut_ptr().add(4 * group), score) };
            let good = vaddvq_u32(vandq_u32(vcgeq_f32(score, bar), bits));
            *hits |= (good as u16) << (4 * group);
        }
    }
}

/// The four words of a line of a query, four values each.
#[target_feature(enable = "neon")]
#[inline]
fn words(query: &[i8], line: usize) -> [u32; 4] {
    // SAFETY: `query` is whole lines of 16 values; the reads need not be aligned.
    array::from_fn(|part| unsafe { query.as_ptr().add(16 * line + 4 * part).cast::<u32>().read_unaligned() })
}

/// Fields stay where they are in their bytes but for the highest, which would be a sign: those of pair of bits j < 3 count
/// 4ʲ times. 48 × 127 × 4 × lines fits i32.
///
/// # Safety
/// The CPU has dotprod.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn block_sums_dotprod(query: &[i8], block: &[u8]) -> [int32x4_t; GROUPS] {
    let masks = [3, 12, 48].map(|mask| vdupq_n_u8(mask));
    let mut sums = [[vdupq_n_s32(0); 3]; GROUPS];
    for line in 0..query.len() / 16 {
        let words = words(query, line).map(|word| vreinterpretq_s8_u32(vdupq_n_u32(word)));
        let start = block.as_ptr().wrapping_add(64 * line);
        fetch_line(start.wrapping_add(BLOCKS_AHEAD * block.len()));
        for group in 0..GROUPS {
            // SAFETY: a block has 64 bytes for each line of the query, a group has 16; there is dotprod by the contract.
            unsafe {
                let bytes = vld1q_u8(start.add(16 * group));
                let [a, b, c] = masks.map(|mask| vreinterpretq_s8_u8(vandq_u8(bytes, mask)));
                let d = vreinterpretq_s8_u8(vshrq_n_u8::<6>(bytes));
                let [plain, fourfold, sixteenfold] = &mut sums[group];
                *plain = sdot(sdot(*plain, a, words[0]), d, words[3]);
                *fourfold = sdot(*fourfold, b, words[1]);
                *sixteenfold = sdot(*sixteenfold, c, words[2]);
            }
        }
    }
    sums.map(|[a, b, c]| vaddq_s32(a, vaddq_s32(vshrq_n_s32::<2>(b), vshrq_n_s32::<4>(c))))
}

#[target_feature(enable = "neon")]
#[inline]
fn block_sums(query: &[i8], block: &[u8]) -> [int32x4_t; GROUPS] {
    /// A line adds four products of at most 3 × 127 to an i16: 21 make 32,004.
    const LINES: usize = 21;
    let mask = vdupq_n_u8(3);
    let mut sums = [vdupq_n_s32(0); GROUPS];
    let lines = query.len() / 16;
    let mut line = 0;
    while line < lines {
        let end = lines.min(line + LINES);
        // Of two rows each: a row has four neighbouring lanes.
        let mut pairs = [[vdupq_n_s16(0); 2]; GROUPS];
        while line < end {
            let words = words(query, line).map(|word| vreinterpretq_s8_u32(vdupq_n_u32(word)));
            let start = block.as_ptr().wrapping_add(64 * line);
            fetch_line(start.wrapping_add(BLOCKS_AHEAD * block.len()));
            for group in 0..GROUPS {
                // SAFETY: a block has 64 bytes for each line of the query; a group has 16.
                let bytes = unsafe { vld1q_u8(start.add(16 * group)) };
                let fields = [
                    vandq_u8(bytes, mask),
                    vandq_u8(vshrq_n_u8::<2>(bytes), mask),
                    vandq_u8(vshrq_n_u8::<4>(bytes), mask),
                    vshrq_n_u8::<6>(bytes),
                ];
                let [low, high] = &mut pairs[group];
                for part in 0..4 {
                    let codes = vreinterpretq_s8_u8(fields[part]);
                    *low = vmlal_s8(*low, vget_low_s8(codes), vget_low_s8(words[part]));
                    *high = vmlal_high_s8(*high, codes, words[part]);
                }
            }
            line += 1;
        }
        for group in 0..GROUPS {
            // Widened before they are added: two lanes of 32,004 would not fit.
            let [low, high] = pairs[group].map(|pairs| vpaddlq_s16(pairs));
            sums[group] = vaddq_s32(sums[group], vpaddq_s32(low, high));
        }
    }
    sums
}

#[inline(always)]
fn fetch_line(at: *const u8) {
    // SAFETY: a prefetch reads nothing and cannot fault, wherever it points.
    unsafe { asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, readonly, preserves_flags)) }
}

#[inline(always)]
fn fetch_bytes(at: *const u8, bytes: usize) {
    let mut line = 0;
    while line < bytes {
        fetch_line(at.wrapping_add(line));
        line += LINE;
    }
}
