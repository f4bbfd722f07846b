//! Reads the world of a scope, once: tasks and their definitions in ECS, and what Consul and Secrets Manager have of them, each with
//! what could not be read and why. It judges nothing, and cannot write.

mod catalog;
mod changes;
mod clock;
mod concurrency;
mod definitions;
mod edges;
mod error;
mod history;
mod hosts;
mod inspected;
mod inspection;
mod observer;
mod problem;
mod selection;
mod survey;
mod tasks;

/// What the reads of this crate return.
pub use aws::ecs::{EcsError, ServiceState};
pub use consul::ConsulError;

pub use self::{
    catalog::roles_of,
    changes::Unread,
    clock::{Clock, Deadline, OutOfTime, SystemClock, Timed, TimestampCache},
    concurrency::{concurrently, concurrently_in_order},
    definitions::Definitions,
    edges::{Consul, Ecs, Reads},
    error::{CallError, Reach},
    history::{History, Wanted},
    inspected::{InspectedCluster, MemberService, OtherController, Outside, RunsAs},
    inspection::{CatalogReading, InspectedTokens, Inspection, InspectionError, Inspector},
    observer::Observer,
    problem::Problem,
    selection::{SelectError, select_clusters},
    survey::{Reading, Skipped, Survey, SweepOrder, Waited},
    tasks::{ClusterStatuses, namesakes},
};
