//! A file of the text index that is read where it is asked for, not mapped: one that somebody cut off is an error then,
//! not the end of the process.

use std::{fs::File, io, ops::Range, path::Path};

use tantivy::{
    HasLen,
    directory::{FileHandle, OwnedBytes},
};

/// An open file and the length it had then.
#[derive(Debug)]
pub(super) struct ReadFile {
    file: File,
    len: usize,
}

impl ReadFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        Ok(Self { file, len })
    }

    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }
}

impl HasLen for ReadFile {
    fn len(&self) -> usize {
        self.len
    }
}

impl FileHandle for ReadFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.len {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{range:?} of {} bytes", self.len)));
        }
        let mut bytes = vec![0; range.len()];
        self.read_at(&mut bytes, range.start as u64)?;
        Ok(OwnedBytes::new(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t05_a_file_that_was_cut_off_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = ReadFile::open(&path).unwrap();
        assert_eq!(file.read_bytes(2..5).unwrap().as_slice(), b"234");
        assert!(file.read_bytes(8..11).is_err());
        File::options().write(true).open(&path).unwrap().set_len(4).unwrap();
        assert_eq!(file.read_bytes(2..5).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
