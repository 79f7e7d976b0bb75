//! An index of which any part of any file is other bytes: refused in words, or opened and found sound or damaged; never a
//! panic, and no memory by what it says.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use rag::index::{Effort, Index, QuerySyntax};

/// Paths, each with its bytes.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// An index of the first format, and its files with what they hold.
static SOUND: LazyLock<(tempfile::TempDir, Files)> = LazyLock::new(|| {
    let home = tempfile::tempdir().expect("a folder");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|dir| dir.join("tests/fixtures/formats/v1/vectors"))
        .find(|dir| dir.exists())
        .expect("the fixture is there");
    let mut files = Vec::new();
    copy(&fixture, home.path(), &mut files);
    files.sort();
    (home, files)
});

fn copy(from: &Path, to: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(from).expect("the fixture is there").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).expect("made");
            copy(&entry.path(), &target, files);
        } else {
            let bytes = fs::read(entry.path()).expect("read");
            fs::write(&target, &bytes).expect("written");
            files.push((target, bytes));
        }
    }
}

pub fn run(input: &[u8]) {
    // One byte says which file, two say where, the others what.
    let [which, low, high, change @ ..] = input else { return };
    let (home, files) = &*SOUND;
    let (path, sound) = &files[usize::from(*which) % files.len()];
    let mut damaged = sound.clone();
    if !damaged.is_empty() {
        let at = usize::from(u16::from_le_bytes([*low, *high])) % damaged.len();
        let end = damaged.len().min(at + change.len());
        damaged[at..end].copy_from_slice(&change[..end - at]);
    }
    fs::write(path, &damaged).expect("written");
    let found = Index::open(home.path()).and_then(|index| index.verify());
    let answered = ask(home.path());
    fs::write(path, sound).expect("written");
    if &damaged == sound {
        assert!(found.expect("a sound index is verified").faults.is_empty());
        answered.expect("a sound index answers");
    }
}

/// What a reader does who has not verified: the damage may be anywhere on its way.
fn ask(home: &Path) -> rag::index::Result<()> {
    let snapshot = Index::open(home)?.snapshot()?;
    snapshot.stats()?;
    for source in snapshot.sources(None)? {
        snapshot.chunks_of(source.id)?;
    }
    for (text, syntax) in [("the pump", QuerySyntax::Plain), ("\"the pump\"", QuerySyntax::Tantivy)] {
        let query = snapshot.lexical_query(text, syntax)?;
        let found = snapshot.lexical(&query, 5, None)?;
        let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
        snapshot.chunks(&ids)?;
        snapshot.coverage(&query, &ids)?;
    }
    if let Some(space) = snapshot.space() {
        let allowed = snapshot.allowed(None, Some("default"))?;
        snapshot.dense(&vec![0.5; space.dim], 5, Some(&allowed), Effort::default())?;
    }
    Ok(())
}
