//! Applying: the only place, with `provision` and `revoke`, that writes to Consul or AWS.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};
use tracing::info;

use super::{
    CONCURRENCY, Controller, ControllerError, Deadline,
    message::Message,
    observe::{Failures, blame},
};
use crate::{
    consul::{ConsulError, MAX_TRANSACTION_OPERATIONS},
    mesh::{
        arn::TaskArn,
        catalog::{HealthCheck, ServiceInstance},
        identity::MeshService,
        plan::{Action, Planned},
        task::TaskChange,
        tenancy::{Tenancy, TenancyName},
        token::{ListedToken, TokenHolder},
    },
};

/// The changes that a plan was made from, by task.
pub(super) type Changes = BTreeMap<TaskArn, TaskChange>;

impl Controller {
    /// Does all that is planned, as far as time allows, and says which tasks' work is not done and why.
    pub(super) async fn apply(&self, planned: Vec<Planned>, changes: &Changes, deadline: Deadline) -> Failures {
        let mut work = Work::default();
        for Planned { action, tasks } in planned {
            match action {
                Action::Provision(holder) => work.provisions.push((holder, tasks)),
                Action::DeleteLoginToken(token) => work.login_tokens.push((token, tasks)),
                Action::CheckIdleness(service) => work.idle_checks.push((service, tasks)),
                Action::MarkCritical(check) => {
                    let node = (check.node.clone(), check.tenancy.clone());
                    work.checks.entry(node).or_default().push((check, tasks));
                }
                Action::Deregister(instance) => {
                    let partition = instance.tenancy.partition().cloned();
                    work.instances.entry(partition).or_default().push((instance, tasks));
                }
            }
        }
        let (provisioned, deleted, deregistered, drained, asked) = futures::join!(
            self.provision_all(work.provisions, changes, deadline),
            self.delete_login_tokens(work.login_tokens, deadline),
            self.deregister_all(work.instances.into_values(), deadline),
            self.mark_all_critical(work.checks.into_values(), deadline),
            self.ask_for_idle_checks(work.idle_checks, deadline),
        );
        [provisioned, deleted, deregistered, drained, asked].into_iter().flatten().collect()
    }

    async fn provision_all(
        &self,
        provisions: Vec<(TokenHolder, Vec<TaskArn>)>,
        changes: &Changes,
        deadline: Deadline,
    ) -> Failures {
        let unknown = provisions.into_iter().filter(|(holder, _)| !self.trusts(holder));
        let work = unknown.map(|(holder, tasks)| async move {
            let changes: Vec<&TaskChange> = tasks.iter().filter_map(|task| changes.get(task)).collect();
            match deadline.run(self.provision_for_tasks(&holder, &changes)).await {
                Ok(()) => Failures::new(),
                Err(error) => blame(&tasks, error),
            }
        });
        all(work).await
    }

    async fn delete_login_tokens(&self, tokens: Vec<(ListedToken, Vec<TaskArn>)>, deadline: Deadline) -> Failures {
        let work = tokens.into_iter().map(|(token, tasks)| async move {
            match deadline.run(self.edges.consul.delete_token(&token.tenancy, token.accessor)).await {
                Ok(()) => {
                    let task_id = tasks.first().map(|task| task.id().as_str());
                    info!(action = "delete_login_token", outcome = "done", task_id, accessor_id = %token.accessor);
                    Failures::new()
                }
                Err(error) => blame(&tasks, error),
            }
        });
        all(work).await
    }

    /// Takes instances out in transactions, one after the other: each is one Raft commit.
    async fn deregister_all(
        &self,
        groups: impl Iterator<Item = Group<ServiceInstance>>,
        deadline: Deadline,
    ) -> Failures {
        let write = async |instances: &[ServiceInstance]| self.edges.consul.deregister(instances).await;
        write_in_chunks(groups, deadline, write, |instance, _| log_deregistration(instance)).await
    }

    async fn mark_all_critical(
        &self,
        groups: impl Iterator<Item = Group<HealthCheck>>,
        deadline: Deadline,
    ) -> Failures {
        let write = async |checks: &[HealthCheck]| self.edges.consul.mark_critical(checks).await;
        write_in_chunks(groups, deadline, write, log_drain).await
    }

    async fn ask_for_idle_checks(&self, checks: Vec<(MeshService, Vec<TaskArn>)>, deadline: Deadline) -> Failures {
        if checks.is_empty() {
            return Failures::new();
        }
        let bodies: Vec<String> = checks.iter().map(|(service, _)| Message::idle_check(service)).collect();
        let delay = self.scope.grace.delay();
        match deadline.run(self.edges.queue.send_later(&bodies, delay)).await {
            Ok(()) => {
                for (service, _) in &checks {
                    info!(action = "ask_for_idle_check", outcome = "done", service = %service.name, delay_seconds = delay.as_secs());
                }
                Failures::new()
            }
            Err(error) => blame(checks.iter().flat_map(|(_, tasks)| tasks), error),
        }
    }
}

/// Catalog entries to change, each with the tasks that asked for it.
type Group<T> = Vec<(T, Vec<TaskArn>)>;

#[derive(Default)]
struct Work {
    provisions: Vec<(TokenHolder, Vec<TaskArn>)>,
    login_tokens: Vec<(ListedToken, Vec<TaskArn>)>,
    idle_checks: Vec<(MeshService, Vec<TaskArn>)>,
    /// By partition: a transaction cannot cross it.
    instances: BTreeMap<Option<TenancyName>, Group<ServiceInstance>>,
    /// By node and tenancy: a registration is about one node.
    checks: BTreeMap<(String, Tenancy), Group<HealthCheck>>,
}

async fn all(work: impl Iterator<Item = impl Future<Output = Failures>>) -> Failures {
    let done: Vec<Failures> = stream::iter(work).buffer_unordered(CONCURRENCY).collect().await;
    done.into_iter().flatten().collect()
}

async fn write_in_chunks<T: Clone>(
    groups: impl Iterator<Item = Group<T>>,
    deadline: Deadline,
    write: impl AsyncFn(&[T]) -> Result<(), ConsulError>,
    log: impl Fn(&T, &[TaskArn]),
) -> Failures {
    let mut failures = Failures::new();
    for group in groups {
        for chunk in group.chunks(MAX_TRANSACTION_OPERATIONS) {
            let entries: Vec<T> = chunk.iter().map(|(entry, _)| entry.clone()).collect();
            match deadline.run(write(&entries)).await {
                Ok(()) => chunk.iter().for_each(|(entry, tasks)| log(entry, tasks)),
                Err(error) => failures.extend(blame(chunk.iter().flat_map(|(_, tasks)| tasks), error)),
            }
        }
    }
    failures
}

fn log_deregistration(instance: &ServiceInstance) {
    info!(
        action = "deregister",
        outcome = "done",
        task_id = %instance.task,
        cluster_arn = instance.node,
        service = instance.name,
        service_id = instance.id
    );
}

fn log_drain(check: &HealthCheck, tasks: &[TaskArn]) {
    info!(
        action = "mark_critical",
        outcome = "done",
        task_id = tasks.first().map(|task| task.id().as_str()),
        cluster_arn = check.node,
        service = check.service_name,
        check_id = check.id
    );
}

/// Whether a task's failure only says that somebody else changed what was seen: then it is worth a second look at once.
pub(super) fn is_conflict(error: &Arc<ControllerError>) -> bool {
    matches!(error.as_ref(), ControllerError::Consul(ConsulError::Conflict { .. }))
}
