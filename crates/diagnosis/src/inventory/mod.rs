//! What runs where, in which releases: a row for each service, or family of tasks without a service, and revision.

mod files;
mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use aws::ecs::{DefinitionState, ServiceState, TaskState};
use jiff::Timestamp;
use mesh::{identity::MeshService, phase::TaskPhase};

use self::row::Key;
pub use self::{
    files::rows_of_files,
    row::{Generation, Images, InventoryReport, InventoryRow},
};
use crate::observed::{Observed, ObservedCluster};

/// What was read of the clusters, at `now`, as rows. `consul` is the version of Consul's servers, if it was asked for.
pub fn inventory(observed: &Observed, consul: Option<String>, now: Timestamp) -> InventoryReport {
    let rows = observed.clusters.iter().flat_map(of_cluster).collect();
    InventoryReport { read_at: now, consul, rows, problems: observed.problems.clone() }
}

/// A task or a service, with what is known of its definition and its service in Consul.
#[derive(Clone, Copy)]
struct Known<'a> {
    definition: Option<&'a DefinitionState>,
    service: Option<&'a MeshService>,
}

fn of_cluster(cluster: &ObservedCluster) -> Vec<InventoryRow> {
    let mut rows: BTreeMap<Key, InventoryRow> = BTreeMap::new();
    for member in &cluster.services {
        let known = Known { definition: member.definition.as_deref(), service: Some(&member.service) };
        add_service(&mut rows, cluster, &member.state, known);
    }
    for outside in &cluster.outside.services {
        let known = Known { definition: outside.definition.as_deref(), service: None };
        add_service(&mut rows, cluster, &outside.state, known);
    }
    for member in &cluster.tasks {
        let known = Known { definition: Some(&member.definition), service: Some(&member.service) };
        add_task(&mut rows, cluster, &member.state, known);
    }
    for outside in &cluster.outside.tasks {
        add_task(
            &mut rows,
            cluster,
            &outside.state,
            Known { definition: outside.definition.as_deref(), service: None },
        );
    }
    rows.into_values().collect()
}

/// A row for the revision that a service wants, also if no task runs.
fn add_service(
    rows: &mut BTreeMap<Key, InventoryRow>,
    cluster: &ObservedCluster,
    state: &ServiceState,
    known: Known<'_>,
) {
    // With an external deployment controller, only tasks have a revision.
    let Some(definition) = &state.definition else { return };
    let key = (Some(state.name.clone()), definition.clone());
    let row = rows.entry(key).or_insert_with_key(|key| row::empty(cluster, key, known.definition, known.service));
    row.desired_tasks = Some(state.desired);
    row.runs_on.extend(state.runs_on.iter().cloned());
}

fn add_task(rows: &mut BTreeMap<Key, InventoryRow>, cluster: &ObservedCluster, state: &TaskState, known: Known<'_>) {
    if state.task.phase == TaskPhase::Stopped {
        return;
    }
    let key = (state.task.placement.service.clone(), state.task.definition.clone());
    let row = rows.entry(key).or_insert_with_key(|key| row::empty(cluster, key, known.definition, known.service));
    row.tasks = row.tasks.map(|count| count + 1);
    row.runs_on.extend(state.runs_on.iter().cloned());
}
