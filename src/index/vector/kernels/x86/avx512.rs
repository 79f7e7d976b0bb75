//! AVX-512: 16 values of f32, and with VNNI 64 codes of a byte, four products to an i32 at once.
#![expect(clippy::needless_range_loop, reason = "rows and sums are the same registers in every line")]

use std::arch::x86_64::*;

use super::{
    super::{BlockQuery, Kernels, Rows},
    BLOCKS_AHEAD, CODES_AHEAD, SUMS, avx2, fetch_ahead, fetch_bytes, fetch_line, group, term,
};
use crate::index::vector::codes::{self, BLOCK_ROWS, Bits};

pub(in super::super) fn avx512() -> Option<Kernels> {
    is_x86_feature_detected!("avx512f").then_some(Kernels {
        name: "avx512",
        dot: |a, b| {
            // SAFETY: this table leaves the function only if avx512f was detected on this CPU.
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
        ..avx2()?
    })
}

pub(in super::super) fn avx512_vnni() -> Option<Kernels> {
    let has = is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni");
    if !has {
        return None;
    }
    Some(Kernels {
        name: "avx512-vnni",
        code_rows: [
            // SAFETY: this table leaves the function only if all of these features were detected on this CPU.
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
        // 0.0031 on a Zen 5, 0.0116 on an Intel that does half as much a cycle: between them.
        scan_ns_per_value: 0.006,
        ..avx512()?
    })
}

#[target_feature(enable = "avx512f")]
fn each_row<const TERM: u8>(query: &[f32], all: &[f32], scores: &mut [f32]) {
    let (groups, rest) = scores.as_chunks_mut::<4>();
    let rest_from = 4 * groups.len();
    for (index, scores) in groups.iter_mut().enumerate() {
        *scores = rows::<4, TERM>(query, group(all, query.len(), 4 * index));
    }
    for (index, score) in rest.iter_mut().enumerate() {
        [*score] = rows::<1, TERM>(query, group(all, query.len(), rest_from + index));
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn rows<const ROWS: usize, const TERM: u8>(query: &[f32], rows: [&[f32]; ROWS]) -> [f32; ROWS] {
    const LANES: usize = 16;
    let dim = query.len();
    for row in rows {
        assert_eq!(row.len(), dim, "length of a row");
    }
    // SAFETY: callers pass `at` with `at + LANES <= values.len()`.
    let load = |values: &[f32], at: usize| unsafe { _mm512_loadu_ps(values.as_ptr().add(at)) };
    let mut sums = [[_mm512_setzero_ps(); SUMS]; ROWS];
    let mut at = 0;
    while at + SUMS * LANES <= dim {
        for sum in 0..SUMS {
            let values = load(query, at + sum * LANES);
            for row in 0..ROWS {
                if ROWS > 1 {
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
        let lanes: __mmask16 = (1 << (dim - at)) - 1;
        // SAFETY: the mask has a bit for each value from `at` on, and memory behind a bit that is not set is not read.
        let rest = |values: &[f32]| unsafe { _mm512_maskz_loadu_ps(lanes, values.as_ptr().add(at)) };
        let values = rest(query);
        for row in 0..ROWS {
            sums[row][1] = add_term::<TERM>(values, rest(rows[row]), sums[row][1]);
        }
    }
    sums.map(|[a, b, c, d]| _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d))))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add_term<const TERM: u8>(query: __m512, row: __m512, sum: __m512) -> __m512 {
    if TERM == term::L2 {
        let difference = _mm512_sub_ps(query, row);
        _mm512_fmadd_ps(difference, difference, sum)
    } else {
        _mm512_fmadd_ps(query, row, sum)
    }
}

/// Four rows a turn: their sums are added across in one go.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn code_rows<const BITS: usize>(query: &[i8], rows: Rows<'_>, ids: &[u32], sums: &mut [i32]) {
    const GROUP: usize = 4;
    let start = |id: u32| rows.bytes.as_ptr().wrapping_add(id as usize * rows.stride);
    let row_bytes = Bits::ALL[BITS].row_bytes(query.len());
    ids.iter().take(CODES_AHEAD).for_each(|&id| fetch_bytes(start(id), row_bytes));
    // What `eight` adds too much, the same for every row.
    let excess = _mm_set1_epi32(if BITS == Bits::Eight as usize { flipped(query) } else { 0 });
    let mut at = 0;
    while at < ids.len() {
        ids.iter().skip(at + CODES_AHEAD).take(GROUP).for_each(|&id| fetch_bytes(start(id), row_bytes));
        let left = (ids.len() - at).min(GROUP);
        let mut totals = [_mm512_setzero_si512(); GROUP];
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
        let mut four = [0; GROUP];
        // SAFETY: four numbers of 4 bytes are a register.
        unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), _mm_sub_epi32(across(totals), excess)) };
        sums[at..at + left].copy_from_slice(&four[..left]);
        at += left;
    }
}

/// The sum of each of four registers.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn across([a, b, c, d]: [__m512i; 4]) -> __m128i {
    let pairs = |a, b| _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (ab, cd) = (pairs(a, b), pairs(c, d));
    let four = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    let half = _mm256_add_epi32(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64::<1>(four));
    _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
}

/// The sum of a query, 128 times.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn flipped(query: &[i8]) -> i32 {
    let flip = _mm512_set1_epi8(-128);
    let mut sum = _mm512_setzero_si512();
    for register in 0..query.len() / 64 {
        // SAFETY: the query is whole blocks, of 64 values here.
        sum = _mm512_dpbusd_epi32(sum, flip, unsafe { values(query, register) });
    }
    _mm512_reduce_add_epi32(sum)
}

/// 64 values of a query.
///
/// # Safety
/// `64 * register + 64` is at most the length of the query.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn values(query: &[i8], register: usize) -> __m512i {
    // SAFETY: by the contract.
    unsafe { _mm512_loadu_si512(query.as_ptr().add(64 * register).cast()) }
}

/// # Safety
/// `query` is whole blocks, and as many bytes as its blocks have can be read at `codes`. So for the three that follow.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
unsafe fn one(query: &[i8], codes: *const u8) -> __m512i {
    let ones = _mm512_set1_epi8(1);
    let mut total = _mm512_setzero_si512();
    for register in 0..query.len() / 64 {
        // SAFETY: by the contract; the read need not be aligned.
        unsafe {
            let bits = codes.add(8 * register).cast::<u64>().read_unaligned();
            total = _mm512_dpbusd_epi32(total, _mm512_maskz_mov_epi8(bits, ones), values(query, register));
        }
    }
    total
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
unsafe fn two(query: &[i8], codes: *const u8) -> __m512i {
    let mask = _mm512_set1_epi8(3);
    let (mut low, mut high) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    for block in 0..query.len() / 128 {
        // SAFETY: by the contract.
        unsafe {
            let bytes = _mm256_loadu_si256(codes.add(32 * block).cast());
            let pair = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(bytes), _mm256_srli_epi16::<2>(bytes));
            low = _mm512_dpbusd_epi32(low, _mm512_and_si512(pair, mask), values(query, 2 * block));
            let shifted = _mm512_and_si512(_mm512_srli_epi16::<4>(pair), mask);
            high = _mm512_dpbusd_epi32(high, shifted, values(query, 2 * block + 1));
        }
    }
    _mm512_add_epi32(low, high)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
unsafe fn four(query: &[i8], codes: *const u8) -> __m512i {
    let mask = _mm512_set1_epi8(15);
    let mut total = _mm512_setzero_si512();
    for block in 0..query.len() / 64 {
        // SAFETY: by the contract.
        unsafe {
            let bytes = _mm256_loadu_si256(codes.add(32 * block).cast());
            let pair = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(bytes), _mm256_srli_epi16::<4>(bytes));
            total = _mm512_dpbusd_epi32(total, _mm512_and_si512(pair, mask), values(query, block));
        }
    }
    total
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
unsafe fn eight(query: &[i8], codes: *const u8) -> __m512i {
    // One factor must be unsigned: 128 is added to the code, and `code_rows` takes 128 times the query away.
    let flip = _mm512_set1_epi8(-128);
    let mut total = _mm512_setzero_si512();
    for register in 0..query.len() / 64 {
        // SAFETY: by the contract.
        unsafe {
            let bytes = _mm512_loadu_si512(codes.add(64 * register).cast());
            total = _mm512_dpbusd_epi32(total, _mm512_xor_si512(bytes, flip), values(query, register));
        }
    }
    total
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn blocks(query: &BlockQuery<'_>, blocks: &[u8], bar: f32, scores: &mut [f32], hits: &mut [u16]) {
    let block_bytes = codes::block_bytes(query.values.len());
    let code_bytes = codes::block_code_bytes(query.values.len());
    let (scale, offset) = (_mm512_set1_ps(query.scale), _mm512_set1_ps(query.offset));
    let (lean, base, bar) = (_mm512_set1_ps(query.lean), _mm512_set1_ps(query.base), _mm512_set1_ps(bar));
    let paired = hits.len() / 2 * 2;
    let mut index = 0;
    while index < hits.len() {
        // Two blocks a turn: a word of the query is broadcast once for both.
        let count = if index < paired { 2 } else { 1 };
        let at = |block: usize| &blocks[(index + block) * block_bytes..][..block_bytes];
        let sums = if count == 2 {
            block_sums(query.values, [at(0), at(1)])
        } else {
            let [sum] = block_sums(query.values, [at(0)]);
            [sum, sum]
        };
        for within in 0..count {
            // SAFETY: behind the codes of a block stand 16 factors and 16 biases of 4 bytes.
            let (factor, bias) = unsafe {
                let terms = at(within).as_ptr().add(code_bytes).cast::<f32>();
                (_mm512_loadu_ps(terms), _mm512_loadu_ps(terms.add(BLOCK_ROWS)))
            };
            let sum = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sums[within]), scale), offset);
            let score = _mm512_add_ps(_mm512_mul_ps(factor, sum), _mm512_mul_ps(bias, lean));
            let score = _mm512_add_ps(score, base);
            let scores = &mut scores[(index + within) * BLOCK_ROWS..][..BLOCK_ROWS];
            // SAFETY: `scores` are 16 values.
            unsafe { _mm512_storeu_ps(scores.as_mut_ptr(), score) };
            hits[index + within] = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(score, bar);
        }
        index += count;
    }
}

/// Fields stay where they are in their bytes: those of pair of bits j count 4ʲ times. 192 × 127 × 4 × lines fits i32.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
fn block_sums<const BLOCKS: usize>(query: &[i8], blocks: [&[u8]; BLOCKS]) -> [__m512i; BLOCKS] {
    let masks = [3, 12, 48, 192_u8.cast_signed()].map(|mask| _mm512_set1_epi8(mask));
    let mut sums = [[_mm512_setzero_si512(); 4]; BLOCKS];
    for line in 0..query.len() / 16 {
        // SAFETY: `query` has 16 values from `16 * line` on; four of them are one broadcast.
        let words = unsafe {
            let word = |part: usize| query.as_ptr().add(16 * line + 4 * part).cast::<i32>().read_unaligned();
            [word(0), word(1), word(2), word(3)]
        };
        let words = words.map(|word| _mm512_set1_epi32(word));
        for block in 0..BLOCKS {
            let start = blocks[block].as_ptr().wrapping_add(64 * line);
            fetch_line(start.wrapping_add(BLOCKS_AHEAD * blocks[block].len()));
            // SAFETY: a block has 64 bytes for each line of the query.
            let bytes = unsafe { _mm512_loadu_si512(start.cast()) };
            for part in 0..4 {
                let field = _mm512_and_si512(bytes, masks[part]);
                sums[block][part] = _mm512_dpbusd_epi32(sums[block][part], field, words[part]);
            }
        }
    }
    sums.map(|[a, b, c, d]| {
        let low = _mm512_add_epi32(a, _mm512_srai_epi32::<2>(b));
        _mm512_add_epi32(low, _mm512_add_epi32(_mm512_srai_epi32::<4>(c), _mm512_srai_epi32::<6>(d)))
    })
}
