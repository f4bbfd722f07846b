//! Tasks as ECS describes them.

use std::sync::Arc;

use mesh::{
    consul_ecs::Registrar,
    definition::{ContainerDefinition, Losses},
    task::{ContainerEnd, ContainerHealth, TaskContainer},
};
use mesh_examples::{exited, registered_by, running_task};

#[test]
fn container_that_the_definition_does_not_name_is_not_one_of_the_task() {
    let container = |name: &str| TaskContainer { health: ContainerHealth::Unhealthy, ..exited(name, 1) };
    let end = |name: &str| ContainerEnd { name: name.to_owned(), exit_code: Some(1), reason: None };
    let added = ["aws-guardduty-agent-a1b2", "ecs-service-connect-c3d4", "consul-dataplane"];
    let all = || ["app"].into_iter().chain(added);
    let mut task = running_task(1, all().map(container).collect());
    task.end.containers = all().map(end).collect();
    let mut definition = registered_by("init", Registrar::MeshInit, "{}");
    let app = ContainerDefinition { name: "app".to_owned(), ..ContainerDefinition::default() };
    definition.containers = vec![app];
    task.end.containers.push(ContainerEnd {
        name: "aws-guardduty-agent-e5f6".to_owned(),
        exit_code: None,
        reason: Some("CannotPullContainerError".to_owned()),
    });
    let added: Vec<&str> = task.added_that_did_not_start(&definition).map(|end| end.name.as_str()).collect();
    assert_eq!(added, ["aws-guardduty-agent-e5f6"]);
    let task = Arc::new(task).with_containers_of(&definition);
    assert_eq!(
        (task.containers.as_slice(), task.end.containers.as_slice()),
        (&[container("app")][..], &[end("app")][..])
    );
    assert_eq!(task.losses(&definition), Losses::default());
}
