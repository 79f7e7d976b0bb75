//! Work that is split by index, on scoped threads.
//!
//! Useful for: the same result whatever the number of threads. Not for: work that waits.

use std::{
    num::NonZero,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

/// How many threads are meant: 0 is as many as there are cores.
pub(super) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    }
}

/// Calls `work` with each chunk of `chunk` elements (the last may be shorter) and the index of its first; each thread has a
/// state of its own from `state`. Which thread gets which chunk is open, so the result may depend on neither.
pub(super) fn for_each_chunk<T: Send, S>(
    threads: usize,
    values: &mut [T],
    chunk: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, &mut [T]) + Sync,
) {
    let chunks = values.len().div_ceil(chunk);
    if threads <= 1 || chunks <= 1 {
        let mut own = state();
        values.chunks_mut(chunk).enumerate().for_each(|(index, values)| work(&mut own, index * chunk, values));
        return;
    }
    let slots: Vec<Mutex<Option<&mut [T]>>> = values.chunks_mut(chunk).map(|values| Mutex::new(Some(values))).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        let mut own = state();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(index) else { break };
            let taken = slot.lock().ok().and_then(|mut slot| slot.take());
            if let Some(values) = taken {
                work(&mut own, index * chunk, values);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(chunks) {
            scope.spawn(run);
        }
        run();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_seen_once_whatever_the_threads() {
        for threads in [0, 1, 2, 5] {
            for chunk in [1, 3, 100, 1000] {
                let mut values = vec![0usize; 100];
                for_each_chunk(
                    threads,
                    &mut values,
                    chunk,
                    || 1,
                    |one, first, values| {
                        for (at, value) in values.iter_mut().enumerate() {
                            *value += (first + at) * *one + 1;
                        }
                    },
                );
                assert!(values.iter().enumerate().all(|(at, &value)| value == at + 1));
            }
        }
        for_each_chunk(4, &mut [0u8; 0], 3, || (), |(), _, _| unreachable!());
    }
}
