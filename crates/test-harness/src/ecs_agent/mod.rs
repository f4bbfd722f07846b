//! Tasks of the dataplane generation on the local stack, of which no container runs: stand-ins for ECS's container agent and for
//! the programs of consul-ecs in the task.
//!
//! ```text
//!  DataplaneService ── RunTask ─▶ DataplaneTask: reports states and health of containers to ECS, as the agent does
//!                                    ├─ mesh_init: writes what consul-ecs has registered in a recording
//!                                    └─ sync_health: copies the health from ECS to Consul, as the release judges it
//! ```
//!
//! Nothing runs by itself: a test says what happens next, so that no verdict depends on time. When `health-sync` writes what, the
//! simulation models.

mod catalog;
mod containers;
mod recording;
mod service;
mod task;

pub use catalog::{catalog, deregister, writes};
pub use recording::Release;
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
