//! A search with its own buffers allocates nothing once they have grown.
//!
//! The whole program counts its allocations here, so this is a test binary of its own with one test.
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rag::index::vector::{
    Effort, Metric, NewRow, Scratch, Search, Segment, SegmentOptions, Set, Tombstones, encode_segment,
};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: by the caller's contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn warm_searches_allocate_nothing() {
    const DIM: usize = 24;
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    };
    let values: Vec<f32> = (0..3000 * DIM).map(|_| next()).collect();
    let rows: Vec<NewRow<'_>> =
        (0..).zip(values.chunks(DIM)).map(|(id, vector)| NewRow { id, hash: [0; 16], vector }).collect();
    let options = SegmentOptions { metric: Metric::L2, codes_from: 1, graph_from: 1, ..SegmentOptions::default() };
    let segment = |rows, options| {
        let segment = Segment::open(Arc::new(encode_segment(DIM, rows, options))).unwrap();
        (segment, Tombstones::default())
    };
    // One part with a graph, one with codes, one with rows alone.
    let coded = SegmentOptions { graph_from: usize::MAX, ..options.clone() };
    let plain = SegmentOptions { codes_from: usize::MAX, ..options.clone() };
    let parts =
        vec![segment(&rows[..2000], &options), segment(&rows[2000..2900], &coded), segment(&rows[2900..], &plain)];
    let set = Set::new(DIM, parts);
    let filters: Vec<Option<Vec<u64>>> = vec![
        None,
        Some(vec![3, 700, 2950]),
        Some((0..3000).filter(|id| id % 3 == 0).collect()),
        Some((0..3000).filter(|id| id % 9 != 0).collect()),
    ];
    let (mut scratch, mut hits) = (Scratch::default(), Vec::new());
    let walk = Effort::Walk { ef: 100, slack: 0.2 };
    let mut run = |found: &mut usize| {
        for query in values.chunks(DIM).step_by(100) {
            for filter in &filters {
                for effort in [Effort::Exact, Effort::Flat, walk, Effort::default()] {
                    let search = Search { effort, ..Search::new(10, filter.as_deref()) };
                    set.search_with(&mut scratch, query, &search, &mut hits);
                    *found += hits.len();
                }
            }
        }
    };
    let mut found = 0;
    run(&mut found);
    let before = COUNT.load(Ordering::Relaxed);
    run(&mut found);
    assert_eq!(COUNT.load(Ordering::Relaxed) - before, 0, "allocations of {found} hits");
}
