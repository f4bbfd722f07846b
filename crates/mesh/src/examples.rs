//! Builders for the examples in tests.

use std::sync::Arc;

use crate::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::{CheckStatus, HealthCheck, OtherService, ServiceInstance},
    cluster_selection::ClusterSelection,
    consul_ecs::{Programs, Registrar, RegistrarContainer, names::DATAPLANE},
    definition::{ContainerDefinition, TaskDefinition},
    identity::{MeshIdentity, MeshService},
    mark::LoginMark,
    member::MemberTask,
    tags::Tags,
    task::{DescribedTask, Placement, TaskContainer, TaskEnd, TaskPhase},
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

/// A definition whose container `name` registers its tasks.
pub(crate) fn definition(name: &str, registrar: Registrar, config: &str) -> TaskDefinition {
    let registrar = RegistrarContainer::new(name, registrar, Some(config));
    TaskDefinition {
        arn: "arn:aws:ecs:us-east-1:123456789012:task-definition/Web:3".parse().unwrap(),
        tags: Tags::default(),
        config: Some(config.into()),
        containers: vec![ContainerDefinition { name: DATAPLANE.to_owned(), ..ContainerDefinition::default() }],
        secrets: Arc::default(),
        programs: Programs { registrar: Some(registrar), ..Programs::default() },
        task_role: None,
        is_in_app_mesh: false,
        registered_at: None,
    }
}

/// A running task of the cluster `prod`.
pub(crate) fn running_task(containers: Vec<TaskContainer>) -> DescribedTask {
    DescribedTask {
        arn: TaskArn::in_cluster(&cluster("prod"), &task_id(1)),
        definition: "arn:aws:ecs:us-east-1:123456789012:task-definition/Web:3".parse().ok(),
        phase: TaskPhase::Active,
        last_status: "RUNNING".to_owned(),
        tags: Tags::default(),
        containers,
        placement: Placement { address: Some("10.0.0.7".parse().unwrap()), ..Placement::default() },
        pull_started_at: None,
        stopping_at: None,
        end: TaskEnd::default(),
    }
}

/// The task as a member of the mesh. Its definition names its containers.
pub(crate) fn member(task: &DescribedTask, definition: &TaskDefinition) -> MemberTask {
    let mut definition = definition.clone();
    let named = task.containers.iter().map(|container| container.name.clone());
    definition.containers.extend(named.map(|name| ContainerDefinition { name, ..ContainerDefinition::default() }));
    let identity = MeshIdentity { service: service("web"), gateway: None, secrets: Arc::default() };
    MemberTask::new(cluster("prod"), Arc::new(task.clone()), Arc::new(definition), identity, false)
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

pub(crate) fn instance(cluster_name: &str, number: u8) -> ServiceInstance {
    ServiceInstance {
        node: cluster(cluster_name).to_string(),
        id: format!("web-{}", task_id(number)),
        name: "web".to_owned(),
        kind: String::new(),
        task: task_id(number),
        task_arn: Some(TaskArn::in_cluster(&cluster(cluster_name), &task_id(number))),
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

/// The check of a synced container, as `mesh-init` registers it.
pub(crate) fn check(service: &ServiceInstance, container: &str, status: CheckStatus) -> HealthCheck {
    HealthCheck {
        node: service.node.clone(),
        id: format!("{}-{container}", service.id),
        name: "Consul ECS health check synced".to_owned(),
        kind: "consul-ecs-health-check".to_owned(),
        notes: String::new(),
        service_id: service.id.clone(),
        service_name: service.name.clone(),
        status,
        output: String::new(),
        modify_index: 0,
        tenancy: service.tenancy.clone(),
    }
}
