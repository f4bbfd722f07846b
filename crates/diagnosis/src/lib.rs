//! What is wrong with the services of the mesh: what ECS runs, compared with what Consul has registered.
//!
//! ```text
//!  observe::Inspection ─┬▶ status ─▶ StatusReport
//!    clusters           │   rows and verdicts
//!                       ├▶ inventory ─▶ InventoryReport
//!  observe::History ────┼▶ why ────▶ WhyReport
//!    the functions' log │   a timeline and its cause
//!                       └▶ compare ─▶ CompareReport
//!                           Mode=observe beside another controller
//!
//!  observe::PathReader ─────▶ path ───▶ PathReport
//!    proxies, chain, intentions   a line for each place that a request passes
//!
//!  audit::live_mesh::Questions ─▶ live_mesh ─▶ observe::LiveMeshQuestions
//!  observe::LiveMeshReading ─────▶ live_mesh ─▶ audit::live_mesh::LiveMesh
//!
//!  observe::InstallationReader ─▶ doctor ─▶ DoctorReport
//!
//!  report::SweepReport, and all of the above ─▶ survey ─▶ SurveyReport
//! ```
//!
//! Values in, verdicts out: it reads nothing itself. What could not be read never counts as absent.

mod compare;
pub mod doctor;
#[cfg(test)]
mod examples;
mod hybrid_groups;
mod inventory;
mod live_mesh;
mod path;
#[cfg(test)]
mod recorded;
mod redaction;
mod status;
mod survey;
mod tokens;
mod unread;
mod upgrade;
mod why;

pub use self::{
    compare::{CompareReport, KindReport, Slowest, StillToDo, WorkKind, clusters_of, compare},
    doctor::summarize_message,
    inventory::{ImageTags, InventoryReport, InventoryRow, MeshGeneration, Versions, inventory, rows_of_files},
    live_mesh::{live_mesh, live_mesh_questions},
    path::{
        Caller, DestinationPlace, HttpRequest, Passage, PathEnd, PathEvidence, PathLine, PathReport, Place,
        PlaceVerdict, ServicePath, callers, destination_named, destinations, nearest_service, path, services_named,
        target_groups, unknown_destination,
    },
    status::{
        ChangeKind, DeploymentStatus, LastChange, RevisionStatus, ServiceStatus, State, StatusReport, TaskStatus,
        UntraceableLogins, status,
    },
    survey::{SurveyEvidence, SurveyFinding, SurveyObject, SurveyReport, SurveyedCluster, Unread, survey},
    tokens::{TokenSource, Tokens},
    unread::{problems, unread},
    upgrade::{Blocker, NewestReleases, RowName, UpgradeError, UpgradeReport, needs_mesh_entry, upgrade},
    why::{
        AuditError, Background, Condition, ContainerLog, Found, LogStream, LoggedLine, Meaning, PastEvent, Who,
        WhyCause, WhyReport, WhySubject, Within, find_service, why_service, why_task,
    },
};
