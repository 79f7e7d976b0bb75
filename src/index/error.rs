//! What can go wrong with an index on disk.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use tantivy::{
    TantivyError,
    directory::error::{OpenDirectoryError, OpenReadError, OpenWriteError},
};

use super::layout;
use crate::types::Kind;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no index at `{path}`")]
    NotFound { path: PathBuf },
    #[error("`{path}` is not an index, and it holds other files (`{entry}`)")]
    NotAnIndex { path: PathBuf, entry: String },
    #[error("`{path}` is a file, and an index is a folder")]
    NotAFolder { path: PathBuf },
    #[error("index at `{path}` is being written by {holder}")]
    Locked { path: PathBuf, holder: String },
    #[error("`{path}` is damaged: {what}")]
    Corrupt { path: PathBuf, what: String },
    #[error("index at `{path}` has format {found}, this program knows formats up to {expected}")]
    Format { path: PathBuf, found: u32, expected: u32 },
    #[error("index at `{path}` was made with {found}, not with {expected}")]
    Space { path: PathBuf, found: String, expected: String },
    #[error("cannot {act} `{path}`: {source}")]
    Io { act: &'static str, path: PathBuf, source: io::Error },
    #[error("the text engine failed at `{path}`: {source}")]
    Text { path: PathBuf, source: TantivyError },
    #[error("writing stopped after an earlier failure; nothing was lost: the index is at generation {generation}")]
    Poisoned { path: PathBuf, generation: u64 },
    #[error("cannot read the query: {what}")]
    Query { what: String },
    #[error("source `{path}` cannot be stored: {what}")]
    Source { path: String, what: String },
}

impl Error {
    pub fn kind(&self) -> Kind {
        match self {
            Self::NotFound { .. } => Kind::NotFound,
            Self::NotAnIndex { .. } | Self::NotAFolder { .. } | Self::Query { .. } => Kind::Usage,
            Self::Locked { .. } => Kind::Locked,
            Self::Corrupt { .. } => Kind::Corrupt,
            Self::Format { .. } | Self::Space { .. } => Kind::Incompatible,
            Self::Io { .. } | Self::Poisoned { .. } | Self::Text { .. } => Kind::Io,
            Self::Source { .. } => Kind::Bug,
        }
    }

    /// A file that was named is gone: a reader may have met a commit and should start over.
    pub(super) fn is_missing_file(&self) -> bool {
        if let Self::Io { source, .. } = self {
            return source.kind() == io::ErrorKind::NotFound;
        }
        let Self::Text { source: TantivyError::OpenReadError(source), .. } = self else { return false };
        matches!(source, OpenReadError::FileDoesNotExist(_))
    }

    /// What tantivy says, in our words. `index`: the index folder.
    #[allow(clippy::wildcard_enum_match_arm, reason = "tantivy's list of errors is long and grows")]
    pub(super) fn from_tantivy(index: &Path, error: TantivyError) -> Self {
        let text = layout::text_dir(index);
        let io = |act, name: &Path, source: &io::Error| {
            let source = io::Error::new(source.kind(), source.to_string());
            Self::Io { act, path: text.join(name), source }
        };
        match &error {
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, filepath }) => {
                // Tantivy reports a footer that is no footer as an I/O error.
                if is_damage(io_error) {
                    return Self::Corrupt { path: text.join(filepath), what: said(io_error) };
                }
                io("read", filepath, io_error)
            }
            TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
                io("write", filepath, io_error)
            }
            TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => {
                io("open", Path::new(""), io_error)
            }
            TantivyError::OpenDirectoryError(
                OpenDirectoryError::DoesNotExist(_) | OpenDirectoryError::NotADirectory(_),
            ) => Self::Corrupt { path: text, what: "the folder is missing".to_owned() },
            TantivyError::IoError(source) if is_damage(source) => Self::Corrupt { path: text, what: said(source) },
            TantivyError::IoError(source) => io("use", Path::new(""), source),
            TantivyError::DataCorruption(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::DeserializeError(_)
            | TantivyError::FieldNotFound(_)
            | TantivyError::SchemaError(_) => Self::Corrupt { path: text, what: said(&error) },
            _ => Self::Text { path: text, source: error },
        }
    }
}

/// What tantivy says of damage, but not its advice: nobody has to make an index of an older tantivy anew.
fn said(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    if text.contains("version of tantivy") || text.contains("tantivy version") || text.contains("use tantivy") {
        return "it does not end as the text engine ends its files".to_owned();
    }
    text
}

/// The bytes are wrong, not the disk.
fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

/// Runs something over tantivy's data and words its error. Tantivy may panic on damaged files, whose checksums are not
/// read when an index is opened: that is damage, too.
pub(super) fn guard<T>(index: &Path, call: impl FnOnce() -> Result<T, TantivyError>) -> Result<T> {
    // What the closure borrows is read-only data and caches whose locks tantivy checks itself.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| Error::from_tantivy(index, error)),
        Err(panic) => {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            let what = format!("the text engine met data that cannot be: {message}");
            Err(Error::Corrupt { path: layout::text_dir(index), what })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_over_damaged_data_is_an_error() {
        let error = guard::<()>(Path::new("i"), || panic!("index out of bounds")).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt);
        assert!(error.to_string().contains("index out of bounds"), "{error}");
    }
}
