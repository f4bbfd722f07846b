//! One invocation of the function.

use jiff::Timestamp;

/// The ID and the times of an invocation.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// A unique ID, different for each retry.
    pub id: String,
    /// When it started.
    pub now: Timestamp,
    /// The latest time of its end.
    pub until: Timestamp,
}
