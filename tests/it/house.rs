//! A folder of its own for each test, and `rag` run in it with a clean environment.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A temporary home: documents go to `docs/`, the index to `.rag/`.
pub struct House {
    dir: tempfile::TempDir,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl House {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("rag-it-").tempdir().expect("a temporary folder");
        let above = dir.path().ancestors().map(|folder| folder.join(".rag")).find(|folder| folder.exists());
        assert_eq!(above, None, "an index above the tests would be taken for theirs");
        Self { dir }
    }

    /// With `sample-docs/` of the project in it.
    pub fn with_samples() -> Self {
        let house = Self::new();
        copy_tree(&project().join("sample-docs"), &house.path("sample-docs"));
        house
    }

    /// With the samples ingested.
    pub fn with_index() -> Self {
        let house = Self::with_samples();
        house.rag(["ingest", "sample-docs", "--quiet"]).ok();
        house
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, content).expect("a file");
    }

    /// A command that sees nothing of the machine's settings, keys or proxies.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rag"));
        command.current_dir(self.dir.path()).stdin(Stdio::null()).env_clear();
        command.env("HOME", self.dir.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    pub fn rag<const N: usize>(&self, arguments: [&str; N]) -> Ran {
        self.rag_env(arguments, &[])
    }

    pub fn rag_env<const N: usize>(&self, arguments: [&str; N], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command();
        command.args(arguments).envs(variables.iter().copied());
        Ran::from(command.output().expect("rag runs"))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }
}

impl Ran {
    /// Asserts exit 0.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.exits(0)
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The one JSON object on stdout, of this schema.
    #[track_caller]
    pub fn json(&self, schema: &str) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr));
        assert_eq!(value["schema"], schema);
        value
    }

    /// The one JSON error on stderr.
    #[track_caller]
    pub fn json_error(&self) -> Value {
        let value: Value =
            serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}\nstderr:\n{}", self.stderr));
        assert_eq!(value["schema"], "rag.error/1");
        value["error"].clone()
    }
}

/// The folder of the project.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Every file below a folder with its bytes: two of these tell whether anything was written.
pub fn contents(dir: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(entry.path(), fs::read(entry.path()).expect("a file"));
            }
        }
    }
    found
}
