//! What comes out of small files made in code.
