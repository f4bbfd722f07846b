//! What an upgrade needs, as it is shown.

use serde::Serialize;

use crate::inventory::InventoryRow;

/// What an upgrade of Consul's servers needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeReport {
    /// The line of Consul to be reached: `2.0`.
    pub target: String,
    /// The line that the servers have now; `None` if it is not known: then there are no steps.
    pub from: Option<String>,
    /// The day of the table of releases.
    pub table_as_of: String,
    /// How many revisions of Consul's mesh there are.
    pub revisions: usize,
    /// The revisions that do not go with the target.
    pub blockers: Vec<Blocker>,
    /// The revisions of which it is not known.
    pub unknown: Vec<Blocker>,
    /// What to do, in this order.
    pub steps: Vec<UpgradeStep>,
}

/// A revision that does not go with the target, or of which it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// The revision.
    pub row: RowName,
    /// Why, one sentence for each program.
    pub reasons: Vec<String>,
}

/// A row of the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowName {
    /// The name of the cluster, or the file and the line.
    pub place: String,
    /// The ECS service; without one, the service in Consul.
    pub service: Option<String>,
    /// The revision, or the family.
    pub revision: String,
}

impl RowName {
    pub(super) fn of(row: &InventoryRow) -> Self {
        Self {
            place: row.place().to_owned(),
            service: row.ecs_service.clone().or_else(|| row.service.clone()),
            revision: row.revision.clone(),
        }
    }
}

/// A step of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeStep {
    /// What to do.
    pub what: String,
    /// The revisions that it is about; none if it is about the servers, or about a controller that the inventory does not have.
    pub rows: Vec<RowName>,
    /// What to know before, each said once: known defects of the releases that no rule of the auditor finds, and what HashiCorp
    /// demands before the servers are updated.
    pub notes: Vec<String>,
}
