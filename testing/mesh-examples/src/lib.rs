//! What tests make of the types of `mesh`: tasks, their definitions, and what they have registered in Consul.
//!
//! Unit tests of `mesh` cannot use it: they are built with another `mesh` than this crate. They make nothing of what is here.

// The examples are valid.
#![allow(clippy::missing_panics_doc, clippy::unwrap_used)]

mod catalog;
mod tasks;

pub use self::{
    catalog::{check, instance, registered, registrations},
    tasks::{container, definition, definition_arn, described, exited, member, registered_by, running_task},
};

use mesh::{
    arn::{ClusterArn, TaskId},
    identity::MeshService,
    tenancy::Tenancy,
};

/// A cluster in `us-east-1`.
pub fn cluster(name: &str) -> ClusterArn {
    format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}").parse().unwrap()
}

pub fn task_id(number: u128) -> TaskId {
    format!("{number:032x}").parse().unwrap()
}

/// A service without a partition and a namespace.
pub fn service(name: &str) -> MeshService {
    MeshService { tenancy: Tenancy::Community, name: name.parse().unwrap() }
}
