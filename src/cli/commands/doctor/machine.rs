//! The program, its settings, the tools and limits of the machine.

use std::path::{Path, PathBuf};

use rag::{index::Snapshot, ingest::Loaders};

use super::Doctor;
use crate::cli::{config, env, mend::quoted, report::Failure};

/// Watches that `--watch` may need beyond the folders there are.
const SPARE_WATCHES: u64 = 1024;
/// Fewer open files than this are few for workers and segments.
const MIN_FILES: u64 = 256;

impl Doctor<'_> {
    pub(super) fn program(&mut self) {
        let features =
            [("onnx", cfg!(feature = "onnx")), ("pdf", cfg!(feature = "pdf")), ("code", cfg!(feature = "code"))];
        let built: Vec<&str> = features.iter().filter(|(_, is_in)| *is_in).map(|(name, _)| *name).collect();
        let what = format!("rag {}, with {}", env!("CARGO_PKG_VERSION"), built.join(", "));
        match std::env::current_exe() {
            Ok(_) => self.ok("program", what),
            Err(error) => {
                let fix = "run the program by its path; it starts itself to read files";
                self.failed("program", format!("{what}; its own file is not found: {error}"), fix);
            }
        }
    }

    pub(super) fn settings(&mut self, wrong: Option<Failure>) {
        if let Some(failure) = wrong {
            let fix = failure.hint_text().unwrap_or_else(|| "edit that file".into());
            return self.failed("settings", failure.message(), fix);
        }
        let from = config::user_file().filter(|path| path.exists());
        let from = from.map_or("defaults".to_owned(), |path| format!("`{}`", path.display()));
        let variables = env::names("RAG_");
        let strangers = config::strangers(variables.clone());
        let read: Vec<String> =
            variables.into_iter().filter(|name| strangers.iter().all(|stranger| stranger.name != *name)).collect();
        let and = match &read[..] {
            [] => String::new(),
            read => format!(", and of the environment {}", read.join(", ")),
        };
        self.ok("settings", format!("read from {from}{and}"));
        for stranger in strangers {
            let fix = format!("unset {}", stranger.name);
            self.warn("settings", stranger.to_string(), fix);
        }
        for path in config::files_with_secrets(self.config) {
            if config::is_open_to_others(&path) {
                let (what, fix) = (
                    format!("`{}` holds secrets and others may read it", path.display()),
                    format!("chmod 600 {}", quoted(&path.display().to_string())),
                );
                if self.fix && close(&path) {
                    self.fixed("secrets", format!("`{}` closed to others", path.display()));
                } else {
                    self.warn("secrets", what, fix);
                }
            }
        }
    }

    /// Programs that settings name.
    pub(super) fn tools(&mut self) {
        let Ok(loaders) = Loaders::of(&self.config.list("ingest.loaders")) else {
            return self.failed("loaders", "`ingest.loaders` cannot be read", "rag config");
        };
        for (extension, command) in loaders.iter() {
            let Some(program) = command.first() else { continue };
            match find(program) {
                Some(path) => self.ok("loaders", format!("`{extension}` is read by `{}`", path.display())),
                None => {
                    let fix = format!("install `{program}`, or take its line out of `ingest.loaders`");
                    self.failed("loaders", format!("`{program}` for `{extension}` is not there"), fix);
                }
            }
        }
    }

    /// What the system lets a process have.
    pub(super) fn limits(&mut self, snapshot: Option<&Snapshot>) {
        #[cfg(unix)]
        {
            let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
            match files {
                Some(files) if files < MIN_FILES => {
                    self.warn("open files", format!("{files} at most"), "ulimit -n 1024");
                }
                Some(files) => self.ok("open files", format!("{files} at most")),
                None => self.ok("open files", "no limit"),
            }
        }
        let Ok(text) = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches") else { return };
        let Ok(watches) = text.trim().parse::<u64>() else { return };
        let folders = snapshot.and_then(|snapshot| snapshot.sources(None).ok()).map_or(0, |sources| {
            let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
            let all = sources.iter().map(|source| folder(&source.display_path()));
            all.collect::<std::collections::BTreeSet<_>>().len() as u64
        });
        if watches < folders + SPARE_WATCHES {
            let what = format!("{watches} folders can be watched, the documents are in {folders}");
            self.warn("watches", what, "sudo sysctl fs.inotify.max_user_watches=524288");
        } else {
            self.ok("watches", format!("{watches} folders can be watched"));
        }
    }
}

/// A program by its path or in the folders of `PATH`.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = env::os(env::PATH)?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn close(path: &Path) -> bool {
    #[cfg(unix)]
    return std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).is_ok();
    #[cfg(not(unix))]
    return !path.exists();
}
