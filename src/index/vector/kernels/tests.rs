//! Every set this CPU can run, the specification among them, against sums that are plainly right.
//!
//! `RAG_TEST_SETS` names the sets there must be: for the scripts that run this on emulated CPUs.

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

mod floats {
    use super::*;

    /// A kernel alone and over rows, what two values add to its sum, and how many roundings that takes.
    struct Sum {
        name: &'static str,
        one: fn(&Kernels, &[f32], &[f32]) -> f32,
        rows: fn(&Kernels, &[f32], &[f32], &mut [f32]),
        term: fn(f64, f64) -> f64,
        roundings: usize,
    }

    const SUMS: [Sum; 2] = [
        Sum { name: "dot", one: Kernels::dot, rows: Kernels::dot_rows, term: |a, b| a * b, roundings: 1 },
        Sum { name: "l2", one: Kernels::l2, rows: Kernels::l2_rows, term: |a, b| (a - b).powi(2), roundings: 3 },
    ];

    /// A rounding is off by at most half a unit in the last place, ε/2 of what it gives. A term has its own (that of the
    /// difference in `l2` counts twice, as it is squared) and those of less than n additions. Where terms vanish, each is off
    /// by at most the smallest number.
    fn check(kernels: &Kernels, a: &[f32], b: &[f32]) {
        for sum in SUMS {
            let terms = || a.iter().zip(b).map(|(&a, &b)| (sum.term)(a.into(), b.into()));
            let (got, want): (f64, f64) = ((sum.one)(kernels, a, b).into(), terms().sum());
            let (n, roundings) = (a.len() as f64, (a.len() + sum.roundings) as f64);
            let bound = roundings * 0.5 * f64::from(f32::EPSILON) * terms().map(f64::abs).sum::<f64>()
                + n * f64::from(f32::from_bits(1));
            assert!((got - want).abs() <= bound, "{kernels:?} {} n={} {got} {want}", sum.name, a.len());
        }
    }

    /// Four registers of the widest set four times over, and a rest of each length.
    const LENGTHS: std::ops::RangeInclusive<usize> = 0..=4 * 4 * 16 + 19;

    #[test]
    fn every_set_agrees_with_f64_at_every_length_and_start() {
        for kernels in available() {
            for length in LENGTHS {
                let (a, b) = (values(length as u64, length + 16), values(!(length as u64), length + 16));
                for start in [0, 1, 2, 3, 5, 15] {
                    check(&kernels, &a[start..][..length], &b[..length]);
                    check(&kernels, &a[..length], &b[start..][..length]);
                }
            }
        }
    }

    #[test]
    fn every_set_agrees_with_f64_at_extremes() {
        let extremes = [0.0, -0.0, 1e-45, -1e-38, 1e-20, 3e17, -3e17, 1.0, -1.0, f32::EPSILON];
        for kernels in available() {
            for length in LENGTHS {
                let pick = |step: usize| (0..length).map(|i| extremes[i * step % extremes.len()]).collect::<Vec<_>>();
                check(&kernels, &pick(1), &pick(3));
                check(&kernels, &pick(7), &pick(7));
            }
        }
    }

    #[test]
    fn infinite_and_undefined_sums_are_so_in_every_set() {
        for kernels in available() {
            for length in LENGTHS.skip(1) {
                let (ones, huge) = (vec![1.0; length], vec![f32::MAX; length]);
                for (at, sum) in [0, length / 2, length - 1].into_iter().flat_map(|at| SUMS.map(|sum| (at, sum))) {
                    let at_one = |value: f32| {
                        let mut a = ones.clone();
                        a[at] = value;
                        [(sum.one)(&kernels, &a, &ones), (sum.one)(&kernels, &ones, &a)]
                    };
                    assert_eq!(at_one(f32::INFINITY), [f32::INFINITY; 2], "{kernels:?} {} n={length} {at}", sum.name);
                    assert!(at_one(f32::NAN)[0].is_nan(), "{kernels:?} {} n={length} {at}", sum.name);
                    assert!(at_one(f32::NAN)[1].is_nan(), "{kernels:?} {} n={length} {at}", sum.name);
                }
                assert_eq!(kernels.dot(&huge, &huge), f32::INFINITY, "{kernels:?} n={length}");
                assert_eq!(kernels.l2(&huge, &huge), 0.0, "{kernels:?} n={length}");
                assert_eq!(kernels.l2(&huge, &vec![f32::MIN; length]), f32::INFINITY, "{kernels:?} n={length}");
                let infinite = vec![f32::INFINITY; length];
                assert!(kernels.l2(&infinite, &infinite).is_nan(), "{kernels:?} n={length}");
            }
        }
    }

    #[test]
    fn a_score_is_the_same_bits_alone_and_in_any_batch() {
        for (kernels, sum) in available().into_iter().flat_map(|kernels| SUMS.map(|sum| (kernels, sum))) {
            for dim in [1, 3, 8, 31, 64, 100, 384] {
                let (query, row) = (values(1, dim), values(2, dim));
                let alone = (sum.one)(&kernels, &query, &row).to_bits();
                assert_eq!((sum.one)(&kernels, &row, &query).to_bits(), alone);
                for rows in 1..=9 {
                    for at in 0..rows {
                        let mut batch = values(3, dim * rows);
                        batch[at * dim..][..dim].copy_from_slice(&row);
                        let mut scores = vec![f32::NAN; rows];
                        (sum.rows)(&kernels, &query, &batch, &mut scores);
                        let name = sum.name;
                        assert_eq!(scores[at].to_bits(), alone, "{kernels:?} {name} dim {dim}, row {at} of {rows}");
                        assert!(scores.iter().all(|score| score.is_finite()));
                    }
                }
            }
        }
    }

    #[test]
    fn rows_of_no_values_score_zero() {
        for (kernels, sum) in available().into_iter().flat_map(|kernels| SUMS.map(|sum| (kernels, sum))) {
            let mut scores = [1.0; 7];
            (sum.rows)(&kernels, &[], &[], &mut scores);
            assert_eq!(scores, [0.0; 7]);
            (sum.rows)(&kernels, &[1.0], &[], &mut []);
        }
    }

    #[test]
    #[should_panic(expected = "lengths of two vectors")]
    fn vectors_of_two_lengths_have_no_product() {
        best().dot(&[1.0, 2.0], &[1.0]);
    }

    #[test]
    #[should_panic(expected = "lengths of two vectors")]
    fn vectors_of_two_lengths_have_no_distance() {
        best().l2(&[1.0], &[1.0, 2.0]);
    }

    #[test]
    #[should_panic(expected = "values of the rows")]
    fn rows_must_be_whole() {
        best().dot_rows(&[1.0, 2.0], &[1.0, 2.0, 3.0], &mut [0.0, 0.0]);
    }

    #[test]
    #[should_panic(expected = "values of the rows")]
    fn rows_of_distances_must_be_whole() {
        best().l2_rows(&[1.0, 2.0], &[1.0, 2.0, 3.0, 4.0], &mut [0.0]);
    }
}

mod code_rows {
    use super::*;

    /// The lowest and the highest code, one a byte.
    fn ends(bits: Bits) -> [u8; 2] {
        if bits == Bits::Eight { [-127_i8, 127].map(i8::cast_unsigned) } else { [0, u8::MAX >> (8 - bits.count())] }
    }

    fn random_codes(bits: Bits, seed: u64, count: usize) -> Vec<u8> {
        if bits == Bits::Eight {
            return integers(seed, count).into_iter().map(i8::cast_unsigned).collect();
        }
        let mut next = random(seed);
        (0..count).map(|_| next() as u8 & ends(bits)[1]).collect()
    }

    /// Product of one row, from codes that stand one a byte.
    fn product(bits: Bits, codes: &[u8], query: &[i8]) -> i32 {
        let number = |code: u8| if bits == Bits::Eight { i32::from(code.cast_signed()) } else { i32::from(code) };
        codes.iter().zip(query).map(|(&code, &value)| number(code) * i32::from(value)).sum()
    }

    /// Packs rows `gap` bytes apart, from byte `start` on, and wants the same sums of every set. All other bytes are ones.
    fn check(bits: Bits, query: &[i8], rows: &[Vec<u8>], start: usize, gap: usize, ids: &[u32]) {
        let row_bytes = bits.row_bytes(query.len());
        let stride = row_bytes + gap;
        let mut bytes = vec![u8::MAX; start + rows.len() * stride];
        for (row, codes) in rows.iter().enumerate() {
            let row = &mut bytes[start + row * stride..][..row_bytes];
            row.fill(0);
            codes::pack_row(bits, codes, row);
        }
        let products: Vec<i32> = rows.iter().map(|codes| product(bits, codes, query)).collect();
        let want: Vec<i32> = ids.iter().map(|&id| products[id as usize]).collect();
        for kernels in available() {
            let mut sums = vec![i32::MIN; ids.len()];
            kernels.code_rows(bits, query, Rows { bytes: &bytes[start..], stride }, ids, &mut sums);
            assert_eq!(sums, want, "{kernels:?} {bits:?} {} values, start {start}, gap {gap}", query.len());
        }
    }

    #[test]
    fn every_set_gives_the_same_sums_at_every_length_and_start() {
        for bits in Bits::ALL {
            let block = bits.padded(1);
            // More blocks than any narrow sum takes before it is widened, twice over.
            for blocks in 1..=22 {
                let dim = blocks * block;
                let rows: Vec<_> = (0..5).map(|row| random_codes(bits, (row << 32) + dim as u64, dim)).collect();
                let query = integers(dim as u64, dim);
                for (start, gap) in [(0, 0), (1, 0), (3, 5), (32, 32), (31, 128)] {
                    check(bits, &query, &rows, start, gap, &[0, 1, 2, 3, 4]);
                }
            }
            for dim in [384, 512, 768, 1024, 1536, 3072, 4096] {
                check(bits, &integers(1, dim), &[random_codes(bits, 2, dim)], 0, 0, &[0]);
            }
        }
    }

    #[test]
    fn every_set_gives_the_same_sums_for_any_rows() {
        for bits in Bits::ALL {
            let dim = 384;
            let rows: Vec<_> = (0..23).map(|row| random_codes(bits, row, dim)).collect();
            let query = integers(9, dim);
            for count in 0..=40 {
                // Forwards, backwards, some twice, one over and over.
                let ids: [fn(u32) -> u32; 4] = [|at| at % 23, |at| 22 - at % 23, |at| at * at % 23, |_| 22];
                for id in ids {
                    check(bits, &query, &rows, 0, 16, &(0..count).map(id).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn no_sum_overflows_at_extremes() {
        for bits in Bits::ALL {
            for dim in [bits.padded(1), bits.padded(10 * 128), bits.padded(10_000), 1 << 16] {
                let [low, high] = ends(bits);
                let turns: Vec<u8> = (0..dim).map(|at| if at % 2 == 0 { high } else { low }).collect();
                let rows = [vec![low; dim], vec![high; dim], turns];
                let queries = [vec![127; dim], vec![-127; dim], (0..dim).map(|at| [127, -127][at % 2]).collect()];
                for query in queries {
                    check(bits, &query, &rows, 0, 0, &[0, 1, 2, 1, 0]);
                }
            }
        }
    }

    #[test]
    fn codes_beyond_the_query_count_for_nothing() {
        for bits in Bits::ALL {
            let (dim, padded) = (100, bits.padded(100));
            let mut query = integers(4, padded);
            query[dim..].fill(0);
            let mut row = random_codes(bits, 5, padded);
            // Eight bits have one more code, −128, which nothing writes: in the rest of a row it does no harm.
            row[dim..].fill(if bits == Bits::Eight { 0x80 } else { ends(bits)[1] });
            check(bits, &query, &[row], 0, 0, &[0, 0, 0]);
        }
    }

    #[test]
    fn a_query_of_no_values_sums_to_zero() {
        for (kernels, bits) in available().into_iter().flat_map(|kernels| Bits::ALL.map(|bits| (kernels, bits))) {
            for (bytes, stride) in [(&[][..], 0), (&[255; 30][..], 10)] {
                let mut sums = [7; 3];
                kernels.code_rows(bits, &[], Rows { bytes, stride }, &[0, 2, 1], &mut sums);
                assert_eq!(sums, [0; 3], "{kernels:?} {bits:?}");
            }
            kernels.code_rows(bits, &[1; 128], Rows { bytes: &[], stride: 128 }, &[], &mut []);
        }
    }

    fn run(bits: Bits, query: usize, bytes: usize, stride: usize, ids: &[u32]) {
        let (query, bytes) = (vec![1; query], vec![1; bytes]);
        best().code_rows(bits, &query, Rows { bytes: &bytes, stride }, ids, &mut vec![0; ids.len()]);
    }

    #[test]
    #[should_panic(expected = "bytes of a row")]
    fn a_row_must_be_as_long_as_the_query() {
        run(Bits::Four, 128, 1000, 63, &[0]);
    }

    #[test]
    #[should_panic(expected = "row 3 of the codes")]
    fn a_row_must_be_there() {
        run(Bits::Eight, 64, 64 * 3 + 63, 64, &[0, 3, 1]);
    }

    #[test]
    #[should_panic(expected = "row 4294967295 of the codes")]
    fn no_id_is_too_large_to_be_checked() {
        run(Bits::One, 64, 80, 8, &[u32::MAX]);
    }

    #[test]
    #[should_panic(expected = "whole blocks of a query")]
    fn a_query_must_be_whole_blocks() {
        run(Bits::Two, 64, 1000, 100, &[0]);
    }

    #[test]
    #[should_panic(expected = "whole blocks of a query")]
    fn a_query_must_not_be_longer_than_sums_allow() {
        run(Bits::One, (1 << 16) + 64, 10_000, 10_000, &[0]);
    }

    #[test]
    #[should_panic(expected = "a sum for each row")]
    fn every_row_must_have_a_sum() {
        best().code_rows(Bits::One, &[1; 64], Rows { bytes: &[0; 8], stride: 8 }, &[0, 0], &mut [0]);
    }
}

mod blocks {
    use super::*;

    /// A row of a block: codes one a byte, factor, bias.
    struct Row {
        codes: Vec<u8>,
        factor: f32,
        bias: f32,
    }

    fn random_rows(seed: u64, dim: usize, count: usize) -> Vec<Row> {
        let mut next = random(seed);
        let terms = values(!seed, 2 * count);
        let row = |row: usize| Row {
            codes: (0..dim).map(|_| (next() >> 9 & 3) as u8).collect(),
            factor: terms[2 * row],
            bias: terms[2 * row + 1],
        };
        (0..count).map(row).collect()
    }

    fn pack(dim: usize, rows: &[Row]) -> Vec<u8> {
        let mut bytes = vec![0; rows.len() / BLOCK_ROWS * codes::block_bytes(dim)];
        let blocks = bytes.chunks_exact_mut(codes::block_bytes(dim));
        for (rows, block) in rows.chunks_exact(BLOCK_ROWS).zip(blocks) {
            for (at, row) in rows.iter().enumerate() {
                codes::pack_block_row(at, &row.codes, row.factor, row.bias, block);
            }
        }
        bytes
    }

    fn score(query: &BlockQuery<'_>, row: &Row) -> f32 {
        let products = row.codes.iter().zip(query.values).map(|(&code, &value)| i32::from(code) * i32::from(value));
        let sum = products.sum::<i32>() as f32 * query.scale + query.offset;
        row.factor * sum + row.bias * query.lean + query.base
    }

    /// The same bits of every set; hits of bars above, below and at scores.
    fn check(query: &BlockQuery<'_>, rows: &[Row]) {
        let bytes = pack(query.values.len(), rows);
        let want: Vec<f32> = rows.iter().map(|row| score(query, row)).collect();
        let ties = [want[0], want[rows.len() / 2], want[rows.len() - 1]];
        let near = ties.iter().flat_map(|tie| [tie.next_down(), *tie, tie.next_up()]);
        for bar in near.chain([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0]) {
            let hit_words = want
                .chunks_exact(BLOCK_ROWS)
                .map(|scores| scores.iter().enumerate().map(|(row, &score)| u16::from(score >= bar) << row).sum());
            let want_hits: Vec<u16> = hit_words.collect();
            for kernels in available() {
                let (mut scores, mut hits) = (vec![7.0; rows.len()], vec![0xabcd; rows.len() / BLOCK_ROWS]);
                kernels.blocks(query, &bytes, bar, &mut scores, &mut hits);
                let dim = query.values.len();
                for (row, (&got, &want)) in scores.iter().zip(&want).enumerate() {
                    assert!(same(got, want), "{kernels:?} dim {dim}, row {row}: {got} {want}, {query:?}");
                }
                assert_eq!(hits, want_hits, "{kernels:?} dim {dim}, bar {bar}");
            }
        }
    }

    fn plain(values: &[i8]) -> BlockQuery<'_> {
        BlockQuery { values, scale: 0.013, offset: -0.7, lean: 0.31, base: 0.05 }
    }

    #[test]
    fn every_set_gives_the_same_scores_and_hits() {
        let dims = (1..=50).map(|lines| 16 * lines).chain([384, 784, 1024]);
        for dim in dims {
            let query = integers(dim as u64, dim);
            check(&plain(&query), &random_rows(dim as u64, dim, BLOCK_ROWS));
        }
        for blocks in 1..=9 {
            let query = integers(blocks as u64, 384);
            check(&plain(&query), &random_rows(!(blocks as u64), 384, blocks * BLOCK_ROWS));
        }
    }

    #[test]
    fn no_sum_overflows_at_extremes() {
        for dim in [16, 10 * 16, 42 * 16, 1 << 16] {
            let turns = |at: usize| [0, 3][at % 2];
            let queries = [vec![127; dim], vec![-127; dim], (0..dim).map(|at| [127, -127][at % 2]).collect()];
            for query in queries {
                let row = |row: usize| Row {
                    codes: (0..dim).map(|at| [3, turns(at), 0, turns(at + row)][row % 4]).collect(),
                    factor: 1.0,
                    bias: 0.0,
                };
                let query = BlockQuery { values: &query, scale: 1.0, offset: 0.0, lean: 0.0, base: 0.0 };
                check(&query, &(0..3 * BLOCK_ROWS).map(row).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn every_set_gives_the_same_scores_where_terms_are_not_finite() {
        let (dim, values) = (48, integers(3, 48));
        for special in SPECIAL {
            for place in 0..6 {
                let mut query = plain(&values);
                let mut rows = random_rows(5, dim, 2 * BLOCK_ROWS);
                match place {
                    0 => query.scale = special,
                    1 => query.offset = special,
                    2 => query.lean = special,
                    3 => query.base = special,
                    4 => rows.iter_mut().step_by(3).for_each(|row| row.factor = special),
                    _ => rows.iter_mut().step_by(3).for_each(|row| row.bias = special),
                }
                check(&query, &rows);
            }
        }
        // Sums of zero, with a sign.
        let mut rows = random_rows(6, dim, BLOCK_ROWS);
        rows.iter_mut().for_each(|row| (row.factor, row.bias) = (0.0, -0.0));
        for [offset, base] in [[1.0, -0.0], [-1.0, -0.0], [-0.0, 0.0]] {
            check(&BlockQuery { values: &[0; 48], scale: -0.0, offset, lean: 1.0, base }, &rows);
        }
    }

    #[test]
    fn blocks_of_no_values_score_what_their_terms_say_and_no_blocks_nothing() {
        check(&plain(&[]), &random_rows(1, 0, 3 * BLOCK_ROWS));
        for kernels in available() {
            kernels.blocks(&plain(&[1; 32]), &[], 0.0, &mut [], &mut []);
        }
    }

    fn run(query: usize, bytes: usize, scores: usize, hits: usize) {
        let values = vec![1; query];
        best().blocks(&plain(&values), &vec![0; bytes], 0.0, &mut vec![0.0; scores], &mut vec![0; hits]);
    }

    #[test]
    #[should_panic(expected = "whole lines of a query")]
    fn a_query_must_be_whole_lines() {
        run(15, codes::block_bytes(16), 16, 1);
    }

    #[test]
    #[should_panic(expected = "values of a query")]
    fn a_query_must_not_be_longer_than_sums_allow() {
        run((1 << 16) + 16, codes::block_bytes((1 << 16) + 16), 16, 1);
    }

    #[test]
    #[should_panic(expected = "bytes of the blocks")]
    fn blocks_must_be_whole() {
        run(16, 2 * codes::block_bytes(16) - 1, 32, 2);
    }

    #[test]
    #[should_panic(expected = "a score for each row")]
    fn every_row_must_have_a_score() {
        run(16, 2 * codes::block_bytes(16), 31, 2);
    }
}

/// What must be the same bits in every set because it becomes part of a file, or of a query for one.
mod encoding {
    use super::*;

    const DIMS: std::ops::RangeInclusive<usize> = 1..=80;
    const LARGE_DIMS: [usize; 5] = [384, 500, 784, 1024, 1536];

    /// Values of each kind at each dim: of one size, of many sizes, and with one that is special, at either end.
    fn cases() -> impl Iterator<Item = Vec<f32>> {
        DIMS.chain(LARGE_DIMS).flat_map(|dim| {
            let sizes = [1.0, 1e-40, 1e-20, 1e20, 1e38, 1e-3, 0.0];
            let plain = values(dim as u64, dim);
            let scaled = |size: f32| plain.iter().map(|value| value * size).collect::<Vec<_>>();
            let mut cases = sizes.map(scaled).to_vec();
            cases.push(plain.iter().enumerate().map(|(at, value)| value * sizes[at % sizes.len()]).collect());
            for (special, at) in SPECIAL.into_iter().flat_map(|special| [(special, 0), (special, dim - 1)]) {
                let mut case = plain.clone();
                case[at] = special;
                cases.push(case);
            }
            cases
        })
    }

    #[track_caller]
    fn assert_same(kernels: &Kernels, got: &[f32], want: &[f32]) {
        assert_eq!(got.len(), want.len());
        for (at, (&got, &want)) in got.iter().zip(want).enumerate() {
            assert!(same(got, want), "{kernels:?}, value {at}: {got} {want}");
        }
    }

    #[test]
    fn every_set_rotates_to_the_same_bits() {
        for case in cases().chain([values(1, 1 << 16), values(2, 50_000)]) {
            let largest = 1 << case.len().ilog2();
            let signs: Vec<f32> = values(3, 3 * case.len()).iter().map(|value| value.signum()).collect();
            for window in [largest, (largest / 2).max(1), 1] {
                let mut want = case.clone();
                scalar::SCALAR.rotate(&signs, window, &mut want);
                for kernels in available() {
                    let mut got = case.clone();
                    kernels.rotate(&signs, window, &mut got);
                    assert_same(&kernels, &got, &want);
                }
            }
        }
    }

    #[test]
    fn a_rotation_is_signs_and_sums() {
        for kernels in available() {
            let mut turned = [1.0, 2.0, 3.0];
            kernels.rotate(&[1.0, -1.0, 1.0, 1.0, 1.0, 1.0], 2, &mut turned);
            let half = 0.5_f32.sqrt();
            let second = (1.0 + 2.0) * half;
            for (got, want) in
                turned.into_iter().zip([(1.0 - 2.0) * half, (second + 3.0) * half, (second - 3.0) * half])
            {
                assert!((got - want).abs() < 1e-6, "{kernels:?} {turned:?}");
            }
        }
    }

    #[test]
    fn every_set_finds_the_same_points_of_a_grid() {
        for case in cases() {
            for (bits, scale) in
                Bits::ALL.into_iter().flat_map(|bits| [0.11, 1e-3, 1e-42, 0.0].map(|scale| (bits, scale)))
            {
                let mut want = vec![0xaa; case.len()];
                let (want_dot, want_norm) = scalar::SCALAR.grid(bits, scale, &case, &mut want);
                for kernels in available() {
                    let mut got = vec![0x55; case.len()];
                    let (dot, norm) = kernels.grid(bits, scale, &case, &mut got);
                    assert_eq!(got, want, "{kernels:?} {bits:?} {scale}");
                    assert_same(&kernels, &[dot, norm], &[want_dot, want_norm]);
                }
            }
        }
    }

    #[test]
    fn a_point_is_the_nearest_one_and_the_last_one_beyond_them() {
        let of = |bits: Bits, scale: f32, values: &[f32]| {
            let mut all = available().into_iter().map(|kernels| {
                let mut codes = vec![9; values.len()];
                let sums = kernels.grid(bits, scale, values, &mut codes);
                (codes, sums)
            });
            let first = all.next().unwrap();
            assert!(all.all(|other| other == first));
            first
        };
        assert_eq!(of(Bits::One, 2.0, &[0.1, -0.1, 9.0]), (vec![1, 0, 1], (0.1 + 0.1 + 9.0, 3.0)));
        assert_eq!(of(Bits::Two, 1.0, &[-9.0, -1.0, 1.5, 2.5]), (vec![0, 1, 2, 3], (27.0 + 1.0 + 1.5 + 7.5, 20.0)));
        assert_eq!(of(Bits::Four, 0.5, &[-100.0, 0.5, 7.5]), (vec![0, 8, 15], (1500.0 + 0.5 + 112.5, 451.0)));
        assert_eq!(of(Bits::Eight, 1.0, &[-200.0, -1.0, 2.5, 3.5]), (vec![129, 255, 2, 4], (25_420.0, 16_150.0)));
    }

    #[test]
    fn every_set_rounds_to_the_same_numbers() {
        for case in cases() {
            let mut want = vec![1; case.len()];
            let (want_step, want_sum) = scalar::SCALAR.round(&case, &mut want);
            let zero = case.iter().any(|value| !value.is_finite()) || case.iter().all(|value| *value == 0.0);
            assert!(!zero || want_step == 0.0 && want_sum == 0 && want.iter().all(|&value| value == 0), "{case:?}");
            assert_eq!(want.iter().copied().map(i32::from).sum::<i32>(), want_sum);
            for kernels in available() {
                let mut got = vec![2; case.len()];
                let (step, sum) = kernels.round(&case, &mut got);
                assert_eq!((got, sum), (want.clone(), want_sum), "{kernels:?}");
                assert_same(&kernels, &[step], &[want_step]);
            }
        }
    }

    #[test]
    fn rounded_values_are_at_most_half_a_step_off() {
        for dim in DIMS {
            let values = values(dim as u64, dim);
            for kernels in available() {
                let mut rounded = vec![0; dim];
                let (step, _) = kernels.round(&values, &mut rounded);
                assert!(rounded.iter().any(|value| value.unsigned_abs() == 127));
                for (&value, &number) in values.iter().zip(&rounded) {
                    assert!((value - step * f32::from(number)).abs() <= 0.5001 * step, "{kernels:?} {value} {number}");
                }
            }
        }
    }

    #[test]
    fn no_values_have_no_codes() {
        for kernels in available() {
            assert_eq!(kernels.grid(Bits::Two, 1.0, &[], &mut []), (0.0, 0.0));
            assert_eq!(kernels.round(&[], &mut []), (0.0, 0));
        }
    }

    #[test]
    #[should_panic(expected = "window of a rotation")]
    fn a_window_must_be_a_power_of_two() {
        best().rotate(&[1.0; 8], 3, &mut [0.0; 8]);
    }

    #[test]
    #[should_panic(expected = "window of a rotation")]
    fn a_window_must_not_be_wider_than_the_values() {
        best().rotate(&[1.0; 3], 4, &mut [0.0; 3]);
    }

    #[test]
    #[should_panic(expected = "a code for each value")]
    fn every_value_must_have_a_code() {
        best().grid(Bits::One, 1.0, &[0.0; 3], &mut [0; 2]);
    }

    #[test]
    #[should_panic(expected = "a number for each value")]
    fn every_value_must_have_a_number() {
        best().round(&[0.0; 3], &mut [0; 4]);
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
