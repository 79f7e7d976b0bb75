//! Files as memory.
#![allow(unsafe_code)]

use std::{fs::File, path::Path};

use memmap2::Mmap;

use crate::Result;

pub fn map(path: &Path) -> Result<Mmap> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // SAFETY: a bench's files are written whole before they are mapped, and by nobody else while it runs.
    Ok(unsafe { Mmap::map(&file) }?)
}
