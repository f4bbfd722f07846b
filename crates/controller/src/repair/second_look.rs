//! Corrects checks that contradicted ECS in two looks, as long apart as `health-lag`. In between, health-sync would have written
//! them; if it did not, it never will. Where health-sync has stopped, one look is enough.

use std::collections::{BTreeMap, BTreeSet};

use mesh::{arn::ClusterArn, catalog::HealthCheck, phase::TaskPhase, repair::Catalog, tenancy::Tenancy};
use tokio::time::{Instant, sleep_until};

use super::{Repairs, SecondLook, correcting::Wrong, found::Found, report::RepairReport};
use crate::{
    deadline::Deadline,
    error::ControllerError,
    outcome::concurrently,
    survey::{Problem, RunningTask, Survey},
};

/// The checks at the first look: those that may be corrected, each with its `ModifyIndex`.
#[derive(Default)]
struct FirstLook(BTreeMap<(String, String, Tenancy), u64>);

impl FirstLook {
    fn insert(&mut self, check: &HealthCheck, modify_index: u64) {
        self.0.insert((check.node.clone(), check.id.clone(), check.tenancy.clone()), modify_index);
    }

    /// Whether nobody has written the check since.
    fn is_unchanged(&self, check: &HealthCheck) -> bool {
        self.0.get(&(check.node.clone(), check.id.clone(), check.tenancy.clone())) == Some(&check.modify_index)
    }
}

impl Repairs {
    /// Corrects the checks of tasks whose health-sync has stopped. Then looks again at the other tasks with a status that
    /// contradicts ECS, and at the repaired ones: their health-sync remembers a health that it wrote before the repair. The
    /// first look at the repaired ones is here, after writes that may take a while.
    pub(crate) async fn look_again(
        &self,
        look: SecondLook,
        survey: &Survey,
        deadline: Deadline,
        report: &mut RepairReport,
    ) {
        let SecondLook { found, repaired, looked_at, corrections } = look;
        let (Some(mut looked_at), Some(mut corrections)) = (looked_at, corrections) else { return };
        let scope = &self.tasks.scope;
        let (repaired, others): (Vec<&Found>, Vec<&Found>) =
            found.iter().partition(|found| repaired.contains(&found.running.task.arn));
        let others = others.into_iter().filter(|found| !found.wrong.is_empty());
        let (without_reporter, mut tasks): (Vec<&Found>, Vec<&Found>) =
            others.partition(|Found { running, .. }| scope.losses(&running.task, &running.definition).health_sync);
        if !without_reporter.is_empty() {
            let read = self.checks_of(&without_reporter, deadline, report).await;
            let catalog = Catalog::new(&[], &[], &read);
            let running = without_reporter.into_iter().map(|found| found.running.clone());
            let wrong = running.filter_map(|running| Wrong::of(running, scope.is_enterprise(), &catalog, |_| true));
            let known = (&read[..], &survey.observed.checks[..]);
            self.correct(wrong.collect(), known, &mut corrections, deadline, report).await;
        }
        let mut first = FirstLook::default();
        for check in tasks.iter().flat_map(|found| &found.wrong) {
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
        let due = looked_at + scope.bounds.health_lag;
        if due >= Instant::now() + deadline.left() {
            report.problems.push(Problem::new(None, ControllerError::OutOfTime));
            return;
        }
        sleep_until(due).await;
        let running: Vec<RunningTask> = tasks.iter().map(|found| found.running.clone()).collect();
        let mut now = self.describe(&running, deadline, report).await;
        let active = running.into_iter().filter_map(|running| {
            let task = now.tasks.remove(&running.task.arn).filter(|task| task.phase == TaskPhase::Active)?;
            Some(RunningTask { task, ..running })
        });
        // Read last: a write of the health-sync is then overlooked only if it comes between this read and our write.
        let read = self.checks_of(&tasks, deadline, report).await;
        let catalog = Catalog::new(&[], &[], &read);
        let is_unchanged = |check: &HealthCheck| first.is_unchanged(check);
        let wrong = active.filter_map(|running| Wrong::of(running, scope.is_enterprise(), &catalog, is_unchanged));
        let known = (&read[..], &survey.observed.checks[..]);
        self.correct(wrong.collect(), known, &mut corrections, deadline, report).await;
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
