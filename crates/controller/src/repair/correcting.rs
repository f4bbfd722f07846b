//! Corrects checks that contradicted ECS in two reads, as long apart as `health-lag`. In between, health-sync would have written
//! them; if it did not, it never will. Where health-sync has stopped, one read is enough.

use std::collections::{BTreeMap, BTreeSet};

use mesh::{
    arn::ClusterArn,
    catalog::HealthCheck,
    guard::corrections::{Corrections, HeldBack},
    member::MemberTask,
    repair::Catalog,
    scope::Scope,
    tenancy::Tenancy,
};
use observe::{Deadline, OutOfTime, Problem, World, concurrently};
use report::{Blocked, Waiting};
use tokio::time::{Instant, sleep_until};

use super::{
    Recheck, Repairs,
    found::{Found, RepairReport, correction},
    still_running,
};
use crate::{
    action::describe,
    announcement::{HealingKind, healing},
    outcome::{PlanSource, tasks_done},
};

/// The checks that may be corrected, each with the `ModifyIndex` of its first read.
#[derive(Default)]
struct FirstRead(BTreeMap<(String, String, Tenancy), u64>);

impl FirstRead {
    fn insert(&mut self, check: &HealthCheck, modify_index: u64) {
        self.0.insert((check.node.clone(), check.id.clone(), check.tenancy.clone()), modify_index);
    }

    /// Whether the check was not written since.
    fn is_unchanged(&self, check: &HealthCheck) -> bool {
        self.0.get(&(check.node.clone(), check.id.clone(), check.tenancy.clone())) == Some(&check.modify_index)
    }
}

impl Repairs {
    /// Corrects the checks of tasks whose health-sync has stopped. Then reads the other tasks with a status that contradicts
    /// ECS once more, and the repaired ones: their health-sync remembers a health that it wrote before the repair. The
    /// first read of the repaired ones is here, after writes that may take a while.
    pub(crate) async fn recheck(&self, recheck: Recheck, world: &World, deadline: Deadline, report: &mut RepairReport) {
        let source = PlanSource::World(&world.observed.secrets);
        let Recheck { found, repaired, first_read_at, corrections } = recheck;
        let (Some(mut first_read_at), Some(mut corrections)) = (first_read_at, corrections) else { return };
        let scope = &self.context.scope;
        let (repaired, others): (Vec<&Found>, Vec<&Found>) =
            found.iter().partition(|found| repaired.contains(&found.running.task.arn));
        let others = others.into_iter().filter(|found| !found.contradicting.is_empty());
        let (without_reporter, mut tasks): (Vec<&Found>, Vec<&Found>) =
            others.partition(|Found { running, .. }| scope.losses(&running.task, &running.definition).health_sync);
        if !without_reporter.is_empty() {
            let read = self.checks_of(&without_reporter, deadline, report).await;
            let catalog = Catalog::new(&[], &[], &read);
            let running = without_reporter.into_iter().map(|found| found.running.clone());
            let contradictions = running.filter_map(|running| Contradiction::of(running, &catalog, |_| true));
            let known = (&read[..], &world.observed.checks[..]);
            self.correct(contradictions.collect(), known, &mut corrections, source, deadline, report).await;
        }
        let mut first = FirstRead::default();
        for check in tasks.iter().flat_map(|found| &found.contradicting) {
            first.insert(check, check.modify_index);
        }
        if !repaired.is_empty() {
            let checks = self.checks_of(&repaired, deadline, report).await;
            first_read_at = Instant::now();
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
        let due = first_read_at + scope.bounds.health_lag;
        if due >= Instant::now() + deadline.left() {
            report.problems.push(Problem::new(None, OutOfTime));
            return;
        }
        sleep_until(due).await;
        let running: Vec<MemberTask> = tasks.iter().map(|found| found.running.clone()).collect();
        let now = self.describe(&running, deadline, report).await;
        let active = running.into_iter().filter_map(|running| still_running(running, &now));
        // Read last: a write of the health-sync is then missed only if it comes between this read and our write.
        let read = self.checks_of(&tasks, deadline, report).await;
        let catalog = Catalog::new(&[], &[], &read);
        let is_unchanged = |check: &HealthCheck| first.is_unchanged(check);
        let contradictions = active.filter_map(|running| Contradiction::of(running, &catalog, is_unchanged));
        let known = (&read[..], &world.observed.checks[..]);
        self.correct(contradictions.collect(), known, &mut corrections, source, deadline, report).await;
    }

    /// The checks on the nodes of these tasks.
    async fn checks_of(&self, found: &[&Found], deadline: Deadline, report: &mut RepairReport) -> Vec<HealthCheck> {
        let nodes: BTreeSet<(&ClusterArn, Tenancy)> =
            found.iter().filter_map(|it| Some((&it.running.cluster, it.expected.first()?.tenancy.home()))).collect();
        let reads = nodes.into_iter().map(|(cluster, tenancy)| async move {
            (cluster, deadline.run(self.context.observer.consul.node_checks(cluster.as_str(), &tenancy)).await)
        });
        let mut checks = Vec::new();
        for (cluster, read) in concurrently(reads).await {
            checks.extend(Problem::record(read, Some(cluster), &mut report.problems).into_iter().flatten());
        }
        checks
    }

    /// Corrects the checks of tasks. `read` are the checks of their nodes, read just now; `earlier` are the checks of all
    /// nodes, from the world.
    async fn correct(
        &self,
        mut contradictions: Vec<Contradiction>,
        (read, earlier): (&[HealthCheck], &[HealthCheck]),
        corrections: &mut Corrections,
        source: PlanSource<'_>,
        deadline: Deadline,
        report: &mut RepairReport,
    ) {
        let nodes: BTreeSet<&str> = read.iter().map(|check| check.node.as_str()).collect();
        let now = earlier.iter().filter(|check| !nodes.contains(check.node.as_str())).chain(read);
        let tasks = contradictions.iter_mut().map(|it| (&it.running, &mut it.checks)).collect();
        report.hold_back(tasks, now, corrections);
        let planned = contradictions.iter().filter_map(|it| correction(&it.running, &it.checks)).collect();
        let outcomes = self.applier.apply(planned, source, deadline).await;
        let done = tasks_done(&outcomes);
        for corrected in contradictions.iter().filter(|it| done.contains(&it.running.task.arn)) {
            let reason = "checks contradict ECS, and no program in the task writes them";
            let healing = healing(&corrected.running, &corrected.service, reason, corrected.in_consul.clone());
            self.context.announcer.healed(HealingKind::Correction, healing);
        }
        report.outcomes.extend(outcomes);
    }
}

/// What a correction waits for, unless nothing in the task writes its checks.
const RECHECK: &str = "a recheck in the same sweep";

/// A task with checks that contradict ECS, as they should be.
pub(super) struct Contradiction {
    running: MemberTask,
    service: String,
    checks: Vec<HealthCheck>,
    in_consul: String,
}

impl Contradiction {
    /// The checks of a task that contradict ECS; `None` if there are none. Only checks that `may_correct`, given as they
    /// should be with the `ModifyIndex` of what was read.
    pub(super) fn of(
        running: MemberTask,
        catalog: &Catalog<'_>,
        may_correct: impl Fn(&HealthCheck) -> bool,
    ) -> Option<Self> {
        let expected = running.expected().ok()?;
        let service = expected.first()?.name.clone();
        let mut checks = running.statuses(&expected, catalog).contradicting;
        checks.retain(may_correct);
        let seen = checks.iter().filter_map(|check| catalog.check(check));
        let in_consul: Vec<String> = seen.map(|now| format!("{} {}", now.id, now.status.as_str())).collect();
        (!checks.is_empty()).then(|| Self { running, service, checks, in_consul: in_consul.join(", ") })
    }
}

impl RepairReport {
    /// What would be done for these tasks, with all checks as they are `now`.
    pub(super) fn plan(
        &mut self,
        mut found: Vec<Found>,
        now: &[HealthCheck],
        mut corrections: Corrections,
        scope: &Scope,
    ) {
        let tasks = found.iter_mut().map(|found| (&found.running, &mut found.contradicting)).collect();
        self.hold_back(tasks, now.iter(), &mut corrections);
        for found in &found {
            let (running, correction) = (&found.running, correction(&found.running, &found.contradicting));
            let correction = correction.and_then(|planned| describe(&planned).action);
            let report = self.of(&running.cluster);
            report.planned.extend(found.repair().and_then(|planned| describe(&planned).action));
            if scope.losses(&running.task, &running.definition).health_sync {
                report.planned.extend(correction);
            } else {
                let waits_for = Some(RECHECK.to_owned());
                report.waiting.extend(correction.map(|action| Waiting { action, until: None, waits_for }));
            }
        }
    }

    /// Takes those corrections out of `tasks` that the guard holds back, and reports them.
    fn hold_back<'a>(
        &mut self,
        tasks: Vec<(&MemberTask, &mut Vec<HealthCheck>)>,
        now: impl Iterator<Item = &'a HealthCheck>,
        corrections: &mut Corrections,
    ) {
        let wanted: Vec<HealthCheck> = tasks.iter().flat_map(|(_, checks)| checks.iter().cloned()).collect();
        let now: Vec<HealthCheck> = now.cloned().collect();
        let held_back = corrections.hold_back(&now, &wanted.iter().collect::<Vec<_>>());
        for (running, checks) in tasks {
            let why_held =
                |check: &HealthCheck| held_back.iter().find(|(held, _)| held.is_same_as(check)).map(|(_, why)| why);
            let (held, others): (Vec<_>, Vec<_>) = checks.drain(..).partition(|check| why_held(check).is_some());
            match held.first().and_then(why_held) {
                Some(why @ HeldBack::TooMany { .. }) => {
                    self.alarms.insert((running.cluster.clone(), why.to_string()));
                    let held = correction(running, &held).and_then(|planned| describe(&planned).action);
                    let held = held.map(|action| Blocked { action, reason: why.to_string() });
                    self.of(&running.cluster).blocked.extend(held);
                }
                Some(why @ HeldBack::LastPassing { .. }) => self.leave(running, why),
                None => {}
            }
            *checks = others;
        }
    }
}
