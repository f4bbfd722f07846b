//! The result of a function.

use crate::document::{Node, Value};

/// The result of a function.
pub(super) enum Outcome {
    /// A value of its own.
    Value(Value),
    /// A value that has a place, such as an item of an argument.
    Node(Node),
    /// The arguments do not determine it.
    Unknown,
    /// Terraform refuses the call.
    Invalid,
    /// There is no such function here.
    NoSuchFunction,
}

impl From<Option<Outcome>> for Outcome {
    fn from(outcome: Option<Outcome>) -> Self {
        outcome.unwrap_or(Self::Invalid)
    }
}
