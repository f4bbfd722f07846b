//! What is wrong with the services of the mesh: what ECS runs, compared with what Consul has registered.
//!
//! ```text
//!  select_clusters ─▶ Reader::read ─▶ Observed ─┬▶ status ─▶ StatusReport
//!     which clusters     ECS, Consul     values  │   pure       rows and verdicts
//!                                                ├▶ inventory ─▶ InventoryReport
//!                        History::read ──────────┼▶ why ────▶ WhyReport
//!                        the functions' log      │   pure       a timeline and its cause
//!                                                └▶ compare ─▶ CompareReport
//!                                                    pure       Mode=observe beside another controller
//!
//!  doctor::Doctor ─▶ readings of the installation ─▶ checks ─▶ DoctorReport
//! ```
//!
//! Everything is read, and nothing is changed. What could not be read is a problem of the reading, and never counts as absent.

mod compare;
pub mod doctor;
#[cfg(test)]
mod examples;
mod history;
mod inventory;
mod observed;
mod reader;
mod status;
mod tokens;
mod upgrade;
mod why;

pub use self::{
    compare::{CompareReport, Kind, KindReport, Left, Slowest, clusters_of, compare},
    doctor::summarize_message,
    history::{History, Wanted},
    inventory::{Generation, Images, InventoryReport, InventoryRow, Versions, inventory, rows_of_files},
    observed::{CatalogReading, MemberService, Observed, ObservedCluster, OtherController, Outside, RunsAs},
    reader::{Reader, Scope, of_consul as consul_problem, select_clusters},
    status::{Change, ChangeKind, ServiceStatus, State, StatusReport, TaskStatus, UntraceableLogins, status},
    tokens::{TokenSource, Tokens},
    upgrade::{Blocker, NewestReleases, RowName, UpgradeError, UpgradeReport, upgrade},
    why::{
        AuditError, Background, Cause, Condition, Event, Found, Subject, Who, WhyReport, Within, find_service,
        why_service, why_task,
    },
};
