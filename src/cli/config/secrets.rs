//! Which files hold secrets, and whether others may read them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Config, Origin, Value};

/// Files that hold a key, or an address with a password in it.
pub fn files_with_secrets(config: &Config) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (key, (value, origin)) in config.values.iter().chain(config.profiles.values().flatten()) {
        match (value, origin) {
            (Value::One(path), _) if key.ends_with(".key_file") => files.push(PathBuf::from(path)),
            (Value::One(url), Origin::File(path)) if key.ends_with(".url") && has_password(url) => {
                files.push(path.clone());
            }
            (Value::Many(lines), Origin::File(path)) if *key == "llm.headers" => {
                files.extend(lines.iter().any(|line| is_secret_header(line)).then(|| path.clone()));
            }
            (Value::One(_) | Value::Many(_), _) => {}
        }
    }
    files.sort();
    files.dedup();
    files
}

fn has_password(url: &str) -> bool {
    url.split_once("://").and_then(|(_, rest)| rest.split('/').next()).is_some_and(|host| host.contains('@'))
}

/// A header that carries a key, and has it in it: not by a variable's name.
fn is_secret_header(line: &str) -> bool {
    let name = line.split([':', '=']).next().unwrap_or_default().to_lowercase();
    !line.contains("${") && ["auth", "key", "token", "secret", "cookie"].iter().any(|word| name.contains(word))
}

/// Whether others than its owner may read a file. Never elsewhere than on Unix.
pub fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    return fs::metadata(path)
        .is_ok_and(|meta| std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077 != 0);
    #[cfg(not(unix))]
    return path.as_os_str().is_empty();
}
