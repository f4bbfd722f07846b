//! The essential containers of a definition.

use super::prelude::*;

pub(super) static ECS_ESSENTIAL: Rule =
    Rule::once_per_task(page!("ecs-essential"), Applies::EveryTask, check_essential);

/// The rules of the meshes report the containers that must be essential there.
fn check_essential(subject: &Subject<'_>) -> Option<Draft> {
    let containers = &subject.definition.containers;
    let is_in_a_mesh = subject.consul.is_some() || subject.app_mesh.is_some();
    let none = containers.is_complete && containers.items.iter().all(|it| it.is_essential() == Some(false));
    let first = containers.items.first().filter(|_| none && !is_in_a_mesh)?;
    let message = "no container of the definition is essential";
    let fix = Fix::set(&first.essential.place, true).filter(|_| containers.items.len() == 1);
    Some(Draft::new(first.essential.span(), message, "set essential of a container to true").of(first).fix(fix))
}
