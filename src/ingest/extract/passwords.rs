//! Passwords for documents that need one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Passwords to try on encrypted documents, in order, after the empty one. They travel to the worker and nowhere else: no
/// document, problem or log has them, and `Debug` says only how many there are.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passwords(Vec<String>);

impl Passwords {
    pub fn new(list: Vec<String>) -> Self {
        Self(list)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Debug for Passwords {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passwords", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_reads_them_in_a_log() {
        assert_eq!(format!("{:?}", Passwords::new(vec!["open sesame".into()])), "1 passwords");
    }
}
