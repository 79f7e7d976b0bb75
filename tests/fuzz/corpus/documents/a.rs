!//! doc

/// Adds.
pub fn add() {
    1
}

impl X {
    /* é */ fn y() {}
}
