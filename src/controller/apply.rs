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
    consul::{CatalogWrite, MAX_TRANSACTION_OPERATIONS},
    mesh::{
        arn::TaskArn,
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
                    work.catalog(check.tenancy.clone(), CatalogWrite::MarkCritical(check), tasks);
                }
                Action::Deregister(instance) => {
                    work.catalog(instance.tenancy.clone(), CatalogWrite::Deregister(instance), tasks);
                }
            }
        }
        let (provisioned, deleted, written, asked) = futures::join!(
            self.provision_all(work.provisions, changes, deadline),
            self.delete_login_tokens(work.login_tokens, deadline),
            self.write_catalog(work.catalog, deadline),
            self.ask_for_idle_checks(work.idle_checks, deadline),
        );
        [provisioned, deleted, written, asked].into_iter().flatten().collect()
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

    /// Writes in transactions, one after the other: each is one Raft commit.
    async fn write_catalog(&self, writes: CatalogWrites, deadline: Deadline) -> Failures {
        let mut failures = Failures::new();
        for (tenancy, writes) in writes.into_values() {
            for chunk in writes.chunks(MAX_TRANSACTION_OPERATIONS) {
                let operations: Vec<CatalogWrite> = chunk.iter().map(|(write, _)| write.clone()).collect();
                match deadline.run(self.edges.consul.write_catalog(&tenancy, &operations)).await {
                    Ok(()) => chunk.iter().for_each(|(write, tasks)| log_write(write, tasks)),
                    Err(error) => failures.extend(blame(chunk.iter().flat_map(|(_, tasks)| tasks), error)),
                }
            }
        }
        failures
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

/// Catalog writes by partition: a transaction cannot cross it.
type CatalogWrites = BTreeMap<Option<TenancyName>, (Tenancy, Vec<(CatalogWrite, Vec<TaskArn>)>)>;

#[derive(Default)]
struct Work {
    provisions: Vec<(TokenHolder, Vec<TaskArn>)>,
    login_tokens: Vec<(ListedToken, Vec<TaskArn>)>,
    idle_checks: Vec<(MeshService, Vec<TaskArn>)>,
    catalog: CatalogWrites,
}

impl Work {
    fn catalog(&mut self, tenancy: Tenancy, write: CatalogWrite, tasks: Vec<TaskArn>) {
        let partition = tenancy.partition().cloned();
        self.catalog.entry(partition).or_insert_with(|| (tenancy, Vec::new())).1.push((write, tasks));
    }
}

async fn all(work: impl Iterator<Item = impl Future<Output = Failures>>) -> Failures {
    let done: Vec<Failures> = stream::iter(work).buffer_unordered(CONCURRENCY).collect().await;
    done.into_iter().flatten().collect()
}

fn log_write(write: &CatalogWrite, tasks: &[TaskArn]) {
    let task_id = tasks.first().map(|task| task.id().as_str());
    match write {
        CatalogWrite::Deregister(instance) => info!(
            action = "deregister",
            outcome = "done",
            task_id,
            cluster_arn = instance.node,
            service = instance.name,
            service_id = instance.id
        ),
        CatalogWrite::MarkCritical(check) => info!(
            action = "mark_critical",
            outcome = "done",
            task_id,
            cluster_arn = check.node,
            service = check.service_name,
            check_id = check.id
        ),
    }
}

/// Whether a task's failure only says that somebody else changed what was seen: then it is worth a second look at once.
pub(super) fn is_conflict(error: &Arc<ControllerError>) -> bool {
    use crate::consul::ConsulError;
    matches!(error.as_ref(), ControllerError::Consul(ConsulError::Conflict { .. }))
}
