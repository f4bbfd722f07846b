//! An attempt at one holder's token: reads and writes of its secret, and the log lines.

use std::time::Duration;

use aws::secrets::SecretsError;
use backon::{ExponentialBuilder, Retryable};
use consul::Token;
use jiff::Timestamp;
use mesh::{
    arn::TaskArn,
    mark::is_token_of,
    secret::{Retirement, SecretState, StoredSecret, Trigger},
    tenancy::Tenancy,
    token::{AccessorId, TokenHolder},
};
use telemetry::Counted;
use tokio::time::timeout;
use tracing::info;

use super::{context::Tokens, demand::Demand};
use crate::{announcement::Announcement, counting::count, error::ControllerError, outcome::Effect};

/// The result of one step.
pub(super) enum Progress {
    /// Nothing is left to do.
    Done(Effect),
    /// The step succeeded; another one may follow.
    Again,
    /// Another writer has replaced the version of the secret that was read. The new version, if it was read.
    Conflict(Option<StoredSecret>),
}

/// An attempt at one holder's token.
pub(super) struct Attempt<'a> {
    pub(super) tokens: &'a Tokens,
    pub(super) holder: &'a TokenHolder,
    /// The name of the holder's secret.
    pub(super) name: String,
}

impl Attempt<'_> {
    /// Runs the work, for at most the time bound of an attempt.
    pub(super) async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, ControllerError>>,
    ) -> Result<T, ControllerError> {
        let bound = self.tokens.scope.bounds.attempt;
        timeout(bound, Box::pin(work)).await.unwrap_or(Err(ControllerError::OutOfTime))
    }

    /// The holder's secret.
    pub(super) async fn read(&self) -> Result<StoredSecret, SecretsError> {
        self.tokens.secrets.read(&self.name).await
    }

    /// Reads the secret until it has another version than `replaced`: Secrets Manager may return a replaced version for
    /// a while.
    ///
    /// # Errors
    /// [`SecretsError::RolledBack`] if it still has that version after the lag of reads.
    pub(super) async fn read_after(
        &self,
        replaced: &StoredSecret,
        read: Option<StoredSecret>,
    ) -> Result<StoredSecret, SecretsError> {
        if let Some(read) = read.filter(|read| read.version != replaced.version) {
            return Ok(read);
        }
        let max_delay = Duration::from_secs(1);
        // The retries end before the sum of their delays exceeds this, which is longer than the lag of reads.
        let total = self.tokens.scope.bounds.secrets_lag + max_delay;
        let backoff = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(50))
            .with_max_delay(max_delay)
            .without_max_times()
            .with_total_delay(Some(total));
        let read = || async {
            let secret = self.read().await?;
            let is_replaced = secret.version == replaced.version;
            if is_replaced { Err(SecretsError::RolledBack { name: self.name.clone() }) } else { Ok(secret) }
        };
        read.retry(backoff).when(|error| matches!(error, SecretsError::RolledBack { .. })).await
    }

    /// Writes a state into the secret if it still has the version of `seen`; `None` if it has not.
    pub(super) async fn swap(
        &self,
        seen: &StoredSecret,
        state: SecretState,
    ) -> Result<Option<StoredSecret>, SecretsError> {
        let action = match state {
            SecretState::Active(_) => "show_token",
            SecretState::Retiring(..) => "hide_token",
            SecretState::Missing | SecretState::Empty => "empty_secret",
        };
        // A lower bound of the time of the write.
        let written_at = Some(self.tokens.clock.now());
        match self.tokens.secrets.write(&self.name, seen, &state).await {
            Ok(version) => {
                let pair = state.pair().or(seen.state.pair());
                let accessor_id = pair.map(|pair| tracing::field::display(pair.accessor));
                info!(action, outcome = self.tokens.scope.operation.done(), holder = %self.holder, secret = self.name, accessor_id);
                Ok(Some(StoredSecret { state, is_ours: true, version: Some(version), written_at }))
            }
            Err(SecretsError::Changed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether its description has a mark of a controller of these clusters for the holder.
    pub(super) fn is_marked(&self, token: &Token) -> bool {
        is_token_of(&token.description, self.holder, &self.tokens.scope.clusters)
    }

    /// Caches that the holder's token is valid, so that further events do not read it.
    pub(super) fn cache(&self, demand: &Demand<'_>, secret: &StoredSecret) {
        if let (Demand::Events(_), Some(written_at)) = (demand, secret.written_at) {
            let now = self.tokens.clock.now();
            let until = self.tokens.scope.bounds.cached_until(written_at, now);
            self.tokens.cached_until.insert(self.holder.clone(), until);
        }
    }

    /// Deletes a token in `tenancy`, and logs why.
    pub(super) async fn revoke(
        &self,
        tenancy: &Tenancy,
        accessor: AccessorId,
        retirement: &Retirement,
        reason: &str,
    ) -> Result<(), ControllerError> {
        self.tokens.acl.delete_token(tenancy, accessor).await?;
        let operation = self.tokens.scope.operation;
        count(operation, Counted::TokensRevoked, 1);
        info!(
            action = "revoke",
            outcome = operation.done(),
            holder = %self.holder,
            accessor_id = %accessor,
            reason,
            trigger = retirement.trigger.map(Trigger::as_str),
            idle_since = retirement.idle_since.as_ref().map(Timestamp::to_string),
            last_task = retirement.last_task.as_ref().map(TaskArn::as_str),
        );
        let (holder, reason) = (self.holder.clone(), reason.to_owned());
        self.tokens.announcer.announce(&Announcement::TokenRevoked { holder, accessor, reason });
        Ok(())
    }
}
