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
