//! One invocation of the function.

use jiff::Timestamp;

/// When an invocation runs, and what it is called.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Unlike that of any other, also of its own retries.
    pub id: String,
    /// When it began.
    pub now: Timestamp,
    /// When it must have ended.
    pub until: Timestamp,
}
