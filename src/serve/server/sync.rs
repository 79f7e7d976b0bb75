//! Files of clients on their way in.

/// All that are going on.
#[derive(Debug, Default)]
pub struct Sessions {}
