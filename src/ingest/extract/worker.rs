//! The worker process from inside.
