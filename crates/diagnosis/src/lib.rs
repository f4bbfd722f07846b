//! What is wrong with the services of the mesh: what ECS runs, compared with what Consul has registered.
//!
//! ```text
//!  clusters::select ─▶ Reader::read ─▶ Observed ─▶ status ─▶ StatusReport
//!     which clusters     ECS, Consul     values  └─▶ inventory ─▶ InventoryReport
//!                                                     pure       rows and verdicts
//!
//!  doctor::Doctor ─▶ readings of the installation ─▶ checks ─▶ DoctorReport
//! ```
//!
//! Everything is read, and nothing is changed. What could not be read is a problem of the reading, and never counts as absent.

pub mod clusters;
pub mod doctor;
pub mod failed_event;
mod inventory;
mod observed;
mod problem;
mod reader;
mod sorter;
mod status;
mod token_source;
mod versions;

pub use self::{
    inventory::{Generation, Images, InventoryReport, InventoryRow, inventory},
    observed::{
        CatalogReading, Member, MemberService, Observed, ObservedCluster, OtherController, Outside, OutsideService,
        OutsideTask, RunsAs,
    },
    problem::of_consul as consul_problem,
    reader::{Consul, Ecs, Reader, Scope},
    status::{Change, ChangeKind, ServiceStatus, State, StatusReport, TaskStatus, status},
    token_source::TokenSource,
    versions::Versions,
};
