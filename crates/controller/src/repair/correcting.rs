//! Corrects checks, as far as the guard allows.

use std::collections::BTreeSet;

use consul::ConsulError;
use mesh::{
    catalog::HealthCheck,
    guard::corrections::{Corrections, HeldBack},
    repair::Catalog,
};
use report::{Blocked, Waiting};

use super::{
    Repairs,
    found::{Found, correction, facts},
    report::{RepairReport, Unrepaired},
};
use crate::{
    deadline::Deadline,
    error::ControllerError,
    healing::{Healing, HealingKind, containers_of},
    outcome::concurrently,
    scope::Scope,
    survey::{Problem, RunningTask},
};

/// What a correction waits for, unless nothing in the task writes its checks.
const SECOND_LOOK: &str = "a second look of the same sweep";

/// A task with checks that contradict ECS, as they should be.
pub(super) struct Wrong {
    running: RunningTask,
    service: String,
    checks: Vec<HealthCheck>,
    /// The statuses in Consul.
    in_consul: String,
}

impl Wrong {
    /// The checks of a task that contradict ECS; `None` if there are none. Only checks that `may_correct`, given as they
    /// should be with the `ModifyIndex` of what was read.
    pub(super) fn of(
        running: RunningTask,
        is_enterprise: bool,
        catalog: &Catalog<'_>,
        may_correct: impl Fn(&HealthCheck) -> bool,
    ) -> Option<Self> {
        let facts = facts(&running, is_enterprise);
        let expected = facts.expected().ok()?;
        let service = expected.first()?.name.clone();
        let mut checks = facts.statuses(&expected, catalog).wrong;
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
        let tasks = found.iter_mut().map(|found| (&found.running, &mut found.wrong)).collect();
        self.hold_back(tasks, now.iter(), &mut corrections);
        for found in &found {
            let (running, correction) = (&found.running, correction(&found.running, &found.wrong));
            self.planned.extend(found.repair());
            if scope.losses(&running.task, &running.definition).health_sync {
                self.planned.extend(correction);
            } else {
                let waits_for = Some(SECOND_LOOK.to_owned());
                let waiting = |action| Waiting { action, until: None, waits_for };
                self.waiting.extend(correction.map(|(cluster, action)| (cluster, waiting(action))));
            }
        }
    }

    /// Takes those corrections out of `tasks` that the guard holds back, and reports them.
    fn hold_back<'a>(
        &mut self,
        tasks: Vec<(&RunningTask, &mut Vec<HealthCheck>)>,
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
                    let held = correction(running, &held);
                    self.blocked
                        .extend(held.map(|(cluster, action)| (cluster, Blocked { action, reason: why.to_string() })));
                }
                Some(why @ HeldBack::LastPassing { .. }) => self.unrepaired.push(Unrepaired::of(running, why)),
                None => {}
            }
            *checks = others;
        }
    }
}

impl Repairs {
    /// Corrects the checks of tasks. `read` are the checks of their nodes as they were just read, `surveyed` those of all nodes
    /// as the survey read them.
    pub(super) async fn correct(
        &self,
        mut wrong: Vec<Wrong>,
        (read, surveyed): (&[HealthCheck], &[HealthCheck]),
        corrections: &mut Corrections,
        deadline: Deadline,
        report: &mut RepairReport,
    ) {
        let nodes: BTreeSet<&str> = read.iter().map(|check| check.node.as_str()).collect();
        let now = surveyed.iter().filter(|check| !nodes.contains(check.node.as_str())).chain(read);
        let tasks = wrong.iter_mut().map(|wrong| (&wrong.running, &mut wrong.checks)).collect();
        report.hold_back(tasks, now, corrections);
        let writes = wrong.into_iter().filter(|wrong| !wrong.checks.is_empty()).map(|wrong| async move {
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
}

fn healing(wrong: &Wrong) -> Healing {
    Healing {
        kind: HealingKind::Correction,
        cluster: wrong.running.cluster.clone(),
        task_id: wrong.running.task.arn.id().to_string(),
        service: wrong.service.clone(),
        reason: "checks contradict ECS, and no program in the task writes them".to_owned(),
        in_ecs: containers_of(&wrong.running.task.containers),
        in_consul: wrong.in_consul.clone(),
    }
}
