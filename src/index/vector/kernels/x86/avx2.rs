//! AVX2 with FMA: 8 values of f32, 32 codes of a byte.
//!
//! Codes are unsigned bytes and the query signed ones, which is what `maddubs` multiplies: pairs of products add up in i16.
#![expect(clippy::needless_range_loop, reason = "rows and sums are the same registers in every line")]

use std::arch::x86_64::*;

use super::{
    super::{BlockQuery, Kernels, Rows, scalar},
    BLOCKS_AHEAD, CODES_AHEAD, SUMS, fetch, fetch_ahead, fetch_bytes, fetch_line, group, term,
};
use crate::index::vector::codes::{self, BLOCK_ROWS, Bits};

pub(in super::super) fn avx2() -> Option<Kernels> {
    let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    has.then_some(Kernels {
        name: "avx2",
        dot: |a, b| {
            // SAFETY: this table leaves the function only if avx2 and fma were detected on this CPU.
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
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::One as usize }>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Two as usize }>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Four as usize }>(query, rows, ids, sums) },
            // SAFETY: as above.
            |query, rows, ids, sums| unsafe { code_rows::<{ Bits::Eight as usize }>(query, rows, ids, sums) },
        ],
        // SAFETY: as above.
        blocks: |query, bytes, bar, scores, hits| unsafe { blocks(query, bytes, bar, scores, hits) },
        // SAFETY: as above.
        rotate: |signs, window, values| unsafe { rotate(signs, window, values) },
        // SAFETY: as above.
        grid: |bits, scale, values, codes| unsafe { grid(bits, scale, values, codes) },
        // SAFETY: as above.
        round: |values, rounded| unsafe { round(values, rounded) },
        fetch,
        scan_ns_per_value: 0.009,
    })
}

#[target_feature(enable = "avx2,fma")]
fn each_row<const TERM: u8>(query: &[f32], all: &[f32], scores: &mut [f32]) {
    let (groups, rest) = scores.as_chunks_mut::<2>();
    let rest_from = 2 * groups.len();
    for (index, scores) in groups.iter_mut().enumerate() {
        *scores = rows::<2, TERM>(query, group(all, query.len(), 2 * index));
    }
    for (index, score) in rest.iter_mut().enumerate() {
        [*score] = rows::<1, TERM>(query, group(all, query.len(), rest_from + index));
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn rows<const ROWS: usize, const TERM: u8>(query: &[f32], rows: [&[f32]; ROWS]) -> [f32; ROWS] {
    const LANES: usize = 8;
    let dim = query.len();
    for row in rows {
        assert_eq!(row.len(), dim, "length of a row");
    }
    // SAFETY: callers pass `at` with `at + LANES <= values.len()`.
    let load = |values: &[f32], at: usize| unsafe { _mm256_loadu_ps(values.as_ptr().add(at)) };
    let mut sums = [[_mm256_setzero_ps(); SUMS]; ROWS];
    let mut at = 0;
    while at + SUMS * LANES <= dim {
        for sum in 0..SUMS {
            let values = load(query, at + sum * LANES);
            for row in 0..ROWS {
                // Two registers are a line.
                if ROWS > 1 && sum % 2 == 0 {
                    fetch_ahead(rows[row], at + sum * LANES);
                }
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
    sums.map(|[a, b, c, d]| {
        let eight = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
        let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
    })
}

#[target_feature(enable = "avx2,fma")]
#[inline]
fn add_term<const TERM: u8>(query: __m256, row: __m256, sum: __m256) -> __m256 {
    if TERM == term::L2 {
        let difference = _mm256_sub_ps(query, row);
        _mm256_fmadd_ps(difference, difference, sum)
    } else {
        _mm256_fmadd_ps(query, row, sum)
    }
}

/// What the specification says, compiled for wider registers. It fuses nothing, so it gives the same bits.
#[target_feature(enable = "avx2")]
fn rotate(signs: &[f32], window: usize, values: &mut [f32]) {
    scalar::rotate(signs, window, values);
}

#[target_feature(enable = "avx2")]
fn grid(bits: Bits, scale: f32, values: &[f32], codes: &mut [u8]) -> (f32, f32) {
    scalar::grid(bits, scale, values, codes)
}

#[target_feature(enable = "avx2")]
fn round(values: &[f32], rounded: &mut [i8]) -> (f32, i32) {
    scalar::round(values, rounded)
}

/// Four rows a turn: their sums are added across in one go.
#[target_feature(enable = "avx2")]
fn code_rows<const BITS: usize>(query: &[i8], rows: Rows<'_>, ids: &[u32], sums: &mut [i32]) {
    const GROUP: usize = 4;
    let start = |id: u32| rows.bytes.as_ptr().wrapping_add(id as usize * rows.stride);
    let row_bytes = Bits::ALL[BITS].row_bytes(query.len());
    ids.iter().take(CODES_AHEAD).for_each(|&id| fetch_bytes(start(id), row_bytes));
    let mut at = 0;
    while at < ids.len() {
        ids.iter().skip(at + CODES_AHEAD).take(GROUP).for_each(|&id| fetch_bytes(start(id), row_bytes));
        let left = (ids.len() - at).min(GROUP);
        let mut totals = [_mm256_setzero_si256(); GROUP];
        for row in 0..left {
            let codes = start(ids[at + row]);
            // SAFETY: the wrapper has checked that `row_bytes` bytes of every row lie within the slice, and that the
            // query is whole blocks.
            totals[row] = unsafe {
                match Bits::ALL[BITS] {
                    Bits::One => one(query, codes),
                    Bits::Two => two(query, codes),
                    Bits::Four => four(query, codes),
                    Bits::Eight => eight(query, codes),
                }
            };
        }
        let [a, b, c, d] = totals;
        let pairs = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
        let each = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256::<1>(pairs));
        let mut four = [0; GROUP];
        // SAFETY: four numbers of 4 bytes are a register.
        unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), each) };
        sums[at..at + left].copy_from_slice(&four[..left]);
        at += left;
    }
}

/// Sums pairs of i16 into i32.
#[target_feature(enable = "avx2")]
#[inline]
fn widen(pairs: __m256i) -> __m256i {
    _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
}

/// # Safety
/// `query` is whole blocks, and as many bytes as its blocks have can be read at `codes`. So for the three that follow.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn one(query: &[i8], codes: *const u8) -> __m256i {
    // Byte i of a register gets byte i / 8 of four, and keeps bit i mod 8.
    let spread = _mm256_setr_epi8(
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
    );
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let mut total = _mm256_setzero_si256();
    for register in 0..query.len() / 32 {
        // SAFETY: by the contract; the read need not be aligned.
        let (bits, values) = unsafe {
            let bits = codes.add(4 * register).cast::<i32>().read_unaligned();
            (bits, _mm256_loadu_si256(query.as_ptr().add(32 * register).cast()))
        };
        let each = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bits), spread), bit);
        let chosen = _mm256_and_si256(_mm256_cmpeq_epi8(each, bit), values);
        // A pair is at most 2 × 127.
        total = _mm256_add_epi32(total, widen(_mm256_maddubs_epi16(_mm256_set1_epi8(1), chosen)));
    }
    total
}

#[target_feature(enable = "avx2")]
#[inline]
unsafe fn two(query: &[i8], codes: *const u8) -> __m256i {
    /// A block adds four pairs of at most 2 × 3 × 127 to an i16: ten make 30,480.
    const BLOCKS: usize = 10;
    let mask = _mm256_set1_epi8(3);
    let mut total = _mm256_setzero_si256();
    let blocks = query.len() / 128;
    let mut block = 0;
    while block < blocks {
        let end = blocks.min(block + BLOCKS);
        let mut pairs = _mm256_setzero_si256();
        while block < end {
            // SAFETY: by the contract.
            let bytes = unsafe { _mm256_loadu_si256(codes.add(32 * block).cast()) };
            // SAFETY: `query` has 128 values from `128 * block` on.
            let values =
                |part: usize| unsafe { _mm256_loadu_si256(query.as_ptr().add(128 * block + 32 * part).cast()) };
            let products = [
                _mm256_maddubs_epi16(_mm256_and_si256(bytes, mask), values(0)),
                _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<2>(bytes), mask), values(1)),
                _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), mask), values(2)),
                _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<6>(bytes), mask), values(3)),
            ];
            for product in products {
                pairs = _mm256_add_epi16(pairs, product);
            }
            block += 1;
        }
        total = _mm256_add_epi32(total, widen(pairs));
    }
    total
}

#[target_feature(enable = "avx2")]
#[inline]
unsafe fn four(query: &[i8], codes: *const u8) -> __m256i {
    /// A block adds two pairs of at most 2 × 15 × 127 to an i16: four make 30,480.
    const BLOCKS: usize = 4;
    let mask = _mm256_set1_epi8(15);
    let mut total = _mm256_setzero_si256();
    let blocks = query.len() / 64;
    let mut block = 0;
    while block < blocks {
        let end = blocks.min(block + BLOCKS);
        let mut pairs = _mm256_setzero_si256();
        while block < end {
            // SAFETY: by the contract; `query` has 64 values from `64 * block` on.
            let (bytes, low, high) = unsafe {
                let values = query.as_ptr().add(64 * block);
                (
                    _mm256_loadu_si256(codes.add(32 * block).cast()),
                    _mm256_loadu_si256(values.cast()),
                    _mm256_loadu_si256(values.add(32).cast()),
                )
            };
            let first = _mm256_maddubs_epi16(_mm256_and_si256(bytes, mask), low);
            let second = _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), mask), high);
            pairs = _mm256_add_epi16(pairs, _mm256_add_epi16(first, second));
            block += 1;
        }
        total = _mm256_add_epi32(total, widen(pairs));
    }
    total
}

#[target_feature(enable = "avx2")]
#[inline]
unsafe fn eight(query: &[i8], codes: *const u8) -> __m256i {
    let mut total = _mm256_setzero_si256();
    for register in 0..query.len() / 32 {
        // SAFETY: by the contract.
        let (values, bytes) = unsafe {
            (
                _mm256_loadu_si256(query.as_ptr().add(32 * register).cast()),
                _mm256_loadu_si256(codes.add(32 * register).cast()),
            )
        };
        // The sign moves to the code, so that one factor is unsigned. A pair is at most 2 × 127 × 127 = 32,258.
        let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(values), _mm256_sign_epi8(bytes, values));
        total = _mm256_add_epi32(total, widen(pairs));
    }
    total
}

/// Sums of the two halves of a block, 8 rows each, in i32.
#[derive(Clone, Copy)]
struct Halves {
    /// Of pairs of bits 0 and 2.
    plain: [__m256i; 2],
    /// Of pairs of bits 1 and 3, which stand two bits higher: four times as much.
    fourfold: [__m256i; 2],
}

#[target_feature(enable = "avx2")]
fn blocks(query: &BlockQuery<'_>, blocks: &[u8], bar: f32, scores: &mut [f32], hits: &mut [u16]) {
    let block_bytes = codes::block_bytes(query.values.len());
    let code_bytes = codes::block_code_bytes(query.values.len());
    let (scale, offset) = (_mm256_set1_ps(query.scale), _mm256_set1_ps(query.offset));
    let (lean, base, bar) = (_mm256_set1_ps(query.lean), _mm256_set1_ps(query.base), _mm256_set1_ps(bar));
    let each = blocks.chunks_exact(block_bytes).zip(scores.chunks_exact_mut(BLOCK_ROWS)).zip(hits);
    for ((block, scores), hits) in each {
        let Halves { plain, fourfold } = block_sums(query.values, block);
        *hits = 0;
        for half in 0..2 {
            let sum = _mm256_add_epi32(plain[half], _mm256_srai_epi32::<2>(fourfold[half]));
            // SAFETY: behind the codes of a block stand 16 factors and 16 biases of 4 bytes; a half is 8 of each.
            let (factor, bias) = unsafe {
                let terms = block.as_ptr().add(code_bytes + 32 * half).cast::<f32>();
                (_mm256_loadu_ps(terms), _mm256_loadu_ps(terms.add(BLOCK_ROWS)))
            };
            let sum = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale), offset);
            let score = _mm256_add_ps(_mm256_mul_ps(factor, sum), _mm256_mul_ps(bias, lean));
            let score = _mm256_add_ps(score, base);
            // SAFETY: `scores` are 16 values.
            unsafe { _mm256_storeu_ps(scores.as_mut_ptr().add(8 * half), score) };
            let good = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(score, bar));
            *hits |= (good as u16) << (8 * half);
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn block_sums(query: &[i8], block: &[u8]) -> Halves {
    /// A line adds two pairs of at most 2 × 12 × 127 to a fourfold i16: five make 30,480. The plain ones are a fourth.
    const LINES: usize = 5;
    let zero = _mm256_setzero_si256();
    let (low, high) = (_mm256_set1_epi8(3), _mm256_set1_epi8(12));
    let mut sums = Halves { plain: [zero; 2], fourfold: [zero; 2] };
    let lines = query.len() / 16;
    let mut line = 0;
    while line < lines {
        let end = lines.min(line + LINES);
        let mut pairs = Halves { plain: [zero; 2], fourfold: [zero; 2] };
        while line < end {
            fetch_line(block.as_ptr().wrapping_add(64 * line + BLOCKS_AHEAD * block.len()));
            // SAFETY: `query` has 16 values from `16 * line` on; four of them are one broadcast.
            let words = unsafe {
                let word = |part: usize| query.as_ptr().add(16 * line + 4 * part).cast::<i32>().read_unaligned();
                [word(0), word(1), word(2), word(3)]
            };
            let words = words.map(|word| _mm256_set1_epi32(word));
            for half in 0..2 {
                // SAFETY: a block has 64 bytes for each line of the query; a half is 32.
                let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().add(64 * line + 32 * half).cast()) };
                let shifted = _mm256_srli_epi16::<4>(bytes);
                let product = |bytes: __m256i, mask: __m256i, part: usize| {
                    _mm256_maddubs_epi16(_mm256_and_si256(bytes, mask), words[part])
                };
                let plain = _mm256_add_epi16(product(bytes, low, 0), product(shifted, low, 2));
                let fourfold = _mm256_add_epi16(product(bytes, high, 1), product(shifted, high, 3));
                pairs.plain[half] = _mm256_add_epi16(pairs.plain[half], plain);
                pairs.fourfold[half] = _mm256_add_epi16(pairs.fourfold[half], fourfold);
            }
            line += 1;
        }
        for half in 0..2 {
            sums.plain[half] = _mm256_add_epi32(sums.plain[half], widen(pairs.plain[half]));
            sums.fourfold[half] = _mm256_add_epi32(sums.fourfold[half], widen(pairs.fourfold[half]));
        }
    }
    sums
}
