//! Values into a `rag.toml`, every other line and comment as it was.

use std::{fs, io::ErrorKind, path::Path};

use rag::types::Kind;

use crate::cli::report::Failure;

/// A file that every index has.
const FORMAT_FILE: &str = "FORMAT";

/// Sets numbers in the file, which is made if it is missing. Errors: it cannot be read or written, or its form is one that
/// this does not know how to change.
pub fn set(path: &Path, values: &[(&str, f64)]) -> Result<(), Failure> {
    let shown = path.display();
    let old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::new(Kind::Io, format!("cannot read `{shown}`: {error}"))),
    };
    let new = values.iter().fold(old, |text, (key, value)| with(&text, key, *value));
    if !values.iter().all(|(key, value)| says(&new, key, *value)) {
        let lines: Vec<String> = values.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        return Err(Failure::usage(format!("`{shown}` is written in a form that is not changed by a program"))
            .hint(format!("set it by hand: {}", lines.join(", "))));
    }
    // Whole or not at all.
    let failed = |error: std::io::Error| Failure::new(Kind::Io, format!("cannot write `{shown}`: {error}"));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    std::io::Write::write_all(&mut file, new.as_bytes()).map_err(failed)?;
    // A temporary file is its owner's alone; who reads the index reads this too.
    let like = fs::metadata(path).or_else(|_| fs::metadata(folder.join(FORMAT_FILE)));
    if let Ok(like) = like {
        file.as_file().set_permissions(like.permissions()).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The text with a line for the value in the section of its key.
fn with(text: &str, key: &str, value: f64) -> String {
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let line = format!("{name} = {value}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_header = |line: &str| line.trim_start().starts_with('[');
    let Some(header) = lines.iter().position(|line| names(line, section)) else {
        if lines.last().is_some_and(|line| !line.trim().is_empty()) {
            lines.push(String::new());
        }
        lines.extend([format!("[{section}]"), line]);
        return lines.join("\n") + "\n";
    };
    let end = (header + 1..lines.len()).find(|&at| is_header(&lines[at])).unwrap_or(lines.len());
    let is_key = |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim() == name);
    match (header + 1..end).find(|&at| is_key(&lines[at])) {
        Some(at) => {
            let old = &lines[at];
            let indent = &old[..old.len() - old.trim_start().len()];
            // A number has no `#` in it.
            let comment = old.find('#').map_or("", |at| &old[at..]);
            lines[at] = format!("{indent}{line} {comment}").trim_end().to_owned();
        }
        None => lines.insert(header + 1, line),
    }
    lines.join("\n") + "\n"
}

/// `[retrieve]`, perhaps with a comment.
fn names(line: &str, section: &str) -> bool {
    let line = line.split('#').next().unwrap_or(line).trim();
    line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).is_some_and(|name| name.trim() == section)
}

fn says(text: &str, key: &str, value: f64) -> bool {
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let Ok(table) = text.parse::<toml::Table>() else { return false };
    let found = table.get(section).and_then(|section| section.get(name));
    let number = found.and_then(|found| found.as_float().or_else(|| found.as_integer().map(|number| number as f64)));
    number == Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lines_stay() {
        for (old, want) in [
            ("", "[retrieve]\nk = 20\n"),
            ("# mine\n[ingest]\nhidden = true\n", "# mine\n[ingest]\nhidden = true\n\n[retrieve]\nk = 20\n"),
            (
                "[retrieve] # how\n  k = 5 # few\nmode = \"hybrid\"\n",
                "[retrieve] # how\n  k = 20 # few\nmode = \"hybrid\"\n",
            ),
            (
                "[retrieve]\nmode = \"lexical\"\n[ingest]\nk = 1\n",
                "[retrieve]\nk = 20\nmode = \"lexical\"\n[ingest]\nk = 1\n",
            ),
        ] {
            assert_eq!(with(old, "retrieve.k", 20.0), want);
            assert!(says(want, "retrieve.k", 20.0));
        }
        assert_eq!(with("", "retrieve.alpha", 0.3), "[retrieve]\nalpha = 0.3\n");
    }

    #[test]
    fn a_form_that_is_not_known_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rag.toml");
        for text in ["retrieve = { k = 5 }\n", "retrieve.k = 5\n", "nonsense"] {
            fs::write(&path, text).unwrap();
            assert!(set(&path, &[("retrieve.k", 20.0)]).is_err(), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, "# ours\n").unwrap();
        let before = fs::metadata(&path).unwrap().permissions();
        set(&path, &[("retrieve.k", 20.0)]).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions(), before, "whoever could read it still can");
        fs::remove_file(&path).unwrap();
        set(&path, &[("retrieve.k", 20.0), ("retrieve.alpha", 0.4)]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[retrieve]\nalpha = 0.4\nk = 20\n");
    }
}
