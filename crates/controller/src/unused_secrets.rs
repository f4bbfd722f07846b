//! Unused secrets: an empty secret of a service that is gone is deleted, with a window for recovery. A task that starts
//! later restores it: see [`aws::secrets::SecretStore::write`].

use std::{sync::Arc, time::Duration};

use aws::secrets::{OwnSecret, SecretsError};
use jiff::Timestamp;
use mesh::{secret::SecretState, settings::TokenMode, time::elapsed};
use report::Problem;
use serde::Serialize;
use tokio::time::sleep;
use tracing::{error, info};

use crate::{
    clock::Deadline,
    edges::Secrets,
    error::{ControllerError, concurrently_in_order},
    tasks::TaskReader,
};

/// How long the deletion of one secret may take, which is not interrupted: four calls and the lag of reads.
const TIME_TO_DELETE: Duration = Duration::from_secs(90);

/// The most active task definitions that are read: an invocation has time for them at the rate of 20 calls a second.
const MAX_DEFINITIONS: usize = 4_000;

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
    /// The names of the unused secrets; those that were deleted, except in a dry run and in mode
    /// `observe`.
    pub unused: Vec<String>,
    /// Why secrets are left that may be unused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// What could not be read or deleted.
    pub problems: Vec<Problem>,
}

impl UnusedSecretsReport {
    fn add(&mut self, error: &ControllerError) {
        match error {
            ControllerError::OutOfTime => self.left = Some("time ran out; the next run begins again".to_owned()),
            error => self.problems.push(error.problem(None)),
        }
    }
}

pub(crate) struct UnusedSecrets {
    pub(crate) tasks: TaskReader,
    pub(crate) secrets: Arc<dyn Secrets>,
}

struct EmptySecret {
    name: String,
    version: String,
}

impl UnusedSecrets {
    /// Deletes the secrets that the controller created, that have been empty for as long as an unused token is kept, and
    /// that no active task definition reads; none in mode `secrets-manager`. A failed read is a problem, and nothing that
    /// depends on it is deleted.
    pub(crate) async fn run(&self, order: UnusedSecretsOrder, deadline: Deadline) -> UnusedSecretsReport {
        let mut report = UnusedSecretsReport::default();
        if self.tasks.scope.token_mode == TokenMode::SecretsManager {
            report.left = Some("in mode secrets-manager, tasks may read secrets that no definition names".to_owned());
            return report;
        }
        match self.find(deadline, &mut report).await {
            Ok(unused) if order == UnusedSecretsOrder::DryRun => {
                report.unused = unused.into_iter().map(|secret| secret.name).collect();
            }
            Ok(unused) => self.delete_all(unused, deadline, &mut report).await,
            Err(error) => report.add(&error),
        }
        if let Some(reason) = &report.left {
            info!(action = "delete_secret", outcome = "left", reason);
        }
        for problem in &report.problems {
            error!(
                action = "delete_secret",
                outcome = "failed",
                error = problem.label.as_str(),
                reason = problem.reason
            );
        }
        report
    }

    async fn find(
        &self,
        deadline: Deadline,
        report: &mut UnusedSecretsReport,
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
                Err(error) => report.add(&error),
            }
        }
        self.retain_unread(&mut empty, deadline, report).await?;
        Ok(empty)
    }

    /// Whether a change was as long ago as an unused token is kept.
    fn is_old(&self, changed_at: Option<Timestamp>) -> bool {
        changed_at.is_some_and(|at| elapsed(at, self.tasks.clock.now()) >= self.tasks.scope.unused_for)
    }

    /// Removes from `empty` the secrets that containers of an active task definition read, in any version. The definitions
    /// are read one after the other, because the rate of these calls is limited for the whole account.
    ///
    /// # Errors
    /// A definition could not be read.
    async fn retain_unread(
        &self,
        empty: &mut Vec<EmptySecret>,
        deadline: Deadline,
        report: &mut UnusedSecretsReport,
    ) -> Result<(), ControllerError> {
        if empty.is_empty() {
            return Ok(());
        }
        let active = deadline.run(self.tasks.ecs.active_definitions()).await?;
        if !(1..=MAX_DEFINITIONS).contains(&active.len()) {
            let count = active.len();
            report.left = Some(format!("ECS lists {count} active task definitions, expected 1 to {MAX_DEFINITIONS}"));
            empty.clear();
        }
        let (account, region) = (self.tasks.scope.names.account(), self.tasks.scope.names.region());
        for arn in active {
            if empty.is_empty() {
                break;
            }
            let definition = deadline.run(self.tasks.ecs.task_definition(&arn)).await?;
            let references = || definition.secrets.iter().filter(|reference| reference.is_in(account, region));
            empty.retain(|secret| !references().any(|reference| reference.is_to(&secret.name)));
        }
        Ok(())
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
                Err(error) => report.add(&error),
            }
        }
    }

    /// Deletes a secret; whether it stays deleted. A task may have got a token in it since it was read: no write succeeds
    /// after the mark for deletion, and after the lag of reads an earlier one is seen. It is looked for also if the answer
    /// was lost, or another invocation was faster.
    async fn delete(&self, secret: &EmptySecret) -> Result<bool, ControllerError> {
        if self.secrets.read(&secret.name).await?.version.as_deref() != Some(&secret.version) {
            return Ok(false);
        }
        let marked = match self.secrets.schedule_deletion(&secret.name).await {
            Err(refused @ SecretsError::Refused { .. }) => return Err(refused.into()),
            Ok(()) | Err(SecretsError::MarkedForDeletion { .. }) => Ok(()),
            lost => lost,
        };
        sleep(self.tasks.scope.bounds.secrets_lag).await;
        let is_deleted = self.secrets.confirm_deletion(&secret.name, &secret.version).await?;
        marked?;
        if is_deleted {
            info!(action = "delete_secret", outcome = self.tasks.scope.mode.done(), secret = secret.name);
        }
        Ok(is_deleted)
    }
}
