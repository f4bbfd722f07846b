//! Tasks and their definitions.

use std::sync::Arc;

use mesh::{
    arn::{TaskArn, TaskDefinitionArn},
    consul_ecs::{Programs, Registrar, RegistrarContainer, names::DATAPLANE},
    definition::{ContainerDefinition, TaskDefinition},
    identity::MeshIdentity,
    member::MemberTask,
    tags::Tags,
    task::{ContainerHealth, DescribedTask, Placement, TaskContainer, TaskEnd, TaskPhase},
};

use crate::{cluster, service, task_id};

/// The revision of a definition, for example `web:3`.
pub fn definition_arn(revision: &str) -> TaskDefinitionArn {
    format!("arn:aws:ecs:us-east-1:123456789012:task-definition/{revision}").parse().unwrap()
}

/// A definition without containers.
pub fn definition(arn: TaskDefinitionArn) -> TaskDefinition {
    TaskDefinition {
        arn,
        tags: Tags::default(),
        config: None,
        containers: Vec::new(),
        secrets: Arc::default(),
        programs: Programs::default(),
        task_role: None,
        is_in_app_mesh: false,
        registered_at: None,
    }
}

/// The definition `web:3`, whose container `name` registers its tasks.
pub fn registered_by(name: &str, registrar: Registrar, config: &str) -> TaskDefinition {
    let registrar = RegistrarContainer::new(name, registrar, Some(config));
    TaskDefinition {
        config: Some(config.into()),
        containers: vec![ContainerDefinition { name: DATAPLANE.to_owned(), ..ContainerDefinition::default() }],
        programs: Programs { registrar: Some(registrar), ..Programs::default() },
        ..definition(definition_arn("web:3"))
    }
}

/// A task with its statuses, and nothing else that ECS describes.
pub fn described(arn: TaskArn, last_status: &str, desired_status: &str) -> DescribedTask {
    DescribedTask {
        arn,
        definition: None,
        phase: TaskPhase::from_statuses(last_status, desired_status),
        last_status: last_status.to_owned(),
        tags: Tags::default(),
        containers: Vec::new(),
        placement: Placement::default(),
        pull_started_at: None,
        stopping_at: None,
        end: TaskEnd::default(),
    }
}

/// A running task of the cluster `prod` and of the definition `web:3`.
pub fn running_task(number: u128, containers: Vec<TaskContainer>) -> DescribedTask {
    DescribedTask {
        definition: Some(definition_arn("web:3")),
        containers,
        placement: Placement { address: Some([10, 0, 0, 7].into()), ..Placement::default() },
        ..described(TaskArn::in_cluster(&cluster("prod"), &task_id(number)), "RUNNING", "RUNNING")
    }
}

/// A container that runs.
pub fn container(name: &str, health: ContainerHealth) -> TaskContainer {
    TaskContainer { name: name.to_owned(), health, is_stopped: false, exit_code: None }
}

/// A container that has exited.
pub fn exited(name: &str, code: i32) -> TaskContainer {
    TaskContainer { is_stopped: true, exit_code: Some(code), ..container(name, ContainerHealth::Unknown) }
}

/// The task as an instance of the service `web` that reads no secret. Its definition names its containers.
pub fn member(task: DescribedTask, mut definition: TaskDefinition) -> MemberTask {
    for TaskContainer { name, .. } in &task.containers {
        if definition.container(name).is_none() {
            definition.containers.push(ContainerDefinition { name: name.clone(), ..ContainerDefinition::default() });
        }
    }
    let identity = MeshIdentity { service: service("web"), gateway: None, secrets: Arc::default() };
    MemberTask::new(cluster("prod"), Arc::new(task), Arc::new(definition), identity, false)
}
