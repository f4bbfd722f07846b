//! What tasks have registered in Consul.

use mesh::{
    arn::TaskArn,
    catalog::{CheckStatus, HealthCheck, ServiceInstance},
    consul_ecs::{InstanceKind, MeshConfig, Registrar, Registration, TaskPlace, is_sidecar, synced_check},
    tenancy::Tenancy,
};

/// What `mesh-init` registers of a service for a task, whose container `app` is synced: the service and its sidecar proxy.
pub fn registrations(service: &str, task: &TaskArn) -> Vec<Registration> {
    let config = r#"{"service":{"port":9090},"proxy":{},"healthSyncContainers":["app"]}"#;
    let place = TaskPlace {
        arn: task.clone(),
        cluster: task.cluster().unwrap(),
        family: service.parse().unwrap(),
        address: [10, 0, 0, 7].into(),
        zone: None,
        region: None,
    };
    let config = MeshConfig::parse(config, Registrar::MeshInit).unwrap();
    mesh::consul_ecs::registrations(&config, &place, &Tenancy::Community).unwrap()
}

/// The instances and checks of these registrations as they are read, all with this status.
pub fn registered(
    registrations: &[Registration],
    task: &TaskArn,
    status: CheckStatus,
) -> (Vec<ServiceInstance>, Vec<HealthCheck>) {
    let instances = registrations.iter().map(|it| ServiceInstance {
        kind: it.kind.as_str().unwrap_or_default().to_owned(),
        tenancy: it.tenancy.clone(),
        ..instance(&it.node, &it.id, &it.name, task)
    });
    let checks = registrations.iter().flat_map(|it| &it.checks);
    let checks = checks.map(|check| HealthCheck { status, modify_index: 9, ..check.clone() });
    (instances.collect(), checks.collect())
}

/// An instance on any node, with any ID.
pub fn instance(node: &str, id: &str, name: &str, task: &TaskArn) -> ServiceInstance {
    let kind = if is_sidecar(name) { InstanceKind::ConnectProxy } else { InstanceKind::Typical };
    ServiceInstance {
        node: node.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.as_str().unwrap_or_default().to_owned(),
        task: task.id().clone(),
        task_arn: Some(task.clone()),
        address: Some([10, 0, 0, 7].into()),
        modify_index: 7,
        tenancy: Tenancy::Community,
    }
}

/// The check of a container at an instance.
pub fn check(instance: &ServiceInstance, container: &str, status: CheckStatus) -> HealthCheck {
    let ServiceInstance { node, id, name, tenancy, .. } = instance;
    HealthCheck { status, ..synced_check(node, (id, name), tenancy, container) }
}
