//! What happens when bytes have changed: an error that names the file, or the same answer as before; never a panic.

use std::{collections::BTreeSet, fs};

use super::*;
use crate::types::Kind;

const TEXTS: [(&str, &str); 3] =
    [("a.md", "refunds take five days"), ("b.md", "shipping is free in spring"), ("c.md", "the manual of the pump")];

fn build(dir: &Path) -> Index {
    let index = create(dir, Some(4));
    let mut writer = writer(&index);
    for (path, text) in TEXTS {
        put(&mut writer, source(path), Some("en"), &[text, "and more of it"]);
    }
    writer.commit().unwrap();
    put(&mut writer, source("a.md"), Some("en"), &[TEXTS[0].1]);
    writer.commit().unwrap();
    drop(writer);
    sound(&index);
    index
}

/// Everything the index answers.
fn answers(index: &Index) -> Result<String> {
    let snapshot = index.snapshot()?;
    let mut answers = format!("{:?}{:?}{:?}", snapshot.generation(), snapshot.sources(None)?, snapshot.stats()?);
    for (_, text) in TEXTS {
        let query = snapshot.lexical_query(text, QuerySyntax::Plain)?;
        let phrase = snapshot.lexical_query(&format!("\"{text}\""), QuerySyntax::Tantivy)?;
        let found = snapshot.lexical(&query, 5, None)?;
        let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
        answers += &format!("{found:?}{:?}{:?}", snapshot.lexical(&phrase, 5, None)?, snapshot.coverage(&query, &ids)?);
        answers += &format!("{:?}{:?}", snapshot.chunks(&ids)?, snapshot.texture(&ids)?);
        let allowed = snapshot.allowed(None, Some("default"))?;
        answers += &format!("{:?}", snapshot.dense(&vector(text, 4), 5, Some(&allowed), Effort::default())?.0);
    }
    Ok(answers)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    each_entry(dir, &mut |entry| {
        if entry.is_file() && !entry.ends_with("lock") {
            files.push(entry.strip_prefix(dir).unwrap().to_path_buf());
        }
    });
    files.sort();
    files
}

/// Where to change a file: its ends, and a place in each 512 bytes.
fn places(length: usize) -> BTreeSet<usize> {
    let ends = (0..length.min(12)).chain(length.saturating_sub(12)..length);
    ends.chain((0..length).step_by(512).map(|at| at + at / 512 % 512)).filter(|at| *at < length).collect()
}

#[test]
fn cr05_a_changed_byte_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let index = build(dir.path());
    let wanted = answers(&index).unwrap();
    let mut unnoticed = Vec::new();
    for file in files(dir.path()) {
        let path = dir.path().join(&file);
        let whole = fs::read(&path).unwrap();
        for at in places(whole.len()) {
            let mut changed = whole.clone();
            changed[at] ^= 0x15;
            // As a new file, for the old one may be mapped.
            fs::remove_file(&path).unwrap();
            fs::write(&path, &changed).unwrap();
            let context = format!("{} byte {at} of {}", file.display(), whole.len());
            match index.verify() {
                Ok(verified) if verified.is_sound() => {
                    // Of tantivy's footer only the checksum is checked: its version may read otherwise.
                    let footer = file.starts_with("text") && at + 150 > whole.len();
                    assert!(footer, "{context}: not noticed");
                    assert_eq!(answers(&index).unwrap(), wanted, "{context}");
                    unnoticed.push(context.clone());
                }
                Ok(verified) => {
                    let named = verified.faults.iter().any(|fault| fault.file == file);
                    assert!(named, "{context}: {:?}", verified.faults);
                }
                Err(error) => assert_eq!(error.kind(), Kind::Incompatible, "{context}: {error}"),
            }
            if let Err(error) = answers(&index) {
                assert!(matches!(error.kind(), Kind::Corrupt | Kind::Incompatible | Kind::Io), "{context}: {error}");
            }
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(answers(&index).unwrap(), wanted);
    println!("{} changes were of no account", unnoticed.len());
}

#[test]
fn a_missing_or_cut_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let index = build(dir.path());
    for file in files(dir.path()) {
        let path = dir.path().join(&file);
        let whole = fs::read(&path).unwrap();
        for length in [None, Some(0), Some(whole.len() / 2), Some(whole.len() - 1)] {
            fs::remove_file(&path).unwrap();
            if let Some(length) = length {
                fs::write(&path, &whole[..length]).unwrap();
            }
            let context = format!("{} at {length:?}", file.display());
            match index.verify() {
                Ok(verified) => {
                    assert!(verified.faults.iter().any(|fault| fault.file == file), "{context}: {:?}", verified.faults);
                }
                // Without FORMAT it is no index, and with half of it none that can be read.
                Err(error) => {
                    assert_eq!(file, Path::new("FORMAT"), "{context}: {error}");
                    assert!(matches!(error, Error::NotAnIndex { .. }), "{context}: {error}");
                }
            }
            if let Err(error) = answers(&index) {
                assert_eq!(error.kind(), Kind::Corrupt, "{context}: {error}");
            }
            fs::write(&path, &whole).unwrap();
        }
    }
    sound(&index);
}
