//! The room as its neighbours use it.

mod changes;
mod damage;
mod filters;
mod search;

use super::{testing::*, *};

/// Every checksum and invariant holds, and no file is left over.
fn sound(index: &Index) {
    let verified = index.verify().unwrap();
    assert_eq!(verified.faults, []);
    assert_eq!(verified.orphans, Vec::<PathBuf>::new());
}

/// Calls `each` with everything in a folder.
fn each_entry(dir: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        each(&path);
        if path.is_dir() {
            each_entry(&path, each);
        }
    }
}
