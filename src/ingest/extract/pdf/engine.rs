//! What an engine gives, and how it is kept from taking the file down.

use std::panic::{self, AssertUnwindSafe};

/// A page as an engine read it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Lines as they are set; a blank line between paragraphs, cells of a table three spaces apart.
    pub text: String,
    /// What is set larger than most, in the order of the page: its letters without white space, and their size.
    pub large: Vec<(String, f32)>,
    /// Size of most letters; 0 where the engine does not say.
    pub body_size: f32,
    /// Letters of that size.
    pub body_letters: usize,
    /// Characters that its content shows, at least.
    pub shown: usize,
    /// Size of its content, in bytes.
    pub content_bytes: usize,
    /// It paints what may be a picture of text.
    pub may_picture_text: bool,
}

/// Counts letters by their size.
#[derive(Debug, Default)]
pub struct Sizes {
    counts: Vec<(f32, usize)>,
}

/// Most sizes told apart: a page that has more has no usual one.
const MAX_SIZES: usize = 64;

impl Sizes {
    pub fn add(&mut self, size: f32, letters: usize) {
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| *known == size) {
            *count += letters;
        } else if self.counts.len() < MAX_SIZES {
            self.counts.push((size, letters));
        }
    }

    /// The size of most letters, with their number.
    pub fn usual(&self) -> Option<(f32, usize)> {
        self.counts.iter().max_by_key(|(_, letters)| *letters).copied()
    }
}

/// What is the matter with a page, in one sentence.
pub type Failure = String;

/// Runs an engine. A panic of it is a failure like any other, and leaves the other engine to be asked.
pub fn guarded<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("the reader failed on it (a panic)".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure() {
        assert!(guarded::<()>(|| panic!("no")).is_err_and(|why| why.contains("panic")));
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }
}
