//! Health sync: copies the health status of containers from ECS into Consul's checks, several times within one
//! invocation. The checks of a task whose own health-sync has stopped say so from then on.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aws::ecs::EcsError;
use consul::{Catalog, ConsulError};
use mesh::{
    arn::ClusterArn,
    catalog::{HealthCheck, ServiceInstance},
    ecs_config::CONFIG_VARIABLE,
    health::{HealthChanges, Registered, SyncedTask, changes},
    phase::TaskPhase,
    repair::TaskFacts,
    task::DescribedTask,
    tenancy::Tenancy,
};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use crate::{
    announcer::Announcer,
    deadline::Deadline,
    definitions::{Classification, Definitions},
    error::ControllerError,
    healing::{Healing, HealingKind, containers_of},
    outcome::concurrently,
    problem::ProblemReport,
    tasks::TaskReader,
};

/// How long one invocation runs: the schedule starts the next one a minute after it.
const MINUTE: Duration = Duration::from_secs(60);

/// The result of the rounds of one invocation.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthReport {
    /// The number of rounds over all clusters.
    pub rounds: usize,
    /// The number of checks that were written.
    pub updated: usize,
    /// The number of deregistered checks of containers that are not synced.
    pub removed: usize,
    /// What could not be read or written, each once.
    pub problems: Vec<ProblemReport>,
}

impl HealthReport {
    /// Logs a problem, and adds it unless its reason is known.
    fn record(&mut self, problem: ProblemReport) {
        let ProblemReport { cluster_arn, label, reason } = &problem;
        error!(action = "sync_health", outcome = "failed", cluster_arn, error = label, reason);
        if !self.problems.iter().any(|known| known.reason == *reason) {
            self.problems.push(problem);
        }
    }
}

/// Syncs health.
pub(crate) struct HealthSync {
    pub(crate) tasks: TaskReader,
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) announcer: Arc<Announcer>,
}

impl HealthSync {
    /// Syncs every `interval` for one minute, as far as time allows; once without an interval, and in mode `observe`, in
    /// which a further round would find the same.
    pub(crate) async fn run(&self, interval: Option<Duration>, deadline: Deadline) -> HealthReport {
        let operation = self.tasks.scope.operation;
        let interval = interval.filter(|_| operation.acts());
        let mut report = HealthReport::default();
        let start = Instant::now();
        for round in 0.. {
            let due = interval.map_or(Duration::ZERO, |interval| interval * round);
            let left = deadline.left();
            let is_late = left.is_zero() || due >= start.elapsed() + left;
            let is_over = round > 0 && (interval.is_none() || due >= MINUTE || is_late);
            if is_over {
                break;
            }
            sleep_until(start + due).await;
            self.sync_round(&mut report, deadline).await;
        }
        info!(
            action = "sync_health",
            outcome = if report.problems.is_empty() { operation.done() } else { "incomplete" },
            rounds = report.rounds,
            updated = report.updated,
            removed = report.removed
        );
        report
    }

    async fn sync_round(&self, report: &mut HealthReport, deadline: Deadline) {
        report.rounds += 1;
        let clusters = match deadline.run(self.tasks.clusters()).await {
            Ok(clusters) => clusters,
            Err(error) => return report.record(ProblemReport::new(None, &error)),
        };
        for round in concurrently(clusters.iter().map(|cluster| self.sync_cluster(cluster, deadline))).await {
            report.updated += round.updated;
            report.removed += round.removed;
            for problem in round.problems {
                report.record(problem);
            }
        }
    }

    async fn sync_cluster(&self, cluster: &ClusterArn, deadline: Deadline) -> HealthReport {
        match deadline.run(self.running(cluster)).await {
            Ok(tasks) => self.sync_described(cluster, &tasks, deadline).await,
            Err(error) => {
                HealthReport { problems: vec![ProblemReport::new(Some(cluster), &error)], ..HealthReport::default() }
            }
        }
    }

    /// The running tasks of a cluster.
    async fn running(&self, cluster: &ClusterArn) -> Result<Vec<DescribedTask>, ControllerError> {
        let listed = match self.tasks.ecs.list_running(cluster).await {
            Err(EcsError::UnknownCluster(_)) if self.tasks.is_deleted(cluster).await? => {
                return Ok(Vec::new());
            }
            listed => listed?,
        };
        Ok(self.tasks.describe_all(cluster, &listed).await?)
    }

    /// Syncs the health of those of these tasks that are meant to run.
    pub(crate) async fn sync_described(
        &self,
        cluster: &ClusterArn,
        tasks: &[DescribedTask],
        deadline: Deadline,
    ) -> HealthReport {
        let mut report = HealthReport::default();
        let definitions = self.tasks.definitions(tasks.iter().map(|task| &task.definition), deadline).await;
        let synced = self.synced_tasks(cluster, tasks, &definitions, &mut report.problems);
        for (tenancy, tasks) in &synced {
            self.sync_tasks(cluster, tenancy, tasks, deadline, &mut report).await;
        }
        report
    }

    /// The active mesh tasks, by tenancy. Stopping tasks are drained by their events.
    fn synced_tasks(
        &self,
        cluster: &ClusterArn,
        tasks: &[DescribedTask],
        definitions: &Definitions,
        problems: &mut Vec<ProblemReport>,
    ) -> BTreeMap<Tenancy, Vec<SyncedTask>> {
        let mut synced: BTreeMap<Tenancy, Vec<SyncedTask>> = BTreeMap::new();
        for task in tasks.iter().filter(|task| task.phase == TaskPhase::Active) {
            let tenancy = self.tasks.scope.tenancy_of(cluster);
            let identity = match definitions.classify(&task.definition, Some(&task.tags), tenancy) {
                Classification::Member(identity) => identity,
                // Invalid tags are reported by events and sweeps.
                Classification::Outside | Classification::TagsUnknown | Classification::Invalid(_) => continue,
                Classification::DefinitionDeleted(error) | Classification::DefinitionUnread(error) => {
                    problems.push(ProblemReport::new(Some(cluster), &error));
                    continue;
                }
            };
            let Some(definition) = definitions.get(&task.definition) else { continue };
            let facts = TaskFacts { cluster, task, definition, is_enterprise: self.tasks.scope.is_enterprise() };
            // Where the synced containers are unknown, no check is changed.
            let Some(synced_containers) = facts.synced_containers() else {
                warn!(
                    task_definition = task.definition.as_str(),
                    field = CONFIG_VARIABLE,
                    outcome = "ignored",
                    "the health of its tasks is not synced"
                );
                continue;
            };
            let tenancy = facts.tenancy().unwrap_or(identity.service.tenancy);
            synced.entry(tenancy).or_default().push(SyncedTask {
                id: task.arn.id().clone(),
                containers: task.containers.clone(),
                synced: synced_containers,
                is_overall: definition.programs.report_overall_health(),
                is_taken_over: self.tasks.scope.losses(task, definition).health_sync,
            });
        }
        synced
    }

    async fn sync_tasks(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[SyncedTask],
        deadline: Deadline,
        report: &mut HealthReport,
    ) {
        let (instances, checks) = match deadline.run(self.node_with_checks(cluster, tenancy)).await {
            Ok(read) => read,
            Err(error) => return report.problems.push(ProblemReport::new(Some(cluster), &error)),
        };
        let registered = Registered::new(&instances, &checks);
        let changed =
            tasks.iter().map(|task| (task, changes(task, &registered))).filter(|(_, changes)| !changes.is_empty());
        let writes = changed.map(|(task, changes)| async move {
            let written = self.write_health(&changes, deadline).await;
            (task, changes, written)
        });
        for (task, changes, written) in concurrently(writes).await {
            report.updated += written.updated;
            report.removed += written.removed;
            if written.updated > 0
                && let Some(healing) = takeover(cluster, task, &changes)
            {
                self.announcer.healed(healing);
            }
            report.problems.extend(written.error.map(|error| ProblemReport::new(Some(cluster), &error)));
        }
    }

    async fn node_with_checks(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
    ) -> Result<(Vec<ServiceInstance>, Vec<HealthCheck>), ControllerError> {
        let consul = &self.catalog;
        let name = cluster.as_str();
        let (node, checks) = futures::try_join!(consul.node(name, tenancy), consul.node_checks(name, tenancy))?;
        Ok((node.map(|node| node.instances).unwrap_or_default(), checks))
    }

    /// Writes the changes of one task, until an error.
    async fn write_health(&self, changes: &HealthChanges, deadline: Deadline) -> Written {
        let mut written = Written::default();
        if !changes.updates.is_empty() {
            match deadline.run(self.catalog.set_checks(&changes.updates)).await {
                Ok(()) => written.updated = changes.updates.len(),
                // The task was deregistered since.
                Err(ControllerError::Consul(ConsulError::Conflict { .. })) => {}
                Err(error) => return Written { error: Some(error), ..written },
            }
        }
        for check in &changes.orphans {
            if let Err(error) = deadline.run(self.catalog.deregister_check(check)).await {
                return Written { error: Some(error), ..written };
            }
            written.removed += 1;
            let outcome = self.tasks.scope.operation.done();
            info!(action = "deregister_check", outcome, check_id = check.id, service = check.service_name);
        }
        written
    }
}

/// What was written of the changes of one task.
#[derive(Default)]
struct Written {
    updated: usize,
    removed: usize,
    /// Why the rest was not written.
    error: Option<ControllerError>,
}

/// The takeover of a task whose checks say since this write that the controller reports them.
fn takeover(cluster: &ClusterArn, task: &SyncedTask, changes: &HealthChanges) -> Option<Healing> {
    let first = changes.taken_over.first()?;
    let seen = changes.taken_over.iter().map(|check| format!("{} {}", check.id, check.status.as_str()));
    Some(Healing {
        kind: HealingKind::Takeover,
        cluster: cluster.clone(),
        task_id: task.id.to_string(),
        service: first.service_name.clone(),
        reason: "its health-sync has stopped, and does not start again; the controller reports its health every minute"
            .to_owned(),
        in_ecs: containers_of(&task.containers),
        in_consul: seen.collect::<Vec<_>>().join(", "),
    })
}
