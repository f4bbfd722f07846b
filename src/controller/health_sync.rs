//! Health sync: ECS's word on containers into Consul's checks, several times within one invocation.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::{StreamExt, stream};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use super::{CONCURRENCY, Controller, ControllerError, Deadline, observe::Definitions, sweep::ProblemReport};
use crate::consul::ConsulError;
use mesh::{
    arn::{ClusterArn, TaskDefinitionArn},
    catalog::{HealthCheck, ServiceInstance},
    ecs_config::CONFIG_VARIABLE,
    health::{HealthChanges, SyncedTask, changes},
    phase::TaskPhase,
    task::DescribedTask,
    tenancy::Tenancy,
};

/// How long one invocation goes on: the schedule brings the next a minute after it began.
const MINUTE: Duration = Duration::from_secs(60);

/// What the rounds of one invocation came to.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthReport {
    /// How often all clusters were looked at.
    pub rounds: usize,
    /// How many checks got another status.
    pub updated: usize,
    /// How many checks of no synced container were taken out.
    pub removed: usize,
    /// What could not be read or done, each once.
    pub problems: Vec<ProblemReport>,
}

impl Controller {
    /// Syncs every `interval` for a minute, as far as time allows; once without an interval.
    pub async fn sync_health(&self, interval: Option<Duration>, deadline: Deadline) -> HealthReport {
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
            outcome = if report.problems.is_empty() { "done" } else { "incomplete" },
            rounds = report.rounds,
            updated = report.updated,
            removed = report.removed
        );
        report
    }

    async fn sync_round(&self, report: &mut HealthReport, deadline: Deadline) {
        report.rounds += 1;
        let clusters = &self.scope.clusters;
        let syncs = clusters
            .iter()
            .map(|cluster| async move { (cluster, deadline.run(self.sync_cluster(cluster, deadline)).await) });
        let synced: Vec<_> = stream::iter(syncs).buffer_unordered(CONCURRENCY).collect().await;
        for (cluster, result) in synced {
            let problems = match result {
                Ok(round) => {
                    report.updated += round.updated;
                    report.removed += round.removed;
                    round.problems
                }
                Err(error) => vec![ProblemReport::new(Some(cluster), &error)],
            };
            for problem in problems {
                error!(action = "sync_health", outcome = "failed", cluster_arn = %cluster, error = problem.label, reason = problem.reason);
                if !report.problems.iter().any(|known| known.reason == problem.reason) {
                    report.problems.push(problem);
                }
            }
        }
    }

    async fn sync_cluster(&self, cluster: &ClusterArn, deadline: Deadline) -> Result<HealthReport, ControllerError> {
        let mut report = HealthReport::default();
        let listed = self.edges.ecs.list_running(cluster).await?;
        let tasks = self.describe_all(cluster, &listed).await?;
        let arns: BTreeSet<&TaskDefinitionArn> = tasks.iter().map(|task| &task.definition).collect();
        let definitions = self.definitions(arns, deadline).await;
        let synced = self.synced_tasks(cluster, &tasks, &definitions, &mut report.problems);
        for (tenancy, tasks) in &synced {
            self.sync_tasks(cluster, tenancy, tasks, &mut report).await?;
        }
        Ok(report)
    }

    /// The tasks of the mesh that are meant to run, by where they live in Consul. One that was told to stop a moment ago
    /// is its event's to drain.
    fn synced_tasks(
        &self,
        cluster: &ClusterArn,
        tasks: &[DescribedTask],
        definitions: &Definitions,
        problems: &mut Vec<ProblemReport>,
    ) -> BTreeMap<Tenancy, Vec<SyncedTask>> {
        let mut synced: BTreeMap<Tenancy, Vec<SyncedTask>> = BTreeMap::new();
        for task in tasks.iter().filter(|task| task.phase == TaskPhase::Active) {
            let definition = match definitions.get(&task.definition) {
                Some(Ok(definition)) => definition,
                Some(Err(error)) => {
                    problems.push(ProblemReport::new(Some(cluster), error));
                    continue;
                }
                None => continue,
            };
            // Illegal tags are the events' and the sweep's to report.
            let Ok(Some(identity)) = definition.identify(&task.tags, self.scope.tenancy_of(cluster)) else { continue };
            // Of a configuration that cannot be read nobody knows which checks it wants: all of them stay as they are.
            let Ok(synced_containers) = definition.synced_containers() else {
                warn!(
                    task_definition = task.definition.as_str(),
                    field = CONFIG_VARIABLE,
                    outcome = "ignored",
                    "the health of its tasks is not synced"
                );
                continue;
            };
            synced.entry(identity.service.tenancy).or_default().push(SyncedTask {
                id: task.arn.id().clone(),
                containers: task.containers.clone(),
                synced: synced_containers,
            });
        }
        synced
    }

    async fn sync_tasks(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
        tasks: &[SyncedTask],
        report: &mut HealthReport,
    ) -> Result<(), ControllerError> {
        let (instances, checks) = self.node_with_checks(cluster, tenancy).await?;
        let changed = tasks.iter().map(|task| changes(task, &instances, &checks)).filter(|changes| !changes.is_empty());
        let writes = changed.map(|changes| self.write_health(changes));
        let written: Vec<Result<(usize, usize), ControllerError>> =
            stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
        for result in written {
            match result {
                Ok((updated, removed)) => {
                    report.updated += updated;
                    report.removed += removed;
                }
                Err(error) => report.problems.push(ProblemReport::new(Some(cluster), &error)),
            }
        }
        Ok(())
    }

    async fn node_with_checks(
        &self,
        cluster: &ClusterArn,
        tenancy: &Tenancy,
    ) -> Result<(Vec<ServiceInstance>, Vec<HealthCheck>), ControllerError> {
        let consul = &self.edges.consul;
        let name = cluster.as_str();
        let (node, checks) = futures::try_join!(consul.node(name, tenancy), consul.node_checks(name, tenancy))?;
        Ok((node.map(|node| node.instances).unwrap_or_default(), checks))
    }

    /// Writes one task's changes: how many checks were updated, and how many taken out.
    async fn write_health(&self, changes: HealthChanges) -> Result<(usize, usize), ControllerError> {
        let mut updated = 0;
        if !changes.updates.is_empty() {
            match self.edges.consul.set_checks(&changes.updates).await {
                Ok(()) => updated = changes.updates.len(),
                // The task has gone meanwhile.
                Err(ConsulError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        for check in &changes.orphans {
            self.edges.consul.deregister_check(check).await?;
            info!(action = "deregister_check", outcome = "done", check_id = check.id, service = check.service_name);
        }
        Ok((updated, changes.orphans.len()))
    }
}
