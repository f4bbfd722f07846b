//! The demand for a token.

use mesh::{arn::ClusterArn, task::TaskChange};

/// The demand for a token.
pub(crate) enum Demand<'a> {
    /// An ECS listing contains an active task in this cluster.
    Listed(&'a ClusterArn),
    /// Events of active tasks, which may be stale.
    Events(&'a [&'a TaskChange]),
    /// A task definition was registered: a task may start in this cluster.
    Registered(&'a ClusterArn),
}
