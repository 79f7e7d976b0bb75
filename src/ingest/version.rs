//! What made a source's chunks: versions and settings, as one text that is kept with it. Another text: read it again.

use super::{extract::archive_extension, loader::Loaders};
use crate::types::SourcePath;

/// The settings that decide what becomes of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// Of extractor and chunker; the same for all files.
    pub base: String,
    pub loaders: Loaders,
    /// Archives are read.
    pub archives: bool,
}

impl Pipeline {
    /// The text for a file of this name.
    pub fn of(&self, path: &SourcePath) -> String {
        let extension = path.extension();
        if let Some(command) = self.loaders.for_extension(&extension) {
            let hash = blake3::hash(command.join(" ").as_bytes()).to_hex();
            return format!("{}-l{}", self.base, &hash[..8]);
        }
        if self.archives && archive_extension(&extension) { format!("{}-a", self.base) } else { self.base.clone() }
    }

    /// Whether a text is that for a file of this name.
    pub fn is(&self, text: &str, path: &SourcePath) -> bool {
        text.starts_with(&self.base) && text == self.of(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_a_setting_concerns_are_read_again() {
        let path = |text: &str| SourcePath::from_spelling(text);
        let plain = Pipeline { base: "p1".into(), ..Pipeline::default() };
        let loaders = Loaders::of(&["djvu=djvutxt -".into()]).unwrap();
        let with = Pipeline { loaders, archives: true, ..plain.clone() };
        for (name, same) in [("a.md", true), ("a.djvu", false), ("a.zip", false), ("a.docx", true)] {
            assert!(plain.is("p1", &path(name)));
            assert_eq!(with.is("p1", &path(name)), same, "{name}");
            assert!(with.is(&with.of(&path(name)), &path(name)));
        }
        let other = Pipeline { loaders: Loaders::of(&["djvu=ddjvu -".into()]).unwrap(), ..plain };
        assert_ne!(with.of(&path("a.djvu")), other.of(&path("a.djvu")));
    }
}
