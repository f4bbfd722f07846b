//! Health sync: copies the health status of containers from ECS into health checks in Consul.
//!
//! The mapping is that of `consul-ecs health-sync`: `HEALTHY` is passing, anything else is critical; the dataplane's
//! check passes only if the dataplane and every synced container are healthy. Source:
//! <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference#healthsynccontainers>

use super::{
    catalog::CheckStatus,
    definition::DATAPLANE,
    task::{ContainerHealth, TaskContainer},
};

/// The type of the checks that `mesh-init` registers for synced containers.
pub(crate) const SYNCED_TYPE: &str = "consul-ecs-health-check";

/// A task with desired status `RUNNING`, and its synced containers.
#[derive(Debug, Clone)]
pub struct SyncedTask {
    /// Its containers, with their health status in ECS.
    pub containers: Vec<TaskContainer>,
    /// The names of the synced containers.
    pub synced: Vec<String>,
    /// Whether the dataplane's checks pass only if every synced container is healthy, as
    /// [`crate::program::Programs::report_overall_health`] says.
    pub is_overall: bool,
}

/// The status of a container's check by ECS, and its output; `None` for a container that is not synced.
#[must_use]
pub fn status(task: &SyncedTask, container: &str) -> Option<(CheckStatus, String)> {
    let is_synced = task.synced.iter().any(|name| name == container);
    if container != DATAPLANE && !is_synced {
        return None;
    }
    let mut needed = vec![container];
    if container == DATAPLANE && task.is_overall {
        needed.extend(task.synced.iter().map(String::as_str));
    }
    let unhealthy = needed.into_iter().find(|name| health(task, name) != Some(ContainerHealth::Healthy));
    Some(match unhealthy {
        None => (CheckStatus::Passing, format!("ECS health status of container {container}: HEALTHY")),
        Some(name) => {
            let container = task.containers.iter().find(|container| container.name == name);
            let status = match container {
                Some(container) if container.is_stopped => "STOPPED",
                Some(container) => container.health.as_str(),
                None => "no such container in the task",
            };
            (CheckStatus::Critical, format!("ECS health status of container {name}: {status}"))
        }
    })
}

fn health(task: &SyncedTask, name: &str) -> Option<ContainerHealth> {
    let container = task.containers.iter().find(|container| container.name == name);
    container.map(TaskContainer::current_health)
}

#[cfg(test)]
mod tests {
    use ContainerHealth::{Healthy, Unhealthy, Unknown};

    use super::*;

    fn task(containers: &[(&str, ContainerHealth)]) -> SyncedTask {
        let containers = containers.iter().map(|(name, health)| TaskContainer {
            name: (*name).to_owned(),
            health: *health,
            is_stopped: false,
            exit_code: None,
        });
        SyncedTask { containers: containers.collect(), synced: vec!["app".to_owned()], is_overall: true }
    }

    /// The statuses of the checks of the app and the dataplane.
    fn statuses(task: &SyncedTask) -> [CheckStatus; 2] {
        ["app", DATAPLANE].map(|container| status(task, container).unwrap().0)
    }

    #[test]
    fn checks_pass_if_all_containers_are_healthy() {
        assert_eq!(statuses(&task(&[("app", Healthy), (DATAPLANE, Healthy)])), [CheckStatus::Passing; 2]);
        assert_eq!(status(&task(&[("other", Healthy)]), "other"), None, "it is not synced");
    }

    #[test]
    fn unhealthy_app_makes_all_checks_critical() {
        for health in [Unhealthy, Unknown] {
            assert_eq!(statuses(&task(&[("app", health), (DATAPLANE, Healthy)])), [CheckStatus::Critical; 2]);
        }
        assert_eq!(statuses(&task(&[(DATAPLANE, Healthy)])), [CheckStatus::Critical; 2], "it is missing");
    }

    #[test]
    fn unhealthy_dataplane_does_not_change_the_app_check() {
        let task = task(&[("app", Healthy), (DATAPLANE, Unknown)]);
        assert_eq!(statuses(&task), [CheckStatus::Passing, CheckStatus::Critical]);
    }
}
