//! The path of the sections that are open at a place of a document.

use super::clean::title;

/// Titles of the open sections, outermost first. Levels may jump: a section is inside every open one of a smaller level.
#[derive(Debug, Default)]
pub struct Sections {
    levels: Vec<u8>,
    titles: Vec<String>,
    first: Option<(u8, String)>,
}

impl Sections {
    /// Opens a section, which ends those of the same and of deeper levels. One without words only ends them.
    pub fn open(&mut self, level: u8, words: &str) {
        while self.levels.last().is_some_and(|&open| open >= level) {
            self.levels.pop();
            self.titles.pop();
        }
        if let Some(words) = title(words) {
            if self.first.as_ref().is_none_or(|&(first, _)| level < first) {
                self.first = Some((level, words.clone()));
            }
            self.levels.push(level);
            self.titles.push(words);
        }
    }

    pub fn path(&self) -> &[String] {
        &self.titles
    }

    /// The first heading of level 1.
    pub fn title(&self) -> Option<String> {
        self.first.as_ref().filter(|&&(level, _)| level == 1).map(|(_, words)| words.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_those_that_are_not_above_it() {
        let mut sections = Sections::default();
        for (level, words, want) in [
            (2, "early", "early"),
            (1, "A", "A"),
            (3, "A.x", "A/A.x"),
            (2, "B", "A/B"),
            (2, "  ", "A"),
            (6, "deep\n one", "A/deep one"),
            (1, "C", "C"),
        ] {
            sections.open(level, words);
            assert_eq!(sections.path().join("/"), want);
        }
        assert_eq!(sections.title().as_deref(), Some("A"));
    }
}
