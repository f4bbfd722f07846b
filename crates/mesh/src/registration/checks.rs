//! The checks that `mesh-init` registers with an instance, and that `health-sync` then updates.

use super::instance::Registration;
use crate::{
    catalog::{CheckStatus, HealthCheck},
    definition::DATAPLANE,
    health::SYNCED_TYPE,
};

/// The checks of a service: one for each synced container, and one for the dataplane. `consul-dataplane` among the
/// synced containers has the ID of the latter, which Consul keeps as the last one of the write.
pub(super) fn of_service(service: &Registration, synced: &[String]) -> Vec<HealthCheck> {
    let synced = synced.iter().filter(|container| *container != DATAPLANE);
    synced.map(|container| of_container(service, container)).chain([of_dataplane(service)]).collect()
}

/// The check of the dataplane.
pub(super) fn of_dataplane(instance: &Registration) -> HealthCheck {
    HealthCheck {
        name: "Consul dataplane readiness".to_owned(),
        notes: format!("consul-ecs created and updates this check to indicate {DATAPLANE} container's readiness"),
        ..of_container(instance, DATAPLANE)
    }
}

fn of_container(instance: &Registration, container: &str) -> HealthCheck {
    let notes =
        format!("consul-ecs created and updates this check because the {container} container has an ECS health check.");
    HealthCheck {
        node: instance.node.clone(),
        id: format!("{}-{container}", instance.id),
        name: "Consul ECS health check synced".to_owned(),
        kind: SYNCED_TYPE.to_owned(),
        notes,
        service_id: instance.id.clone(),
        service_name: instance.name.clone(),
        status: CheckStatus::Critical,
        output: format!("Service {} is not ready", instance.name),
        modify_index: 0,
        tenancy: instance.tenancy.clone(),
    }
}
