//! The external services in mode `observe`: reads pass through. A write sends nothing, logs what would have been sent, and
//! answers as if it had succeeded. The queue is the stack's own, and so it stays as it is.
//!
//! Nothing that the controller would have written is there at the next read. What waits for its own writes asks
//! [`Mode::acts`] first.

#[macro_use]
mod line;
mod acl;
mod agents;
mod catalog;
mod ecs;
mod secrets;
mod setup;

use std::sync::Arc;

use mesh::mode::Mode;

use crate::edges::Edges;

/// The external services, without their writes.
pub(crate) struct Observing(Edges);

/// The services of a mode.
pub(crate) fn in_mode(mode: Mode, edges: Edges) -> Edges {
    if mode.acts() {
        return edges;
    }
    let observing = Arc::new(Observing(edges.clone()));
    Edges {
        consul: observing.clone(),
        bootstrap: observing.clone(),
        ecs: observing.clone(),
        secrets: observing,
        ..edges
    }
}
