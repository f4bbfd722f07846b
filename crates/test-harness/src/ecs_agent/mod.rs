//! Tasks of the dataplane generation on the local stack, of which no container runs: stand-ins for ECS's container agent and for
//! the programs of consul-ecs in the task.
//!
//! ```text
//!  DataplaneService ── RunTask ─▶ DataplaneTask: reports states and health of containers to ECS, as the agent does
//!                                    ├─ mesh_init: writes what consul-ecs has registered in a recording
//!                                    └─ HealthSync: each tick copies the health from ECS to Consul, with the memory of its release
//! ```
//!
//! Nothing runs by itself: a test says what happens next, so that no verdict depends on time.

mod catalog;
mod containers;
mod health_sync;
mod memory;
mod recording;
mod service;
mod task;

pub use catalog::{catalog, deregister, node_checks, writes};
pub use health_sync::HealthSync;
pub use memory::{CheckHealth, Health, Memory, Write};
pub use recording::{Release, accepted_by_old_consul};
pub use service::DataplaneService;
pub use task::DataplaneTask;

/// The container whose end is the end of the task's proxy.
pub const DATAPLANE: &str = "consul-dataplane";
/// The container that registers the task.
pub const MESH_INIT: &str = "consul-ecs-mesh-init";
/// The container that syncs the task's health.
pub const HEALTH_SYNC: &str = "consul-ecs-health-sync";
/// The containers that the recorded configuration names in `healthSyncContainers`.
pub const SYNCED: [&str; 2] = ["app", "worker"];
