//! Repairs what Consul has forgotten of running tasks, or remembers wrongly. Only tasks whose node was read are compared,
//! nothing is written for a task that ECS does not describe as running after that read, and nothing is registered that
//! this Consul has not admitted (`admitting`).
//!
//! ```text
//!  survey: tasks, then catalog ─▶ compare ─▶ describe again ─▶ proof ─▶ register what is missing ─▶ describe again ─▶ deregister what stopped
//!                                                  └─▶ statuses that contradict ECS ─▶ a minute later, unchanged ─▶ guard ─▶ correct
//!                                                       of a task without a reporter ─▶ at once ──────────────────┘
//! ```

mod admitting;
mod correcting;
mod found;
mod opted_out;
mod registering;
mod report;
mod second_look;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::iam::IamRoles;
use mesh::{
    arn::{ClusterArn, TaskArn},
    guard::corrections::Corrections,
    phase::TaskPhase,
    repair::{Catalog, RepairMode},
    task::DescribedTask,
};
use tokio::time::Instant;

use self::found::{Found, compare};
pub(crate) use self::report::{RepairReport, Unrepaired};
use crate::{
    announcer::Announcer,
    deadline::Deadline,
    edges::Consul,
    outcome::concurrently,
    survey::{Problem, RunningTask, Survey, SweepOrder},
    tasks::TaskReader,
};

/// What ECS says of some tasks.
#[derive(Default)]
struct Described {
    /// Tasks that ECS does not know are not among them.
    tasks: BTreeMap<TaskArn, DescribedTask>,
    /// The clusters whose tasks could not be read.
    unread: BTreeSet<ClusterArn>,
}

/// What the second look of a sweep is to look at.
#[derive(Default)]
pub(crate) struct SecondLook {
    found: Vec<Found>,
    /// The tasks of which something was registered.
    repaired: BTreeSet<TaskArn>,
    /// When ECS was asked for the first look.
    looked_at: Option<Instant>,
    corrections: Option<Corrections>,
}

/// Repairs the entries of running tasks.
pub(crate) struct Repairs {
    pub(crate) tasks: TaskReader,
    pub(crate) consul: Arc<dyn Consul>,
    pub(crate) iam: Arc<dyn IamRoles>,
    pub(crate) announcer: Arc<Announcer>,
}

impl Repairs {
    /// Compares the running tasks of a survey with the catalog, and registers what is missing as the settings and the order
    /// say. Returns what [`Self::look_again`] is to look at.
    pub(crate) async fn register(
        &self,
        survey: &Survey,
        order: &SweepOrder,
        deadline: Deadline,
    ) -> (RepairReport, SecondLook) {
        let mut report = RepairReport::default();
        let scope = &self.tasks.scope;
        if scope.repair == RepairMode::Off && !order.dry_run {
            return (report, SecondLook::default());
        }
        let catalog = Catalog::new(&survey.nodes, &survey.observed.instances, &survey.observed.checks);
        let running: Vec<RunningTask> =
            survey.running.iter().filter(|running| survey.has_read_all_of(&running.cluster)).cloned().collect();
        let first = compare(running, &catalog, scope, survey.began);
        report.unrepaired.extend(first.unrepaired);
        if first.found.is_empty() {
            return (report, SecondLook::default());
        }
        // Tasks that were told to stop since they were listed are left alone.
        let running = self.still_running(first.found, deadline, &mut report).await;
        let running = self.with_current_definitions(running, deadline, &mut report).await;
        let looked_at = Instant::now();
        let again = compare(running, &catalog, scope, survey.began);
        report.unrepaired.extend(again.found.iter().filter_map(Found::unconfirmed));
        report.unrepaired.extend(again.unrepaired);
        let found = self.without_opted_out(again.found, deadline, &mut report).await;
        let found = self.admitted(found, survey, deadline, &mut report).await;
        let corrections = Corrections::new((!order.force).then_some(scope.max_delete));
        if order.dry_run || scope.repair == RepairMode::Report {
            report.plan(found, &survey.observed.checks, corrections, scope);
            return (report, SecondLook::default());
        }
        let mut repaired = self.register_missing(&found, deadline, &mut report).await;
        if !scope.operation.acts() {
            // Nothing was registered, so that there is nothing more to look at.
            repaired.clear();
        }
        (report, SecondLook { found, repaired, looked_at: Some(looked_at), corrections: Some(corrections) })
    }

    /// These tasks as ECS describes them now, without those that are not meant to run any more.
    async fn still_running(
        &self,
        found: Vec<Found>,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> Vec<RunningTask> {
        let tasks: Vec<RunningTask> = found.into_iter().map(|found| found.running).collect();
        let mut now = self.describe(&tasks, deadline, report).await;
        let refreshed = tasks.into_iter().filter_map(|running| {
            let task = now.tasks.remove(&running.task.arn).filter(|task| task.phase == TaskPhase::Active)?;
            Some(RunningTask { task, ..running })
        });
        refreshed.collect()
    }

    /// What ECS says of these tasks now.
    async fn describe(&self, tasks: &[RunningTask], deadline: Deadline, report: &mut RepairReport) -> Described {
        let mut clusters: BTreeMap<&ClusterArn, Vec<TaskArn>> = BTreeMap::new();
        for running in tasks {
            clusters.entry(&running.cluster).or_default().push(running.task.arn.clone());
        }
        let reads = clusters.into_iter().map(|(cluster, arns)| async move {
            (cluster, deadline.run(self.tasks.describe_existing(cluster, &arns)).await)
        });
        let mut described = Described::default();
        for (cluster, read) in concurrently(reads).await {
            match read {
                Ok(tasks) => described.tasks.extend(tasks.into_iter().map(|task| (task.arn.clone(), task))),
                Err(error) => {
                    described.unread.insert(cluster.clone());
                    report.problems.push(Problem::new(Some(cluster), error));
                }
            }
        }
        described
    }
}
