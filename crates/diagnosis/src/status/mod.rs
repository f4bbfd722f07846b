//! The status of the services of the mesh: a row for each service and cluster, with a verdict.

mod on_node;
mod report;
mod service;
mod task;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use mesh::identity::MeshService;
use std::collections::BTreeSet;

pub use self::report::{Change, ChangeKind, ServiceStatus, State, StatusReport, TaskStatus};
use self::service::Row;
pub(crate) use self::{
    on_node::{OnNode, TIME_TO_DEREGISTER},
    service::TIME_TO_RESTART,
    task::{MAINTENANCE, TaskVerdict, facts, is_service_token_gone, login_tokens, remedy, verdict},
};
use crate::{
    admission::Tokens,
    observed::{Observed, ObservedCluster},
};

/// The status of what was read, at `now`. Consul has these `tokens`; `None` if that is not known.
pub fn status(observed: &Observed, tokens: Option<&Tokens>, now: Timestamp) -> StatusReport {
    let mut services: Vec<ServiceStatus> =
        observed.clusters.iter().flat_map(|cluster| of_cluster(cluster, tokens, now)).collect();
    services.sort_by(|a, b| a.place().cmp(&b.place()));
    let admission_unknown = tokens.and_then(|tokens| tokens.facts.as_ref().err().cloned());
    StatusReport { read_at: now, services, problems: observed.problems.clone(), admission_unknown }
}

fn of_cluster(cluster: &ObservedCluster, tokens: Option<&Tokens>, now: Timestamp) -> Vec<ServiceStatus> {
    let on_node = cluster.catalog.as_ref().map(OnNode::new);
    let leftovers = on_node.as_ref().map(|on_node| on_node.leftovers(cluster, now)).unwrap_or_default();
    let of_services = cluster.services.iter().map(|service| service.service.clone());
    let of_tasks = cluster.tasks.iter().map(|member| member.service.clone());
    let mut all: BTreeSet<MeshService> = of_services.chain(of_tasks).collect();
    all.extend(leftovers.iter().map(|leftover| leftover.service.clone()));
    let rows = all.into_iter().map(|service| Row::new(cluster, service, on_node.as_ref(), &leftovers));
    let tokens = tokens.map(|tokens| tokens.of_cluster(cluster));
    rows.filter_map(|row| row.status(tokens.as_ref(), now)).collect()
}
