//! Builders for the examples in tests.

use std::sync::Arc;

use crate::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::{CheckStatus, HealthCheck, OtherService, ServiceInstance},
    cluster_selection::ClusterSelection,
    consul_ecs::{instance_id, synced_check},
    identity::{MeshIdentity, MeshService},
    mark::LoginMark,
    task::{MeshTask, TaskPhase},
    tenancy::Tenancy,
    token::{Grants, ListedToken},
};

pub(crate) fn cluster(name: &str) -> ClusterArn {
    format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}").parse().unwrap()
}

/// A selection of clusters, by names or patterns.
pub(crate) fn clusters(names: &str) -> ClusterSelection {
    ClusterSelection::parse(names, Some("arn:aws:ecs:us-east-1:123456789012:cluster/")).unwrap()
}

pub(crate) fn task_id(number: u8) -> TaskId {
    format!("{number:032x}").parse().unwrap()
}

pub(crate) fn service(name: &str) -> MeshService {
    MeshService { tenancy: Tenancy::Community, name: name.parse().unwrap() }
}

/// The identity of a task that reads no secret.
pub(crate) fn identity(service: MeshService) -> MeshIdentity {
    MeshIdentity { service, gateway: None, secrets: Arc::default() }
}

/// A task with an ID and a phase, and nothing else.
pub(crate) fn unidentified(cluster_name: &str, number: u8, phase: TaskPhase) -> MeshTask {
    let cluster = cluster(cluster_name);
    MeshTask::unidentified(TaskArn::in_cluster(&cluster, &task_id(number)), cluster, phase, Tenancy::Community)
}

/// A task of a service.
pub(crate) fn task(cluster_name: &str, number: u8, phase: TaskPhase, service_name: &str) -> MeshTask {
    MeshTask { identity: Some(identity(service(service_name))), ..unidentified(cluster_name, number, phase) }
}

/// The mark of a task that named its cluster by `cluster_mark`.
pub(crate) fn login(cluster_mark: &str, number: u8) -> LoginMark {
    LoginMark { cluster: cluster_mark.to_owned(), task: task_id(number) }
}

/// A token that no login has created.
pub(crate) fn token(accessor: u128, description: &str) -> ListedToken {
    ListedToken {
        accessor: uuid::Uuid::from_u128(accessor).to_string().parse().unwrap(),
        description: description.into(),
        auth_method: None,
        is_local: true,
        grants: Grants::default(),
        created_at: None,
        expires_at: None,
        tenancy: Tenancy::Community,
    }
}

/// The login token of a task.
pub(crate) fn login_token(accessor: u128, cluster_mark: &str, number: u8) -> ListedToken {
    let login = login(cluster_mark, number);
    let description = format!(
        r#"token created via login: {{"consul.hashicorp.com/cluster":"{}","consul.hashicorp.com/task-id":"{}"}}"#,
        login.cluster, login.task
    );
    token(accessor, &description)
}

/// An instance of `web`.
pub(crate) fn instance(cluster_name: &str, number: u8) -> ServiceInstance {
    instance_of(cluster_name, "web", number)
}

pub(crate) fn instance_of(cluster_name: &str, service: &str, number: u8) -> ServiceInstance {
    ServiceInstance {
        node: cluster(cluster_name).to_string(),
        id: instance_id(service, &task_id(number)),
        name: service.to_owned(),
        kind: String::new(),
        task: task_id(number),
        task_arn: Some(TaskArn::in_cluster(&cluster(cluster_name), &task_id(number))),
        address: Some([10, 0, 0, 7].into()),
        modify_index: 7,
        tenancy: Tenancy::Community,
    }
}

/// A service of another owner.
pub(crate) fn other_service() -> OtherService {
    OtherService {
        id: "postgres".to_owned(),
        name: "postgres".to_owned(),
        kind: String::new(),
        tenancy: Tenancy::Community,
    }
}

/// The check of a container at an instance.
pub(crate) fn check(instance: &ServiceInstance, container: &str, status: CheckStatus) -> HealthCheck {
    let ServiceInstance { node, id, name, tenancy, .. } = instance;
    HealthCheck { status, ..synced_check(node, (id, name), tenancy, container) }
}
