//! Sums of codes of rows that stand anywhere.

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
