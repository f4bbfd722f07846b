//! Which running tasks are broken.

use std::time::Duration;

use jiff::Timestamp;
use mesh::{
    broken::Broken,
    consul_ecs::{Registrar, names::DATAPLANE},
    definition::TaskDefinition,
    task::{ContainerHealth, DescribedTask},
    time::later,
};
use mesh_examples::{cluster, container, exited, member, registered_by, running_task, task_id};

/// How long after the start of its containers a task has logged in.
const LOGIN_TIME: Duration = Duration::from_mins(5);

fn definition(registrar: Registrar) -> TaskDefinition {
    let config = r#"{"service":{"port":80},"proxy":{},"consulLogin":{"enabled":true}}"#;
    let mut definition = registered_by("registrar", registrar, config);
    definition.programs.health_sync = (registrar == Registrar::MeshInit).then(|| "health-sync".to_owned());
    definition
}

/// A running task whose containers started at the epoch.
fn task() -> DescribedTask {
    let mut task = running_task(1, Vec::new());
    (task.end.started_at, task.placement.service) = (Some(Timestamp::UNIX_EPOCH), Some("web".to_owned()));
    task
}

fn broken(task: &DescribedTask, definition: &TaskDefinition, tokens: Option<usize>) -> Option<Broken> {
    member(task.clone(), definition.clone()).broken(tokens, later(Timestamp::UNIX_EPOCH, LOGIN_TIME))
}

#[test]
fn task_needs_a_token_for_each_program_that_logs_in() {
    let with_mesh_init = definition(Registrar::MeshInit);
    assert_eq!(broken(&task(), &with_mesh_init, Some(2)), None);
    assert_eq!(broken(&task(), &with_mesh_init, Some(1)), Some(Broken::OneToken));
    assert_eq!(broken(&task(), &with_mesh_init, Some(0)), Some(Broken::NoTokens));
    assert_eq!(broken(&task(), &with_mesh_init, None), None, "not known");
    let with_control_plane = definition(Registrar::ControlPlane);
    assert_eq!(broken(&task(), &with_control_plane, Some(1)), None);
    assert_eq!(broken(&task(), &with_control_plane, Some(0)), Some(Broken::NoTokens));
}

#[test]
fn task_with_a_healthy_proxy_has_logged_in() {
    let definition = definition(Registrar::MeshInit);
    let mut young = task();
    let broken = |task: &DescribedTask, tokens| {
        member(task.clone(), definition.clone()).broken(Some(tokens), Timestamp::UNIX_EPOCH)
    };
    assert_eq!(broken(&young, 0), None, "it may still log in");
    young.containers.push(container(DATAPLANE, ContainerHealth::Healthy));
    assert_eq!(broken(&young, 0), Some(Broken::NoTokens));
    assert_eq!(broken(&young, 1), None, "its health-sync may still log in");
}

#[test]
fn task_with_a_token_of_its_own_is_not_judged_by_its_logins() {
    let mut with_token = definition(Registrar::MeshInit);
    with_token.programs.sets_token = true;
    assert_eq!(broken(&task(), &with_token, Some(0)), None);
    let mut without_proxy = task();
    without_proxy.containers.push(exited(DATAPLANE, 1));
    assert_eq!(broken(&without_proxy, &with_token, Some(0)), Some(Broken::ProxyStopped));
}

#[test]
fn replacement_names_the_command() {
    let (mut task, definition) = (task(), definition(Registrar::MeshInit));
    let replacement = |task: &DescribedTask| member(task.clone(), definition.clone()).replacement();
    let command =
        format!("aws ecs stop-task --region {} --cluster prod --task {}", cluster("prod").region(), task_id(1));
    assert_eq!(replacement(&task), format!("replace it with: {command}"));
    task.placement.service = None;
    assert!(replacement(&task).starts_with("no ECS service replaces it") && replacement(&task).ends_with(&command));
}
