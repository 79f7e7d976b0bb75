//! The one place where a file becomes memory.
//!
//! Useful for: files that are written once and only ever unlinked. Not for: any file that may be written again or shortened
//! while it is mapped.
#![allow(unsafe_code)]

use std::{fs::File, io, sync::Arc};

use super::vector::Bytes;

/// Maps a whole file for reading; the map outlives the handle and the file's name. An empty file is empty memory, for an
/// empty map is an error on some systems.
pub(super) fn map(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Arc::new(Vec::new()));
    }
    // SAFETY: a map is sound as long as no one changes the file under it. Files of an index are written under a new name,
    // flushed, and from then on only unlinked, which leaves their content to those who have it mapped (docs/format.md).
    // The folder belongs to the user alone (mode 0700); whoever cuts a file off by hand can end this process with SIGBUS.
    let map = unsafe { memmap2::Mmap::map(file)? };
    Ok(Arc::new(map))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_map_outlives_handle_and_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        File::create_new(&path).unwrap().write_all(&[7; 5000]).unwrap();
        let bytes = map(&File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes[..], [7; 5000]);
        assert_eq!(bytes.as_ptr().addr() % 64, 0);
    }

    #[test]
    fn an_empty_file_is_empty_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        File::create_new(&path).unwrap();
        assert!(map(&File::open(&path).unwrap()).unwrap().is_empty());
    }

    #[test]
    fn a_folder_cannot_be_mapped() {
        let folder = tempfile::tempdir().unwrap();
        if let Ok(file) = File::open(folder.path()) {
            assert!(map(&file).is_err());
        }
    }
}
