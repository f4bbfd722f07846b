//! What the health status of containers in ECS says of health checks in Consul.
//!
//! As in `consul-ecs health-sync`, `HEALTHY` is passing; the dataplane's check passes only if the dataplane and every synced
//! container are healthy. health-sync reads `UNKNOWN` from the agent on the host and writes critical. The API of ECS
//! also reports it where the agent knows more: on hosts without the telemetry endpoint, and before a report arrives. Source:
//! <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference#healthsynccontainers>

use crate::{
    catalog::CheckStatus,
    consul_ecs::names::DATAPLANE,
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
    /// [`crate::consul_ecs::Programs::report_overall_health`] says.
    pub is_overall: Option<bool>,
}

/// What ECS says of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The status that the check should have; `None` if ECS does not tell it.
    pub status: Option<CheckStatus>,
    /// The health status in ECS that decides, in words.
    pub why: String,
}

impl Verdict {
    /// The status with which a missing check is registered: critical, as `mesh-init` does, unless ECS knows more.
    pub fn initial(&self) -> CheckStatus {
        self.status.unwrap_or(CheckStatus::Critical)
    }
}

/// What ECS says of a container's check; `None` for a container that is not synced.
pub fn verdict(task: &SyncedTask, container: &str) -> Option<Verdict> {
    let is_synced = task.synced.iter().any(|name| name == container);
    if container != DATAPLANE && !is_synced {
        return None;
    }
    let others = task.synced.iter().map(String::as_str).filter(|_| container == DATAPLANE);
    let others: Vec<Verdict> = match task.is_overall {
        Some(false) => Vec::new(),
        Some(true) => others.map(|name| of_container(task, name)).collect(),
        // Whether the health of another container counts is not known: it lowers no check, and a check passes only with it.
        None => others.map(|name| of_container(task, name).never_critical()).collect(),
    };
    let mut all = others;
    all.insert(0, of_container(task, container));
    let worst = [Some(CheckStatus::Critical), None];
    let failing = worst.iter().find_map(|status| all.iter().find(|verdict| verdict.status == *status));
    failing.or(all.first()).cloned()
}

fn of_container(task: &SyncedTask, name: &str) -> Verdict {
    let container = task.containers.iter().find(|container| container.name == name);
    let (status, health) = match container {
        None => (Some(CheckStatus::Critical), "no such container in the task"),
        Some(container) if container.is_stopped => (Some(CheckStatus::Critical), "STOPPED"),
        Some(container) => {
            let status = match container.health {
                ContainerHealth::Healthy => Some(CheckStatus::Passing),
                ContainerHealth::Unhealthy => Some(CheckStatus::Critical),
                ContainerHealth::Unknown => None,
            };
            (status, container.health.as_str())
        }
    };
    Verdict { status, why: format!("ECS health status of container {name}: {health}") }
}

impl Verdict {
    fn never_critical(self) -> Self {
        Self { status: self.status.filter(|status| *status == CheckStatus::Passing), ..self }
    }
}

#[cfg(test)]
mod tests {
    use CheckStatus::{Critical, Passing};
    use ContainerHealth::{Healthy, Unhealthy, Unknown};

    use super::*;

    fn task(containers: &[(&str, ContainerHealth)]) -> SyncedTask {
        let containers = containers.iter().map(|(name, health)| TaskContainer {
            name: (*name).to_owned(),
            health: *health,
            is_stopped: false,
            exit_code: None,
        });
        SyncedTask { containers: containers.collect(), synced: vec!["app".to_owned()], is_overall: Some(true) }
    }

    /// What ECS says of the checks of the app and the dataplane.
    fn statuses(task: &SyncedTask) -> [Option<CheckStatus>; 2] {
        ["app", DATAPLANE].map(|container| verdict(task, container).unwrap().status)
    }

    #[test]
    fn checks_pass_if_all_containers_are_healthy() {
        let task = task(&[("app", Healthy), (DATAPLANE, Healthy), ("other", Healthy)]);
        assert_eq!(statuses(&task), [Some(Passing); 2]);
        assert_eq!(verdict(&task, "other"), None, "it is not synced");
    }

    #[test]
    fn unhealthy_stopped_or_missing_app_makes_all_checks_critical() {
        let unhealthy = task(&[("app", Unhealthy), (DATAPLANE, Healthy)]);
        let mut stopped = task(&[("app", Healthy), (DATAPLANE, Healthy)]);
        stopped.containers[0].is_stopped = true;
        for task in [unhealthy, stopped, task(&[(DATAPLANE, Healthy)])] {
            assert_eq!(statuses(&task), [Some(Critical); 2]);
        }
    }

    #[test]
    fn unknown_health_of_a_running_container_says_nothing() {
        assert_eq!(statuses(&task(&[("app", Unknown), (DATAPLANE, Healthy)])), [None; 2]);
        assert_eq!(statuses(&task(&[("app", Healthy), (DATAPLANE, Unknown)])), [Some(Passing), None]);
        assert_eq!(statuses(&task(&[("app", Unhealthy), (DATAPLANE, Unknown)])), [Some(Critical); 2]);
        let verdict = verdict(&task(&[("app", Unknown), (DATAPLANE, Healthy)]), DATAPLANE).unwrap();
        assert_eq!(
            (verdict.initial(), verdict.why.as_str()),
            (Critical, "ECS health status of container app: UNKNOWN")
        );
    }

    #[test]
    fn another_container_lowers_the_dataplane_only_in_releases_that_do() {
        let of_release = |is_overall: Option<bool>, app: ContainerHealth, dataplane: ContainerHealth| {
            statuses(&SyncedTask { is_overall, ..task(&[("app", app), (DATAPLANE, dataplane)]) })[1]
        };
        assert_eq!(of_release(Some(true), Unhealthy, Healthy), Some(Critical));
        assert_eq!(of_release(Some(false), Unhealthy, Healthy), Some(Passing));
        // Where the release is not known, only its own health does; it passes where it would in every release
        assert_eq!(of_release(None, Unhealthy, Healthy), None);
        assert_eq!(of_release(None, Healthy, Unhealthy), Some(Critical));
        assert_eq!(of_release(None, Healthy, Healthy), Some(Passing));
    }
}
