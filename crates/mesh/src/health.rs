//! Health sync: copies the health status of containers from ECS into health checks in Consul.
//!
//! The mapping is that of `consul-ecs health-sync`: `HEALTHY` is passing, anything else is critical; the dataplane's
//! check passes only if the dataplane and every synced container are healthy. Source:
//! <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference#healthsynccontainers>

use std::collections::BTreeMap;

use super::{
    arn::TaskId,
    catalog::{CheckStatus, HealthCheck, ServiceInstance},
    definition::DATAPLANE,
    task::{ContainerHealth, TaskContainer},
};

/// The type of the checks that `mesh-init` registers for synced containers.
pub(crate) const SYNCED_TYPE: &str = "consul-ecs-health-check";
/// The end of the output of a check that only the controller reports.
const TAKEN_OVER: &str = "; reported by ecs-mesh-controller, because the health-sync of the task has stopped";

/// A task with desired status `RUNNING`, and its synced containers.
#[derive(Debug, Clone)]
pub struct SyncedTask {
    /// The task.
    pub id: TaskId,
    /// Its containers, with their health status in ECS.
    pub containers: Vec<TaskContainer>,
    /// The names of the synced containers.
    pub synced: Vec<String>,
    /// Whether the dataplane's checks pass only if every synced container is healthy, as
    /// [`crate::program::Programs::report_overall_health`] says.
    pub is_overall: bool,
    /// Whether the program in the task that reports its health has stopped, so that only the controller reports it.
    pub is_taken_over: bool,
}

/// The changes to the checks of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthChanges {
    /// Checks with another status than in ECS, as they are to be written.
    pub updates: Vec<HealthCheck>,
    /// Checks of containers that are not synced, which no writer updates.
    pub orphans: Vec<HealthCheck>,
    /// The checks as they were read whose output is to say from now on that the controller reports them.
    pub taken_over: Vec<HealthCheck>,
}

impl HealthChanges {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.updates.is_empty() && self.orphans.is_empty()
    }
}

/// What is registered on the node of a cluster.
#[derive(Debug)]
pub struct Registered<'a> {
    instances: BTreeMap<&'a TaskId, Vec<&'a ServiceInstance>>,
    /// By the ID of their instance.
    checks: BTreeMap<&'a str, Vec<&'a HealthCheck>>,
}

impl<'a> Registered<'a> {
    /// The instances and checks of a node.
    #[must_use]
    pub fn new(instances: &'a [ServiceInstance], checks: &'a [HealthCheck]) -> Self {
        let mut registered = Self { instances: BTreeMap::new(), checks: BTreeMap::new() };
        for instance in instances {
            registered.instances.entry(&instance.task).or_default().push(instance);
        }
        for check in checks {
            registered.checks.entry(&check.service_id).or_default().push(check);
        }
        registered
    }

    fn instances_of(&self, task: &TaskId) -> impl Iterator<Item = &'a ServiceInstance> {
        self.instances.get(task).into_iter().flatten().copied()
    }

    fn checks_of(&self, instance: &ServiceInstance) -> impl Iterator<Item = &'a HealthCheck> {
        let checks = self.checks.get(instance.id.as_str()).into_iter().flatten().copied();
        checks.filter(|check| check.node == instance.node && check.tenancy == instance.tenancy)
    }
}

/// Compares the checks of a task with the health status in ECS. `registered` is what is registered on the task's node.
///
/// Only checks of containers are compared. The task may be stopping by now: its maintenance check is a separate one.
#[must_use]
pub fn changes(task: &SyncedTask, registered: &Registered<'_>) -> HealthChanges {
    let mut changes = HealthChanges::default();
    for instance in registered.instances_of(&task.id) {
        for check in registered.checks_of(instance) {
            let Some(container) = check.id.strip_prefix(&instance.id).and_then(|rest| rest.strip_prefix('-')) else {
                continue;
            };
            if check.kind != SYNCED_TYPE && container != DATAPLANE {
                continue;
            }
            match status(task, container) {
                Some((status, output)) => {
                    let is_new = task.is_taken_over && !check.output.ends_with(TAKEN_OVER);
                    if is_new {
                        changes.taken_over.push(check.clone());
                    }
                    if is_new || status != check.status {
                        changes.updates.push(HealthCheck { status, output, ..check.clone() });
                    }
                }
                None => changes.orphans.push(check.clone()),
            }
        }
    }
    changes
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
    let (status, mut output) = match unhealthy {
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
    };
    if task.is_taken_over {
        output.push_str(TAKEN_OVER);
    }
    Some((status, output))
}

fn health(task: &SyncedTask, name: &str) -> Option<ContainerHealth> {
    let container = task.containers.iter().find(|container| container.name == name);
    container.map(TaskContainer::current_health)
}

#[cfg(test)]
mod tests {
    use ContainerHealth::{Healthy, Unhealthy, Unknown};

    use super::*;
    use crate::{catalog::DrainReason, examples};

    fn changes(task: &SyncedTask, instances: &[ServiceInstance], checks: &[HealthCheck]) -> HealthChanges {
        super::changes(task, &Registered::new(instances, checks))
    }

    fn instance(id: &str) -> ServiceInstance {
        ServiceInstance { id: id.to_owned(), ..examples::instance("prod", 1) }
    }

    fn check(service_id: &str, container: &str, status: CheckStatus) -> HealthCheck {
        examples::check(&instance(service_id), container, status)
    }

    fn task(containers: &[(&str, ContainerHealth)]) -> SyncedTask {
        let containers = containers.iter().map(|(name, health)| TaskContainer {
            name: (*name).to_owned(),
            health: *health,
            is_stopped: false,
            exit_code: None,
        });
        SyncedTask {
            id: examples::task_id(1),
            containers: containers.collect(),
            synced: vec!["app".to_owned()],
            is_overall: true,
            is_taken_over: false,
        }
    }

    /// The changed statuses of the checks of the app, the dataplane and the proxy, all `before` at first.
    fn synced(task: &SyncedTask, before: CheckStatus) -> Vec<(String, CheckStatus)> {
        let checks = [
            check("web-1", "app", before),
            check("web-1", DATAPLANE, before),
            check("web-1-sidecar-proxy", DATAPLANE, before),
        ];
        let changes = changes(task, &[instance("web-1"), instance("web-1-sidecar-proxy")], &checks);
        assert!(changes.orphans.is_empty());
        changes.updates.into_iter().map(|update| (update.id, update.status)).collect()
    }

    #[test]
    fn all_checks_pass_if_all_containers_are_healthy() {
        let task = task(&[("app", Healthy), (DATAPLANE, Healthy)]);
        assert_eq!(synced(&task, CheckStatus::Critical).len(), 3);
        assert_eq!(synced(&task, CheckStatus::Passing), [], "unchanged checks are not written");
    }

    #[test]
    fn unhealthy_app_makes_all_checks_critical() {
        for health in [Unhealthy, Unknown] {
            let changed = synced(&task(&[("app", health), (DATAPLANE, Healthy)]), CheckStatus::Passing);
            assert_eq!(changed.len(), 3);
            assert!(changed.iter().all(|(_, status)| *status == CheckStatus::Critical));
        }
        assert_eq!(
            synced(&task(&[(DATAPLANE, Healthy)]), CheckStatus::Passing).len(),
            3,
            "a missing container is critical"
        );
    }

    #[test]
    fn unhealthy_dataplane_does_not_change_the_app_check() {
        let changed = synced(&task(&[("app", Healthy), (DATAPLANE, Unknown)]), CheckStatus::Passing);
        assert_eq!(changed.len(), 2);
        assert!(changed.iter().all(|(id, _)| id.ends_with(DATAPLANE)));
    }

    #[test]
    fn maintenance_check_is_not_changed() {
        let healthy = task(&[("app", Healthy), (DATAPLANE, Healthy)]);
        // For any instance ID, and for checks of agents and of mesh-init
        for id in ["web-1", "_service_maintenance:", "_service_maintenance:web-1", "_service_maintenance"] {
            let drained = HealthCheck::maintenance(&instance(id), DrainReason::Stopping);
            let by_mesh_init = HealthCheck { kind: SYNCED_TYPE.to_owned(), ..drained.clone() };
            for check in [drained, by_mesh_init] {
                let instances = [instance(id), instance("web-1")];
                assert_eq!(changes(&healthy, &instances, &[check]), HealthChanges::default(), "{id}");
            }
        }
    }

    #[test]
    fn checks_of_a_task_without_health_sync_say_once_who_reports_them() {
        let taken_over = SyncedTask { is_taken_over: true, ..task(&[("app", Healthy), (DATAPLANE, Healthy)]) };
        let before = check("web-1", "app", CheckStatus::Passing);
        let first = changes(&taken_over, &[instance("web-1")], std::slice::from_ref(&before));
        assert_eq!(first.taken_over, [before]);
        assert!(matches!(&first.updates[..], [update] if update.output.ends_with(TAKEN_OVER)));
        // Then only changes are written
        assert_eq!(changes(&taken_over, &[instance("web-1")], &first.updates), HealthChanges::default());
        let unhealthy = SyncedTask { containers: task(&[("app", Unhealthy)]).containers, ..taken_over };
        let second = changes(&unhealthy, &[instance("web-1")], &first.updates);
        assert_eq!((second.updates.len(), second.taken_over.len()), (1, 0));
    }

    #[test]
    fn only_checks_of_unsynced_containers_are_orphans() {
        let foreign = HealthCheck { kind: "http".to_owned(), ..check("web-1", "probe", CheckStatus::Critical) };
        let orphan = check("web-1", "old", CheckStatus::Critical);
        let changes = changes(&task(&[]), &[instance("web-1")], &[foreign, orphan.clone()]);
        assert_eq!(changes, HealthChanges { orphans: vec![orphan], ..HealthChanges::default() });
    }
}
