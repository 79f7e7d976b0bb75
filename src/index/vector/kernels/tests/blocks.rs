//! Scores and hits of blocks of two-bit codes.

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
