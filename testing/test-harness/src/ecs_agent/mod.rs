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

pub use mesh::consul_ecs::names::{DATAPLANE, HEALTH_SYNC, MESH_INIT};

/// The containers that the recorded configuration names in `healthSyncContainers`.
pub const SYNCED: [&str; 2] = ["app", "worker"];
