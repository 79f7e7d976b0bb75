//! Where an ONNX Runtime library may be. Reads folders, never the environment: callers say what to look under.

use std::{
    cmp::Reverse,
    env::consts::{ARCH, DLL_EXTENSION, DLL_PREFIX, DLL_SUFFIX, OS},
    fs,
    path::{Path, PathBuf},
};

/// The folders where this system keeps libraries, in the order they are searched.
pub fn system_folders() -> Vec<PathBuf> {
    match OS {
        "windows" => Vec::new(),
        "macos" => ["/opt/homebrew/lib", "/usr/local/lib"].map(PathBuf::from).to_vec(),
        _ => vec![
            "/usr/local/lib".into(),
            format!("/usr/lib/{ARCH}-linux-gnu").into(),
            "/usr/lib64".into(),
            "/usr/lib".into(),
        ],
    }
}

/// The folders of Python's `onnxruntime` packages under one installation or virtual environment (`/usr`, `~/.local`,
/// `.venv`), newest Python first. Empty where there is none.
pub fn python_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for lib in ["lib", "lib64", "local/lib", "Lib"] {
        let lib = root.join(lib);
        let mut pythons: Vec<_> = names(&lib).filter(|name| name.starts_with("python3")).collect();
        pythons.sort_by_key(|name| Reverse(numbers(name)));
        // On Windows the packages lie right under `Lib`.
        pythons.push(String::new());
        for python in pythons {
            for packages in ["site-packages", "dist-packages"] {
                found.push(lib.join(&python).join(packages).join("onnxruntime/capi"));
            }
        }
    }
    found.retain(|folder| folder.is_dir());
    found
}

/// The library at a place: the file itself, or the newest in the folder. Links are followed and the path is absolute.
pub(super) fn library_in(place: &Path) -> Option<PathBuf> {
    if place.is_file() {
        return fs::canonicalize(place).ok();
    }
    let newest = names(place)
        .filter(|name| version_in(name).is_some())
        .max_by_key(|name| (version_in(name).map(numbers), Reverse(name.len())))?;
    fs::canonicalize(place.join(newest)).ok().filter(|path| path.is_file())
}

/// The library's plain name on this system: `libonnxruntime.so`.
pub(super) fn file_name() -> PathBuf {
    format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}").into()
}

/// The version that a library's file name tells.
pub(super) fn version(library: &Path) -> Option<String> {
    let version = version_in(library.file_name()?.to_str()?)?;
    (!version.is_empty()).then(|| version.to_owned())
}

/// What the name of a library says of its version, maybe nothing; `None` for any other file:
/// `libonnxruntime.so.1.32.0`, `libonnxruntime.1.32.0.dylib`, `onnxruntime.dll`.
fn version_in(name: &str) -> Option<&str> {
    let rest = name.strip_prefix(DLL_PREFIX)?.strip_prefix("onnxruntime")?.strip_prefix('.')?;
    let version = match rest.strip_prefix(DLL_EXTENSION) {
        Some(version) => version.strip_prefix('.').unwrap_or(version),
        None => rest.strip_suffix(DLL_EXTENSION)?.strip_suffix('.')?,
    };
    version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(version)
}

/// The numbers in a name, to order versions by.
fn numbers(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// The names in a folder that are text; none if it cannot be read.
fn names(folder: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn names_of_libraries() {
        for (name, want) in [
            ("libonnxruntime.so", Some("")),
            ("libonnxruntime.so.1", Some("1")),
            ("libonnxruntime.so.1.32.0", Some("1.32.0")),
            ("libonnxruntime_providers_shared.so", None),
            ("libonnxruntime.so.1.32.0.bak", None),
            ("libonnxruntime.a", None),
            ("onnxruntime.so", None),
        ] {
            assert_eq!(version_in(name), want, "{name}");
        }
    }

    #[test]
    fn the_newest_library_of_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(library_in(folder.path()), None);
        assert_eq!(library_in(&folder.path().join("missing")), None);
        fs::create_dir(folder.path().join("libonnxruntime.so.9")).expect("a folder of that name");
        assert_eq!(library_in(folder.path()), None);
        fs::remove_dir(folder.path().join("libonnxruntime.so.9")).expect("it is empty");
        for name in ["libonnxruntime.so.1.9.0", "libonnxruntime.so.1.22.1", "libonnxruntime_providers_shared.so"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let newest = library_in(folder.path()).expect("one is there");
        assert!(newest.ends_with("libonnxruntime.so.1.22.1"));
        assert_eq!(version(&newest).as_deref(), Some("1.22.1"));
        assert_eq!(library_in(&newest), Some(newest));
    }

    #[test]
    fn packages_of_the_newest_python_first() {
        let root = tempfile::tempdir().expect("a folder");
        for python in ["python3.9", "python3.12"] {
            let capi = root.path().join("lib").join(python).join("site-packages/onnxruntime/capi");
            fs::create_dir_all(capi).expect("folders");
        }
        fs::create_dir_all(root.path().join("lib/python3.13/site-packages")).expect("folders");
        let found = python_folders(root.path());
        let tails: Vec<_> = found.iter().map(|path| path.strip_prefix(root.path()).expect("below")).collect();
        let want = ["python3.12", "python3.9"].map(|python| format!("lib/{python}/site-packages/onnxruntime/capi"));
        assert_eq!(tails, want.map(PathBuf::from));
        assert!(python_folders(Path::new("/nonexistent")).is_empty());
    }
}
