//! The demand for a token.

use mesh::{arn::ClusterArn, task::TaskChange};

/// The demand for a token.
pub(crate) enum Demand<'a> {
    /// A listing of ECS shows an active task in this cluster.
    Listed(&'a ClusterArn),
    /// Events tell of active tasks, but they may be old.
    Events(&'a [&'a TaskChange]),
    /// No task needs it yet: one may start in this cluster.
    Registered(&'a ClusterArn),
}
