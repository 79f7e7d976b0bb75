//! What made a source's chunks: versions and settings, as one text that is kept with it. Another text: read it again.

use super::{extract::archive_extension, loader::Loaders};
use crate::types::SourcePath;

/// The extension of files whose pages may be pictures of text.
const PICTURED: &str = "pdf";

/// What stands before the languages of OCR.
const OCR: &str = "-o";

/// The settings that decide what becomes of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pipeline {
    /// Of extractor and chunker; the same for all files.
    pub base: String,
    pub loaders: Loaders,
    /// Archives are read.
    pub archives: bool,
    /// Languages that pictures of text are read in; `None`: they are not.
    pub ocr: Option<String>,
}

impl Pipeline {
    /// The text for a file of this name.
    pub fn of(&self, path: &SourcePath) -> String {
        let extension = path.extension();
        if let Some(command) = self.loaders.for_extension(&extension) {
            let hash = blake3::hash(command.join(" ").as_bytes()).to_hex();
            return format!("{}-l{}", self.base, &hash[..8]);
        }
        match &self.ocr {
            _ if self.archives && archive_extension(&extension) => format!("{}-a", self.base),
            Some(languages) if extension == PICTURED => format!("{}{OCR}{languages}", self.base),
            Some(_) | None => self.base.clone(),
        }
    }

    /// Whether a text is that for a file of this name.
    pub fn is(&self, text: &str, path: &SourcePath) -> bool {
        let Some(rest) = text.strip_prefix(&self.base) else { return false };
        // What was read with OCR stays so: a run without it has nothing better to say.
        let has_more = self.ocr.is_none() && path.extension() == PICTURED && rest.starts_with(OCR);
        text == self.of(path) || (has_more && self.of(path) == self.base)
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

    #[test]
    fn ocr_reads_again_and_its_absence_does_not() {
        let path = |text: &str| SourcePath::from_spelling(text);
        let plain = Pipeline { base: "p1".into(), ..Pipeline::default() };
        let german = Pipeline { ocr: Some("deu".into()), ..plain.clone() };
        let english = Pipeline { ocr: Some("eng".into()), ..plain.clone() };
        for (pipeline, text, name, want) in [
            (&german, "p1", "a.pdf", false),
            (&german, "p1", "a.md", true),
            (&german, "p1-odeu", "a.pdf", true),
            (&english, "p1-odeu", "a.pdf", false),
            (&plain, "p1-odeu", "a.pdf", true),
            (&plain, "p1-odeu", "a.md", false),
            (&plain, "p2-odeu", "a.pdf", false),
        ] {
            assert_eq!(pipeline.is(text, &path(name)), want, "{text} {name}");
        }
    }
}
