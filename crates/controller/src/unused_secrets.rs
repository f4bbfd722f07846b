//! Unused secrets: an empty secret of a service that is gone is deleted, with a window for recovery. A task that starts
//! later restores it: see [`aws::secrets::SecretStore::write`].

use std::{sync::Arc, time::Duration};

use aws::{ecs::EcsError, secrets::OwnSecret};
use jiff::Timestamp;
use mesh::{secret::SecretState, secret_reference::SecretReference, time::elapsed};
use serde::Serialize;
use tokio::time::sleep;
use tracing::{error, info};

use crate::{
    deadline::Deadline, edges::Secrets, error::ControllerError, outcome::concurrently_in_order, problem::ProblemReport,
    tasks::TaskReader,
};

/// How long the deletion of one secret may take, which is not interrupted: three calls and the lag of reads.
const TIME_TO_DELETE: Duration = Duration::from_secs(90);

/// What to do with unused secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedSecretsOrder {
    /// Only report them.
    DryRun,
    /// Delete them.
    Delete,
}

/// The unused secrets.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnusedSecretsReport {
    /// The names of the unused secrets; those that were deleted, except in a dry run.
    pub unused: Vec<String>,
    /// What could not be read or deleted.
    pub problems: Vec<ProblemReport>,
}

/// Finds and deletes unused secrets.
pub(crate) struct UnusedSecrets {
    pub(crate) tasks: TaskReader,
    pub(crate) secrets: Arc<dyn Secrets>,
}

/// An empty secret.
struct EmptySecret {
    name: String,
    version: String,
}

impl UnusedSecrets {
    /// Deletes the secrets that the controller created, that have been empty for as long as an unused token is kept, and
    /// that no active task definition reads. A failed read is a problem, and nothing that depends on it is deleted.
    pub(crate) async fn run(&self, order: UnusedSecretsOrder, deadline: Deadline) -> UnusedSecretsReport {
        let mut report = UnusedSecretsReport::default();
        match self.find(deadline, &mut report.problems).await {
            Ok(unused) if order == UnusedSecretsOrder::DryRun => {
                report.unused = unused.into_iter().map(|secret| secret.name).collect();
            }
            Ok(unused) => self.delete_all(unused, deadline, &mut report).await,
            Err(error) => report.problems.push(ProblemReport::new(None, &error)),
        }
        for problem in &report.problems {
            error!(action = "delete_secret", outcome = "failed", error = problem.label, reason = problem.reason);
        }
        report
    }

    async fn find(
        &self,
        deadline: Deadline,
        problems: &mut Vec<ProblemReport>,
    ) -> Result<Vec<EmptySecret>, ControllerError> {
        let listed = deadline.run(self.secrets.own_secrets(&self.tasks.scope.names.start())).await?;
        let old = listed.into_iter().filter(|OwnSecret { changed_at, .. }| self.is_old(*changed_at));
        let reads = old.map(|secret| async move {
            let read = deadline.run(self.secrets.read(&secret.name)).await;
            (secret.name, read)
        });
        let mut empty = Vec::new();
        for (name, read) in concurrently_in_order(reads).await {
            match read {
                Ok(secret) => {
                    let is_unused = matches!(secret.state, SecretState::Empty) && secret.is_ours;
                    let version = secret.version.filter(|_| is_unused && self.is_old(secret.written_at));
                    empty.extend(version.map(|version| EmptySecret { name, version }));
                }
                Err(error) => problems.push(ProblemReport::new(None, &error)),
            }
        }
        if !empty.is_empty() {
            let references = self.references(deadline).await?;
            let (account, region) = (self.tasks.scope.names.account(), self.tasks.scope.names.region());
            empty.retain(|secret| {
                !references.iter().any(|reference| reference.is_in(account, region) && reference.is_to(&secret.name))
            });
        }
        Ok(empty)
    }

    /// Whether a change was as long ago as an unused token is kept.
    fn is_old(&self, changed_at: Option<Timestamp>) -> bool {
        changed_at.is_some_and(|at| elapsed(at, self.tasks.clock.now()) >= self.tasks.scope.unused_for)
    }

    /// The secrets that the containers of all active task definitions read.
    ///
    /// # Errors
    /// A definition could not be read, or there is none: then the account or region may be another one.
    async fn references(&self, deadline: Deadline) -> Result<Vec<SecretReference>, ControllerError> {
        let active = deadline.run(self.tasks.ecs.active_definitions()).await?;
        if active.is_empty() {
            let subject = "the active task definitions".to_owned();
            let reason = "ECS lists none, so that no secret is deleted; check the region".to_owned();
            return Err(EcsError::Failed { subject, reason }.into());
        }
        let definitions = self.tasks.definitions(&active, deadline).await;
        let mut references = Vec::new();
        for definition in definitions.all() {
            match definition {
                Ok(definition) => references.extend(definition.secrets.iter().cloned()),
                // It was deleted since.
                Err(error) if error.is_unknown_definition() => {}
                Err(error) => return Err(Arc::clone(error).into()),
            }
        }
        Ok(references)
    }

    async fn delete_all(&self, unused: Vec<EmptySecret>, deadline: Deadline, report: &mut UnusedSecretsReport) {
        let deletions = unused.into_iter().map(|secret| async move {
            let has_time = deadline.left() >= TIME_TO_DELETE;
            let deleted = if has_time { self.delete(&secret).await } else { Err(ControllerError::OutOfTime) };
            (secret.name, deleted)
        });
        for (name, deleted) in concurrently_in_order(deletions).await {
            match deleted {
                Ok(true) => report.unused.push(name),
                Ok(false) => {}
                Err(error) => report.problems.push(ProblemReport::new(None, &error)),
            }
        }
    }

    /// Deletes a secret; whether it stays deleted. A task may have got a token in it since it was read: no write succeeds
    /// after the mark for deletion, and after the lag of reads an earlier one is seen.
    async fn delete(&self, secret: &EmptySecret) -> Result<bool, ControllerError> {
        self.secrets.schedule_deletion(&secret.name).await?;
        sleep(self.tasks.scope.bounds.secrets_lag).await;
        if self.secrets.restore_if_replaced(&secret.name, &secret.version).await? {
            return Ok(false);
        }
        info!(action = "delete_secret", outcome = "done", secret = secret.name);
        Ok(true)
    }
}
