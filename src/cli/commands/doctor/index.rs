//! The index: is it there, whole, ours alone, free to be written, and does it agree with the files?

use std::{
    fs,
    path::{Path, PathBuf},
};

use rag::{
    index::{Snapshot, SourceRecord, Status, WriterOptions},
    types::Kind,
};

use super::Doctor;
use crate::cli::{
    mend::quoted,
    output::{bytes, count},
    report::Failure,
};

/// Less free space than this, or than the index takes, is too little: a merge writes it once more.
const MIN_FREE_BYTES: u64 = 64 << 20;
/// An index of more bytes is not read whole.
const MAX_READ_BYTES: u64 = 4 << 30;
/// So many files are looked at.
const MAX_STALE_CHECKED: usize = 200_000;

impl Doctor<'_> {
    /// What the index holds, if it can be opened.
    pub(super) fn index(&mut self) -> Option<Snapshot> {
        let dir = self.place.dir.clone();
        let index = match self.place.open() {
            Ok(index) => index,
            Err(failure) => {
                self.no_index(&failure);
                self.disk(&dir, 0);
                return None;
            }
        };
        self.ok("format", format!("`{}` has format {}", dir.display(), rag::index::FORMAT));
        self.permissions(&dir);
        let holder = index.holder();
        match &holder {
            Some(holder) => self.warn("lock", format!("being written by {holder}"), "wait for it, or `--wait 60s`"),
            None => self.ok("lock", "nobody is writing"),
        }
        let snapshot = match index.snapshot() {
            Ok(snapshot) => snapshot,
            Err(error) => {
                let fix = if error.kind() == Kind::Corrupt { self.place.mend(None) } else { self.rag("status") };
                self.failed("index", error.to_string(), fix);
                return None;
            }
        };
        let size = index.size_bytes().unwrap_or(0);
        match snapshot.stats() {
            Ok(stats) => {
                let (documents, chunks) = (count(stats.sources, "document"), count(stats.chunks, "chunk"));
                let generation = snapshot.generation();
                self.ok("index", format!("{documents}, {chunks}, generation {generation}, {}", bytes(size)));
            }
            Err(error) => self.failed("index", error.to_string(), self.place.mend(Some(&snapshot))),
        }
        self.checksums(&index, &snapshot, size);
        self.orphans(&index, holder.is_some());
        match index.begun_spaces() {
            Ok(begun) if !begun.is_empty() => {
                let abort = self.rag("reembed --abort");
                let what = format!("an embedding space was begun and not finished; to give it up: `{abort}`");
                self.warn("reembed", what, self.rag("reembed"));
            }
            Ok(_) | Err(_) => {}
        }
        self.disk(&dir, size);
        self.sources(&snapshot);
        Some(snapshot)
    }

    /// Whether every byte is as it was written.
    fn checksums(&mut self, index: &rag::index::Index, snapshot: &Snapshot, size: u64) {
        if size > MAX_READ_BYTES {
            let verify = self.rag("verify");
            return self.ok("checksums", format!("{} are not read here: `{verify}` reads them", bytes(size)));
        }
        match index.verify() {
            Ok(verified) if verified.is_sound() => {
                let files = count(verified.files as u64, "file");
                self.ok("checksums", format!("of {files} agree, {}", bytes(verified.bytes)));
            }
            Ok(verified) => {
                let first = verified.faults.first().map(ToString::to_string).unwrap_or_default();
                let more = match verified.faults.len() {
                    0 | 1 => String::new(),
                    faults => format!(" (and {} more: `{}`)", faults - 1, self.rag("verify")),
                };
                self.failed("checksums", format!("{first}{more}"), self.place.mend(Some(snapshot)));
            }
            Err(error) => self.failed("checksums", error.to_string(), self.place.mend(Some(snapshot))),
        }
    }

    fn no_index(&mut self, failure: &Failure) {
        let fix = match failure.kind() {
            Some(Kind::NotFound) => self.rag("ingest PATH"),
            Some(Kind::Incompatible) => "update this program, or ingest into a new index with `--index DIR`".into(),
            Some(Kind::Corrupt) => self.place.mend(None),
            Some(_) | None => failure.hint_text().unwrap_or_else(|| self.rag("status")),
        };
        self.failed("index", failure.message(), fix);
    }

    /// Folders 0700, files 0600: others read nothing.
    #[cfg(unix)]
    fn permissions(&mut self, dir: &Path) {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let mut open = Vec::new();
        let mut writable = fs::File::options().append(true).open(dir.join("lock")).is_ok();
        each_entry(dir, &mut |path, meta| {
            if meta.mode() & 0o077 != 0 {
                open.push((path.to_path_buf(), meta.mode() & 0o700));
            }
        });
        if !dir.join("lock").exists() {
            writable = !fs::metadata(dir).is_ok_and(|meta| meta.permissions().readonly());
        }
        let shown = quoted(&dir.display().to_string());
        if !writable {
            let is_mounted_so =
                rustix::fs::statvfs(dir).is_ok_and(|stat| stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY));
            let (what, fix) = if is_mounted_so {
                ("it lies on a read-only file system: it can be read, not written", format!("cp -r {shown} FOLDER"))
            } else {
                ("the index cannot be written here: it can be read", format!("chmod -R u+w {shown}"))
            };
            return self.warn("permissions", what, fix);
        }
        if open.is_empty() {
            return self.ok("permissions", "nobody else reads the index");
        }
        let files = if open.len() == 1 { "1 entry".to_owned() } else { format!("{} entries", open.len()) };
        if self.fix {
            let closed =
                open.iter().all(|(path, mode)| fs::set_permissions(path, fs::Permissions::from_mode(*mode)).is_ok());
            if closed {
                return self.fixed("permissions", format!("{files} closed to others"));
            }
        }
        self.warn("permissions", format!("{files} open to other users"), format!("chmod -R go-rwx {shown}"));
    }

    #[cfg(not(unix))]
    fn permissions(&mut self, _dir: &Path) {}

    fn orphans(&mut self, index: &rag::index::Index, is_written: bool) {
        match index.orphans() {
            Ok(orphans) if orphans.is_empty() => self.ok("left-overs", "none"),
            // The work of the one who writes.
            Ok(_) if is_written => {}
            Ok(orphans) => {
                let files = count(orphans.len() as u64, "file");
                let options = WriterOptions { command: "rag doctor --fix".into(), ..WriterOptions::default() };
                // Whoever begins to write clears them away.
                if self.fix && index.writer(&options).is_ok() {
                    return self.fixed("left-overs", format!("{files} of a run that was cut off removed"));
                }
                self.warn("left-overs", format!("{files} of a run that was cut off"), self.rag("doctor --fix"));
            }
            Err(error) => self.failed("left-overs", error.to_string(), self.place.mend(None)),
        }
    }

    #[cfg(unix)]
    fn disk(&mut self, dir: &Path, size: u64) {
        let there = dir.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
        let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        let Ok(stat) = rustix::fs::statvfs(there) else { return };
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        let wanted = size.max(MIN_FREE_BYTES);
        if free < wanted {
            let what = format!("{} free, a merge may need {}", bytes(free), bytes(wanted));
            self.failed("disk", what, format!("free space on the disk of `{}`", there.display()));
        } else {
            self.ok("disk", format!("{} free", bytes(free)));
        }
    }

    #[cfg(not(unix))]
    fn disk(&mut self, _dir: &Path, _size: u64) {}

    /// What became of the files since they were read.
    fn sources(&mut self, snapshot: &Snapshot) {
        let Ok(sources) = snapshot.sources(None) else { return };
        let failed = sources.iter().filter(|source| source.status == Status::Failed).count();
        if failed > 0 {
            self.warn(
                "documents",
                format!("{} could not be read", count(failed as u64, "document")),
                self.rag("status --problems"),
            );
        }
        let home = self.place.home();
        let (mut changed, mut gone, mut seen) = (0_u64, 0_u64, 0_u64);
        for source in sources.iter().take(MAX_STALE_CHECKED) {
            let root = if source.root.is_empty() {
                home.clone()
            } else {
                snapshot.roots().get(&source.root).map(PathBuf::from)
            };
            let Some(root) = root else { continue };
            seen += 1;
            match fs::symlink_metadata(root.join(source.path.to_path())) {
                Ok(meta) => changed += u64::from(is_changed(&meta, source)),
                Err(_) => gone += 1,
            }
        }
        match (seen, changed + gone) {
            (0, _) => {}
            (_, 0) => self.ok("files", format!("{} as they were read", count(seen, "file"))),
            (_, _) => self.warn(
                "files",
                format!("{changed} changed and {gone} gone since they were read"),
                self.place.ingest_again(Some(snapshot)),
            ),
        }
    }
}

fn is_changed(meta: &fs::Metadata, source: &SourceRecord) -> bool {
    let since = meta.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let mtime = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
    meta.len() != source.size_bytes || mtime.is_some_and(|mtime| mtime != source.mtime_ns)
}

/// Calls `each` with a folder and everything in it, links not followed.
#[cfg(unix)]
fn each_entry(path: &Path, each: &mut dyn FnMut(&Path, &fs::Metadata)) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    if meta.is_symlink() || path.file_name().is_some_and(|name| name == crate::cli::config::INDEX_FILE) {
        return;
    }
    each(path, &meta);
    if meta.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            each_entry(&entry.path(), each);
        }
    }
}
