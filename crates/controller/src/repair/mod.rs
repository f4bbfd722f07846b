//! Repairs what Consul has lost of running tasks, and checks that contradict ECS. Only tasks whose node was read are compared,
//! nothing is written for a task that ECS does not describe as running after that read, and nothing is registered that
//! this Consul has not admitted (`admitting`).
//!
//! ```text
//!  world: tasks, then catalog ─▶ compare ─▶ describe again ─▶ proof ─▶ register what is missing ─▶ describe again ─▶ deregister what ended
//!                                                  └─▶ statuses that contradict ECS ─▶ a minute later, unchanged ─▶ guard ─▶ correct
//!                                                       of a task without a reporter ─▶ at once ──────────────────┘
//! ```

mod admitting;
mod correcting;
mod found;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use mesh::{
    arn::{ClusterArn, TaskArn},
    existence::{Answers, Existence},
    guard::corrections::Corrections,
    member::MemberTask,
    repair::{Catalog, NotRepaired, opts_out},
    settings::RepairMode,
};
use observe::{Deadline, Problem, SweepOrder, World, concurrently};
use report::Healing;
use tokio::time::Instant;

use self::found::{Found, compare};
pub(crate) use self::found::{RepairReport, report_broken};
use crate::{
    announcement::{HealingKind, healing},
    apply::Applier,
    context::Context,
    outcome::{PlanSource, tasks_done},
};

/// What a sweep compares with ECS once more, `health-lag` later.
#[derive(Default)]
pub(crate) struct Recheck {
    found: Vec<Found>,
    /// The tasks for which something was registered.
    repaired: BTreeSet<TaskArn>,
    /// When ECS was asked before the first comparison.
    first_read_at: Option<Instant>,
    corrections: Option<Corrections>,
}

pub(crate) struct Repairs {
    pub(crate) context: Arc<Context>,
    pub(crate) applier: Arc<Applier>,
}

impl Repairs {
    /// Compares the running tasks of a world with the catalog, and registers what is missing as the settings and the order
    /// say. Returns what [`Self::recheck`] compares once more.
    pub(crate) async fn register(
        &self,
        world: &World,
        order: &SweepOrder,
        deadline: Deadline,
    ) -> (RepairReport, Recheck) {
        let mut report = RepairReport::default();
        let scope = &self.context.scope;
        if scope.repair == RepairMode::Off && !order.dry_run {
            return (report, Recheck::default());
        }
        let catalog = Catalog::new(&world.nodes, &world.observed.instances, &world.observed.checks);
        // Copied one at a time: most lack nothing.
        let running = world.running.iter().filter(|running| world.has_read_all_of(&running.cluster)).cloned();
        let first = compare(running, &catalog, scope, world.began, &mut report);
        if first.is_empty() {
            return (report, Recheck::default());
        }
        // Tasks that were told to stop since they were listed are left alone.
        let running = self.still_running(first, deadline, &mut report).await;
        let running = self.with_current_definitions(running, deadline, &mut report).await;
        let first_read_at = Instant::now();
        let found = compare(running, &catalog, scope, world.began, &mut report);
        for found in &found {
            if let Some(why) = &found.unconfirmed {
                report.leave(&found.running, why);
            }
        }
        let found = self.without_opted_out(found, deadline, &mut report).await;
        let found = self.admitted(found, world, deadline, &mut report).await;
        let corrections = Corrections::new((!order.force).then_some(scope.max_delete));
        if order.dry_run || scope.repair == RepairMode::Report {
            report.plan(found, &world.observed.checks, corrections, scope);
            return (report, Recheck::default());
        }
        let source = PlanSource::World(&world.observed.secrets);
        let mut repaired = self.register_missing(&found, source, deadline, &mut report).await;
        if !scope.mode.acts() {
            // Nothing was registered, so that nothing else has to be compared.
            repaired.clear();
        }
        (report, Recheck { found, repaired, first_read_at: Some(first_read_at), corrections: Some(corrections) })
    }

    /// These tasks as ECS describes them now, except tasks that are no longer meant to run.
    async fn still_running(&self, found: Vec<Found>, deadline: Deadline, report: &mut RepairReport) -> Vec<MemberTask> {
        let tasks: Vec<MemberTask> = found.into_iter().map(|found| found.running).collect();
        let now = self.describe(&tasks, deadline, report).await;
        tasks.into_iter().filter_map(|running| still_running(running, &now)).collect()
    }

    /// What ECS says of these tasks now. The tasks of a cluster that cannot be read are not known.
    async fn describe(&self, tasks: &[MemberTask], deadline: Deadline, report: &mut RepairReport) -> Answers {
        let mut clusters: BTreeMap<&ClusterArn, Vec<TaskArn>> = BTreeMap::new();
        for running in tasks {
            clusters.entry(&running.cluster).or_default().push(running.task.arn.clone());
        }
        let reads = clusters.into_iter().map(|(cluster, arns)| async move {
            (cluster, deadline.run(self.context.observer.answers(cluster, &arns)).await)
        });
        let mut answers = Answers::default();
        for (cluster, read) in concurrently(reads).await {
            answers.extend(Problem::record(read, Some(cluster), &mut report.problems).unwrap_or_default());
        }
        answers
    }

    /// The tasks with their definitions as they are now: the content of a revision never changes, but its tags do. Leaves out
    /// those whose definition could not be read.
    async fn with_current_definitions(
        &self,
        tasks: Vec<MemberTask>,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> Vec<MemberTask> {
        for running in &tasks {
            self.context.observer.ecs.forget(&running.definition.arn);
        }
        let arns = tasks.iter().map(|running| &running.definition.arn);
        let definitions = self.context.observer.definitions(arns, deadline).await;
        let mut current = Vec::new();
        for running in tasks {
            match definitions.get(&running.definition.arn).cloned() {
                Some(definition) => current.push(running.with_definition(definition)),
                None => report.leave(&running, &NotRepaired::DefinitionUnread),
            }
        }
        current
    }

    /// Leaves out the tasks whose ECS service has a tag that says so, or whose tags are not known.
    async fn without_opted_out(&self, found: Vec<Found>, deadline: Deadline, report: &mut RepairReport) -> Vec<Found> {
        let mut services: BTreeMap<ClusterArn, BTreeSet<String>> = BTreeMap::new();
        for Found { running, .. } in &found {
            if let Some(service) = &running.task.placement.service {
                services.entry(running.cluster.clone()).or_default().insert(service.clone());
            }
        }
        let reads = services.into_iter().map(|(cluster, names)| async move {
            let names = Vec::from_iter(names);
            let read = deadline.run(self.context.observer.ecs.services(&cluster, &names)).await;
            (cluster, names, read)
        });
        let mut left_out: BTreeMap<(ClusterArn, String), NotRepaired> = BTreeMap::new();
        for (cluster, names, read) in concurrently(reads).await {
            let of_cluster = |name: String| (cluster.clone(), name);
            match read {
                Ok(services) => {
                    let off = services.into_iter().filter(|service| opts_out(&service.tags));
                    left_out.extend(off.map(|service| (of_cluster(service.name), NotRepaired::OptedOut)));
                }
                Err(error) => {
                    report.problems.push(Problem::new(Some(&cluster), error));
                    left_out.extend(names.into_iter().map(|name| (of_cluster(name), NotRepaired::ServiceUnread)));
                }
            }
        }
        let mut kept = Vec::new();
        for found in found {
            let service = found.running.task.placement.service.clone();
            match service.and_then(|name| left_out.get(&(found.running.cluster.clone(), name))) {
                Some(why) => report.leave(&found.running, why),
                None => kept.push(found),
            }
        }
        kept
    }

    /// Registers what is missing of each task, and deregisters it again if the task has stopped meanwhile: then its event
    /// may have been handled before the registration. Returns the repaired tasks that are meant to run.
    async fn register_missing(
        &self,
        found: &[Found],
        source: PlanSource<'_>,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> BTreeSet<TaskArn> {
        let missing: Vec<&Found> = found.iter().filter(|found| !found.difference.is_empty()).collect();
        if missing.is_empty() {
            return BTreeSet::new();
        }
        let planned = missing.iter().filter_map(|found| found.repair()).collect();
        let mut outcomes = self.applier.apply(planned, source, deadline).await;
        // Also those whose write failed: it may have taken effect.
        let ended = self.ended(&missing, deadline, report).await;
        let undone = missing.iter().filter(|found| ended.contains(&found.running.task.arn));
        let taken_back = undone.map(|found| async move {
            (found, deadline.run(self.applier.take_back(&found.running, &found.difference)).await)
        });
        for (found, result) in concurrently(taken_back).await {
            Problem::record(result, Some(&found.running.cluster), &mut report.problems);
        }
        outcomes
            .retain(|outcome| outcome.result.is_err() || !outcome.planned.tasks.iter().any(|it| ended.contains(it)));
        let repaired = tasks_done(&outcomes);
        for found in missing.iter().filter(|found| repaired.contains(&found.running.task.arn)) {
            self.context.announcer.healed(HealingKind::Repair, lost(found));
        }
        report.outcomes.extend(outcomes);
        repaired
    }

    /// Which of these tasks are not meant to run any more. If ECS does not describe a task, the next sweep decides about it.
    async fn ended(&self, found: &[&Found], deadline: Deadline, report: &mut RepairReport) -> BTreeSet<TaskArn> {
        let tasks: Vec<MemberTask> = found.iter().map(|found| found.running.clone()).collect();
        let now = self.describe(&tasks, deadline, report).await;
        let arns = tasks.into_iter().map(|running| running.task.arn.clone());
        arns.filter(|task| matches!(now.existence(task), Existence::Ended { .. })).collect()
    }
}

/// The task as ECS describes it now, if it is meant to run.
fn still_running(running: MemberTask, now: &Answers) -> Option<MemberTask> {
    let task = Arc::clone(now.running(&running.task.arn)?);
    Some(running.described(task))
}

fn lost(found: &Found) -> Healing {
    let reason = "Consul has lost the registration of a running task, and mesh-init registers it only once";
    let healing = healing(&found.running, &found.service(), reason, found.missing());
    Healing { in_ecs: format!("RUNNING: {}", healing.in_ecs), ..healing }
}
