//! The cache by itself: what it keeps, what it lets go, and what it survives.

use std::sync::atomic::AtomicU64;

use proptest::prelude::*;

use super::*;

/// Clocks that a test sets.
#[derive(Debug, Default)]
struct Hands {
    wall: AtomicU64,
    steady: AtomicU64,
}

impl Clock for Hands {
    fn wall(&self) -> u64 {
        self.wall.load(Ordering::SeqCst)
    }

    fn steady(&self) -> u64 {
        self.steady.load(Ordering::SeqCst)
    }
}

const NOW: u64 = 1_800_000_000;
const TTL: u64 = 1000;

struct Bench {
    dir: tempfile::TempDir,
    clock: Arc<Hands>,
    max_bytes: u64,
}

impl Bench {
    fn new() -> Self {
        let clock = Arc::new(Hands::default());
        clock.wall.store(NOW, Ordering::SeqCst);
        Self { dir: tempfile::tempdir().unwrap(), clock, max_bytes: 1 << 20 }
    }

    fn options(&self) -> StoreOptions {
        StoreOptions {
            dir: self.dir.path().to_path_buf(),
            ttl: Duration::from_secs(TTL),
            max_bytes: self.max_bytes,
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            damaged: Damaged::SetAside,
        }
    }

    fn open(&self) -> Store {
        Store::open(self.options()).unwrap().0
    }

    /// The wall and the steady clock go on alike.
    fn pass(&self, seconds: u64) {
        self.clock.wall.fetch_add(seconds, Ordering::SeqCst);
        self.clock.steady.fetch_add(seconds, Ordering::SeqCst);
    }
}

fn key(n: u64) -> Key {
    *blake3::hash(&n.to_le_bytes()).as_bytes()
}

fn get(store: &Store, n: u64) -> Option<Vec<u8>> {
    store.get(&key(n)).map(|entry| entry.payload)
}

#[test]
fn entries_stay_over_a_restart() {
    let bench = Bench::new();
    let store = bench.open();
    for n in 0..50 {
        store.put(key(n), format!("answer {n}").as_bytes(), (n == 7).then(|| b"question".to_vec())).unwrap();
    }
    assert_eq!(get(&store, 7).as_deref(), Some(&b"answer 7"[..]));
    store.put(key(7), b"another", Some(b"question 2".to_vec())).unwrap();
    store.delete(&key(8));
    drop(store);
    let (store, opened) = Store::open(bench.options()).unwrap();
    assert_eq!(store.stats().entries, 49);
    assert_eq!(get(&store, 7).as_deref(), Some(&b"another"[..]));
    assert_eq!(get(&store, 8), None);
    assert_eq!(opened.questions, [(key(7), b"question 2".to_vec())]);
    assert!(opened.set_aside.is_none());
}

#[test]
fn what_the_journal_has_is_there_without_any_commit() {
    let bench = Bench::new();
    drop(bench.open());
    // A process that died: its records are in the journal alone.
    let (mut journal, _) = Journal::open(bench.dir.path()).unwrap();
    for n in 0..3 {
        journal.append(&key(n), &record(None, &packed(NOW, b"kept"))).unwrap();
    }
    journal.append(&key(0), &record(Some(b"q"), &packed(NOW, b"newer"))).unwrap();
    journal.append(&key(9), &record(None, b"senseless")).unwrap();
    drop(journal);
    let (store, opened) = Store::open(bench.options()).unwrap();
    assert_eq!(get(&store, 0).as_deref(), Some(&b"newer"[..]));
    assert_eq!(get(&store, 2).as_deref(), Some(&b"kept"[..]));
    assert_eq!(store.stats().entries, 3);
    assert_eq!(opened.questions.len(), 1);
    drop(store);
    // It is in the database now, and the journal is gone.
    let journals = fs::read_dir(bench.dir.path()).unwrap().filter(|entry| {
        let entry = entry.as_ref().unwrap();
        entry.file_name().to_string_lossy().starts_with("journal.") && entry.metadata().unwrap().len() > 0
    });
    assert_eq!(journals.count(), 0);
    assert_eq!(bench.open().stats().entries, 3);
}

#[test]
fn entries_grow_old_and_clocks_jump() {
    let bench = Bench::new();
    let store = bench.open();
    store.put(key(1), b"x", None).unwrap();
    bench.pass(TTL - 1);
    assert_eq!(store.get(&key(1)).unwrap().age_seconds, TTL - 1);
    bench.pass(1);
    assert!(!store.has(&key(1)));
    assert_eq!(get(&store, 1), None);
    assert_eq!(store.stats().expired, 1);

    // The wall goes back a year: what is stored is of the future.
    store.put(key(2), b"x", None).unwrap();
    bench.clock.wall.fetch_sub(31_536_000, Ordering::SeqCst);
    assert_eq!(get(&store, 2), None);

    // A clock that stands still does not keep an entry alive for ever.
    store.put(key(3), b"x", None).unwrap();
    bench.clock.steady.fetch_add(2 * TTL - 1, Ordering::SeqCst);
    assert!(store.has(&key(3)));
    bench.clock.steady.fetch_add(1, Ordering::SeqCst);
    assert!(!store.has(&key(3)));

    // Nor does one that goes back a little for every hour.
    store.put(key(4), b"x", None).unwrap();
    bench.clock.wall.fetch_sub(30, Ordering::SeqCst);
    assert_eq!(store.get(&key(4)).unwrap().age_seconds, 0);
    drop(store);
    bench.clock.wall.fetch_add(TTL + 31, Ordering::SeqCst);
    assert_eq!(bench.open().stats().entries, 0, "expired ones go at the start");
}

#[test]
fn the_cache_keeps_its_size() {
    let bench = Bench::new();
    let store = bench.open();
    let mut random = 7u64;
    let mut noise = |length: usize| -> Vec<u8> {
        (0..length)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 56) as u8
            })
            .collect()
    };
    let mut gone = 0;
    for n in 0..600 {
        gone += store.put(key(n), &noise(20_000), None).unwrap().len();
        // One that is asked for again and again is never let go.
        assert!(get(&store, 0).is_some(), "{n}");
        assert!(store.stats().bytes <= bench.max_bytes);
    }
    assert!(gone > 500, "{gone}");
    assert_eq!(store.stats().evicted as usize, gone);
    assert!(store.put(key(9999), &noise(400_000), None).is_err(), "larger than a quarter of the cache");
    drop(store);
    let size: u64 = fs::read_dir(bench.dir.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(size <= 4 * bench.max_bytes + (4 << 20), "{size} bytes on the disk");
    let store = bench.open();
    assert!(store.stats().bytes <= bench.max_bytes);
    assert!(get(&store, 599).is_some());
}

#[test]
fn purged_entries_are_found_by_no_later_process() {
    let bench = Bench::new();
    let store = bench.open();
    for n in 0..20 {
        store.put(key(n), b"old", None).unwrap();
    }
    bench.pass(100);
    store.put(key(100), b"young", None).unwrap();
    assert_eq!(store.purge(Some(Duration::from_secs(50))).unwrap(), 20);
    assert_eq!(store.stats().entries, 1);
    assert_eq!(store.purge(None).unwrap(), 1);
    assert_eq!(store.stats().pending, 0);
    // As after a crash: nothing comes back out of the journal.
    let (_, records) = Journal::open(bench.dir.path()).unwrap();
    assert_eq!(records, []);
    drop(store);
    assert_eq!(bench.open().stats().entries, 0);
}

/// The disk was full: nobody is told that it is done, and the next commit makes it so.
#[test]
fn a_purge_that_cannot_be_written_is_an_error() {
    for older_than in [None, Some(Duration::ZERO)] {
        let bench = Bench::new();
        let store = bench.open();
        for n in 0..5 {
            store.put(key(n), b"old", None).unwrap();
        }
        store.flush();
        store.shared.table.is_full.store(true, Ordering::SeqCst);
        let error = store.purge(older_than).unwrap_err();
        assert!(error.to_string().contains("may come back"), "{error}");
        assert_eq!((get(&store, 1), store.stats().errors), (None, 1));
        store.shared.table.is_full.store(false, Ordering::SeqCst);
        store.put(key(1), b"new", None).unwrap();
        drop(store);
        let store = bench.open();
        assert_eq!((store.stats().entries, get(&store, 1).as_deref()), (1, Some(&b"new"[..])), "{older_than:?}");
    }
}

#[test]
fn who_only_looks_sets_nothing_aside() {
    let bench = Bench::new();
    drop(bench.open());
    let path = bench.dir.path().join("cache.redb");
    let garbage = b"not a database".repeat(1000);
    fs::write(&path, &garbage).unwrap();
    let refused = Store::open(StoreOptions { damaged: Damaged::Refuse, ..bench.options() }).err().unwrap();
    assert_eq!(refused.kind(), crate::types::Kind::Corrupt);
    assert_eq!(fs::read(&path).unwrap(), garbage);
    // Purging all takes what was set aside with it: it holds answers, too.
    let (store, opened) = Store::open(bench.options()).unwrap();
    let aside = opened.set_aside.unwrap();
    assert!(aside.exists());
    store.purge(None).unwrap();
    assert!(!aside.exists());
}

/// A disk that cannot be read now says nothing about what is on it.
#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_is_not_damaged() {
    let bench = Bench::new();
    drop(bench.open());
    let path = bench.dir.path().join("cache.redb");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = Store::open(bench.options()).err().unwrap();
    assert_eq!(error.kind(), crate::types::Kind::Io);
    assert!(path.is_dir() && !bench.dir.path().join("cache.redb.damaged-1").exists());
}

#[test]
fn a_damaged_database_is_set_aside() {
    for damage in ["garbage", "flipped", "cut", "empty"] {
        let bench = Bench::new();
        let store = bench.open();
        for n in 0..200 {
            store.put(key(n), &[n as u8; 3000], None).unwrap();
        }
        drop(store);
        let path = bench.dir.path().join("cache.redb");
        let mut bytes = fs::read(&path).unwrap();
        match damage {
            "garbage" => bytes = b"not a database".repeat(1000),
            "flipped" => {
                for at in (0..bytes.len()).step_by(512) {
                    bytes[at] ^= 0x55;
                }
            }
            "cut" => bytes.truncate(bytes.len() / 3),
            _ => bytes.clear(),
        }
        fs::write(&path, bytes).unwrap();
        let (store, opened) = Store::open(bench.options()).unwrap_or_else(|error| panic!("{damage}: {error}"));
        assert_eq!(opened.set_aside.is_some(), damage != "empty", "{damage}");
        assert_eq!(store.stats().entries, 0, "{damage}");
        store.put(key(1), b"again", None).unwrap();
        drop(store);
        assert_eq!(get(&bench.open(), 1).as_deref(), Some(&b"again"[..]), "{damage}");
    }
}

#[test]
fn a_second_process_is_told() {
    let bench = Bench::new();
    let _store = bench.open();
    let Err(error) = Store::open(bench.options()) else { panic!("opened twice") };
    assert_eq!(error.kind(), crate::types::Kind::Locked);
    assert!(error.to_string().contains(&std::process::id().to_string()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Against a plain map, over restarts.
    #[test]
    fn a_map_agrees(steps in proptest::collection::vec((0u8..8, 0u64..6, proptest::collection::vec(any::<u8>(), 0..40)), 0..40)) {
        let bench = Bench::new();
        let mut store = Some(bench.open());
        let mut map: HashMap<u64, Vec<u8>> = HashMap::new();
        for (act, n, payload) in steps {
            let open = store.as_ref().unwrap();
            match act {
                0..=3 => {
                    open.put(key(n), &payload, None).unwrap();
                    map.insert(n, payload);
                }
                4 | 5 => {
                    open.delete(&key(n));
                    map.remove(&n);
                }
                6 => {
                    open.flush();
                    prop_assert_eq!(open.stats().pending, 0);
                }
                _ => {
                    drop(store.take());
                    store = Some(bench.open());
                }
            }
            let open = store.as_ref().unwrap();
            for n in 0..6 {
                prop_assert_eq!(get(open, n), map.get(&n).cloned());
            }
        }
    }

    #[test]
    fn stored_bytes_are_checked(payload in proptest::collection::vec(any::<u8>(), 0..200), at: prop::sample::Index, bit in 0u8..8) {
        let mut bytes = packed(NOW, &payload);
        prop_assert_eq!(unpacked(&bytes), Some(payload.clone()));
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        // The time is not part of the sum: an entry of another age is the worst of it.
        prop_assert!((1..9).contains(&at) || unpacked(&bytes).is_none());
    }
}
