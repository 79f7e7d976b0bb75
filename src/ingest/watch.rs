//! Waits until something below the given paths may have changed.
//!
//! What the system tells is a hint and nothing more: it may come late, twice, or not at all (network disks, full queues).
//! So a run after it looks at everything anew, and there is one from time to time without any hint.
//!
//! Not for: knowing what changed.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use notify::{Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::types::Cancel;

/// Changes come in bursts: a burst is over when nothing came for so long.
const QUIET: Duration = Duration::from_millis(300);
/// But is not waited for longer than this.
const BURST: Duration = Duration::from_secs(5);
/// How long to wait without any hint.
const RESCAN: Duration = Duration::from_secs(600);
/// The same where the system gives no hints.
const RESCAN_BLIND: Duration = Duration::from_secs(30);
/// How often a wait looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(100);

/// Watches paths until it is dropped.
pub struct Watch {
    hints: Receiver<()>,
    rescan: Duration,
    /// Present while the system gives hints.
    _watcher: Option<RecommendedWatcher>,
    blind: Option<String>,
}

impl Watch {
    /// Begins to watch. Where the system cannot, folders are looked at from time to time all the same; see
    /// [`blind`](Self::blind).
    pub fn new(paths: &[PathBuf], index_dir: &Path) -> Self {
        let (tell, hints) = mpsc::channel();
        let index_dir = super::walk::resolve_if_there(index_dir);
        let told = move |event: notify::Result<Event>| {
            // An error may mean that hints were lost, which is a hint too. Nobody may be listening any more.
            if event.as_ref().map_or(true, |event| is_change(event, &index_dir)) {
                let _ = tell.send(());
            }
        };
        let watcher = RecommendedWatcher::new(told, Config::default().with_follow_symlinks(false));
        let watching = watcher.and_then(|mut watcher| {
            paths.iter().try_for_each(|path| watcher.watch(path, RecursiveMode::Recursive)).map(|()| watcher)
        });
        match watching {
            Ok(watcher) => Self { hints, rescan: RESCAN, _watcher: Some(watcher), blind: None },
            Err(error) => Self { hints, rescan: RESCAN_BLIND, _watcher: None, blind: Some(why(&error)) },
        }
    }

    /// Why there are no hints, if so: a sentence that says what to do.
    pub fn blind(&self) -> Option<&str> {
        self.blind.as_deref()
    }

    /// Waits for a change and the end of its burst, or the time to look without one; at least `pause`. `false`: a stop
    /// was asked for.
    pub fn wait(&self, pause: Duration, cancel: &Cancel) -> bool {
        let began = Instant::now();
        let mut first_hint: Option<Instant> = None;
        let mut last_hint = began;
        loop {
            if cancel.is_asked() {
                return false;
            }
            match self.hints.recv_timeout(POLL) {
                Ok(()) => {
                    last_hint = Instant::now();
                    first_hint.get_or_insert(last_hint);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL),
            }
            let is_over = first_hint.is_some_and(|first| last_hint.elapsed() >= QUIET || first.elapsed() >= BURST);
            if began.elapsed() >= pause && (is_over || began.elapsed() >= self.rescan) {
                return true;
            }
        }
    }
}

/// Whether an event can mean that a document changed.
fn is_change(event: &Event, index_dir: &Path) -> bool {
    let is_ours =
        |path: &PathBuf| !path.starts_with(index_dir) && !path.components().any(|part| part.as_os_str() == ".git");
    let is_access = matches!(event.kind, EventKind::Access(_));
    event.need_rescan() || (!is_access && (event.paths.is_empty() || event.paths.iter().any(is_ours)))
}

fn why(error: &notify::Error) -> String {
    match &error.kind {
        ErrorKind::MaxFilesWatch => format!(
            "the system watches no more folders for this user, so they are looked at every {} s; \
             `sudo sysctl fs.inotify.max_user_watches=1048576` lets it watch more",
            RESCAN_BLIND.as_secs()
        ),
        _ => format!(
            "the system gives no word of changes ({error}), so they are looked for every {} s",
            RESCAN_BLIND.as_secs()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_ends_the_wait_and_the_index_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join(".rag");
        std::fs::create_dir(&index).unwrap();
        let watch = Watch::new(&[dir.path().to_owned()], &index);
        assert_eq!(watch.blind(), None);
        let cancel = Cancel::default();
        std::fs::write(index.join("x"), "x").unwrap();
        std::fs::write(dir.path().join("a.md"), "x").unwrap();
        assert!(watch.wait(Duration::ZERO, &cancel), "a file was written");
        cancel.ask();
        assert!(!watch.wait(Duration::ZERO, &cancel));
    }

    #[test]
    fn what_is_a_change() {
        let index = Path::new("/home/.rag");
        let event = |kind, path: &str| Event::new(kind).add_path(path.into());
        let modified = EventKind::Modify(notify::event::ModifyKind::Any);
        for (event, want) in [
            (event(modified, "/home/a.md"), true),
            (event(modified, "/home/.rag/text/x"), false),
            (event(modified, "/home/.git/index"), false),
            (event(EventKind::Access(notify::event::AccessKind::Any), "/home/a.md"), false),
            (Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan), true),
        ] {
            assert_eq!(is_change(&event, index), want, "{event:?}");
        }
    }
}
