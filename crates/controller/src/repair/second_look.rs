//! Corrects statuses that contradict ECS at two looks. A health-sync writes what has just changed: a contradiction that
//! lasts, while nobody writes the check, is one that no health-sync will end.

use std::collections::{BTreeMap, BTreeSet};

use consul::ConsulError;
use mesh::{
    arn::ClusterArn, catalog::HealthCheck, phase::TaskPhase, registration::Registration, repair::Catalog,
    tenancy::Tenancy,
};
use tokio::time::{Instant, sleep_until};

use super::{
    Repairs, SecondLook,
    found::{Found, expected},
    report::RepairReport,
};
use crate::{
    deadline::Deadline,
    error::ControllerError,
    healing::{Healing, HealingKind, containers_of},
    outcome::concurrently,
    survey::{Problem, RunningTask},
};

/// The checks at the first look: those that may be corrected, each with its `ModifyIndex`.
#[derive(Default)]
struct FirstLook(BTreeMap<(String, String, Tenancy), u64>);

impl FirstLook {
    fn insert(&mut self, check: &HealthCheck, modify_index: u64) {
        self.0.insert((check.node.clone(), check.id.clone(), check.tenancy.clone()), modify_index);
    }

    fn get(&self, check: &HealthCheck) -> Option<u64> {
        self.0.get(&(check.node.clone(), check.id.clone(), check.tenancy.clone())).copied()
    }
}

/// A task whose checks are to be corrected, as they should be.
struct Wrong {
    running: RunningTask,
    service: String,
    checks: Vec<HealthCheck>,
    /// The statuses in Consul.
    in_consul: String,
}

impl Wrong {
    /// The checks of a task that contradict ECS, and that nobody has written since the first look; `None` if there are none.
    fn of(running: RunningTask, expected: Vec<Registration>, first: &FirstLook, catalog: &Catalog<'_>) -> Option<Self> {
        let service = expected.first()?.name.clone();
        let (mut checks, mut seen) = (Vec::new(), Vec::new());
        for check in expected.into_iter().flat_map(|registration| registration.checks) {
            let Some(now) = catalog.check(&check) else { continue };
            if now.status != check.status && first.get(&check) == Some(now.modify_index) {
                seen.push(format!("{} {}", now.id, now.status.as_str()));
                checks.push(check);
            }
        }
        (!checks.is_empty()).then(|| Self { running, service, checks, in_consul: seen.join(", ") })
    }
}

impl Repairs {
    /// Looks again at the tasks with a status that contradicts ECS, and at the repaired ones: their health-sync remembers
    /// a health that it wrote before the repair. The first look at the repaired ones is here, after writes that may take a
    /// while.
    pub(crate) async fn look_again(&self, look: &SecondLook, deadline: Deadline, report: &mut RepairReport) {
        let Some(mut looked_at) = look.looked_at else { return };
        let mut first = FirstLook::default();
        let (repaired, others): (Vec<&Found>, Vec<&Found>) =
            look.found.iter().partition(|found| look.repaired.contains(&found.running.task.arn));
        let mut tasks: Vec<&Found> = others.into_iter().filter(|found| !found.difference.statuses.is_empty()).collect();
        for check in tasks.iter().flat_map(|found| &found.difference.statuses) {
            first.insert(check, check.modify_index);
        }
        if !repaired.is_empty() {
            let checks = self.checks_of(&repaired, deadline, report).await;
            looked_at = Instant::now();
            let catalog = Catalog::new(&[], &[], &checks);
            for check in repaired.iter().flat_map(|found| found.checks()) {
                if let Some(seen) = catalog.check(check) {
                    first.insert(check, seen.modify_index);
                }
            }
            tasks.extend(repaired);
        }
        if tasks.is_empty() {
            return;
        }
        let due = looked_at + self.tasks.scope.bounds.health_lag;
        if due >= Instant::now() + deadline.left() {
            report.problems.push(Problem::new(None, ControllerError::OutOfTime));
            return;
        }
        sleep_until(due).await;
        let wrong = self.still_wrong(&tasks, &first, deadline, report).await;
        self.correct(wrong, deadline, report).await;
    }

    /// The tasks with a status that still contradicts ECS, and that nobody has written since.
    async fn still_wrong(
        &self,
        tasks: &[&Found],
        first: &FirstLook,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> Vec<Wrong> {
        let running: Vec<RunningTask> = tasks.iter().map(|found| found.running.clone()).collect();
        let mut now = self.describe(&running, deadline, report).await;
        // Read last: a write of the health-sync is then overlooked only if it comes between this read and our write.
        let checks = self.checks_of(tasks, deadline, report).await;
        let catalog = Catalog::new(&[], &[], &checks);
        let mut wrong = Vec::new();
        for running in running {
            let Some(task) = now.tasks.remove(&running.task.arn) else { continue };
            if task.phase != TaskPhase::Active {
                continue;
            }
            let running = RunningTask { task, ..running };
            if let Ok(expected) = expected(&running, self.tasks.scope.is_enterprise()) {
                wrong.extend(Wrong::of(running, expected, first, &catalog));
            }
        }
        wrong
    }

    async fn correct(&self, wrong: Vec<Wrong>, deadline: Deadline, report: &mut RepairReport) {
        let writes = wrong.into_iter().map(|wrong| async move {
            let written = deadline.run(self.consul.set_checks(&wrong.checks)).await;
            (wrong, written)
        });
        for (wrong, written) in concurrently(writes).await {
            match written {
                Ok(()) => {
                    report.count_corrected(&wrong.running.cluster, wrong.checks.len());
                    self.announcer.healed(healing(&wrong));
                }
                // The task was deregistered since.
                Err(ControllerError::Consul(ConsulError::Conflict { .. })) => {}
                Err(error) => report.problems.push(Problem::new(Some(&wrong.running.cluster), error)),
            }
        }
    }

    /// The checks on the nodes of these tasks.
    async fn checks_of(&self, found: &[&Found], deadline: Deadline, report: &mut RepairReport) -> Vec<HealthCheck> {
        let nodes: BTreeSet<(&ClusterArn, Tenancy)> =
            found.iter().filter_map(|it| Some((&it.running.cluster, it.expected.first()?.tenancy.home()))).collect();
        let reads = nodes.into_iter().map(|(cluster, tenancy)| async move {
            (cluster, deadline.run(self.consul.node_checks(cluster.as_str(), &tenancy)).await)
        });
        let mut checks = Vec::new();
        for (cluster, read) in concurrently(reads).await {
            match read {
                Ok(read) => checks.extend(read),
                Err(error) => report.problems.push(Problem::new(Some(cluster), error)),
            }
        }
        checks
    }
}

fn healing(wrong: &Wrong) -> Healing {
    Healing {
        kind: HealingKind::Correction,
        cluster: wrong.running.cluster.clone(),
        task_id: wrong.running.task.arn.id().to_string(),
        service: wrong.service.clone(),
        reason: "checks contradict ECS, and nobody has written them for the time of health-lag".to_owned(),
        in_ecs: containers_of(&wrong.running.task.containers),
        in_consul: wrong.in_consul.clone(),
    }
}
