//! An attempt at one holder's token: takes the steps that [`next_step`] decides until there is nothing left to do.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use aws::secrets::SecretsError;
use backon::{ExponentialBuilder, Retryable};
use consul::Token;
use jiff::Timestamp;
use mesh::{
    arn::TaskArn,
    holder::TokenHolder,
    lifecycle::{HeldToken, Idle, Requirement, Step, Usage, next_step},
    mark::{HolderMark, used_outside},
    names::InvalidField,
    plan::is_awaited,
    secret::{Retirement, SecretState, StoredSecret},
    settings::TokenMode,
    tenancy::Tenancy,
    token::AccessorId,
};
use observe::OutOfTime;
use report::{LogAction, LogLine, LogOutcome};
use telemetry::Counted;
use tokio::time::timeout;
use tracing::warn;

use super::{NeededBy, Tokens};
use crate::{announcement::count, error::ControllerError, outcome::Effect};

/// Why a token is reconciled.
pub(crate) enum TokenUsage<'a> {
    /// A task requires it, or will soon.
    Needed(&'a NeededBy<'a>),
    /// No task uses it.
    Idle {
        /// Since when.
        idle: &'a Idle,
        /// The length of the chain of own messages that led to the check.
        hops: u32,
    },
    /// The stack is deleted.
    Ended(&'a Retirement),
}

/// An attempt at one holder's token.
pub(super) struct Reconciliation<'a> {
    pub(super) tokens: &'a Tokens,
    pub(super) holder: &'a TokenHolder,
    pub(super) name: String,
    /// How often another writer has changed the secret meanwhile.
    pub(super) conflicts: AtomicUsize,
}

impl Reconciliation<'_> {
    pub(super) async fn run(
        &self,
        usage: &TokenUsage<'_>,
        mut seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let mut effect = Effect::Unchanged;
        loop {
            let secret = match seen.take() {
                Some(secret) => secret,
                None => self.read().await?,
            };
            match self.take_step(&secret, usage).await? {
                Progress::Done(done) => return Ok(done.max(effect)),
                // A further step would find the secret and Consul as they were.
                Progress::Again if !self.tokens.context.scope.mode.acts() => return Ok(Effect::Done),
                Progress::Again => effect = Effect::Done,
                Progress::Conflict(read) => {
                    self.conflicts.fetch_add(1, Ordering::Relaxed);
                    seen = Some(self.read_after(&secret, read).await?);
                }
            }
        }
    }

    async fn take_step(&self, secret: &StoredSecret, usage: &TokenUsage<'_>) -> Result<Progress, ControllerError> {
        let token = self.named_token(secret, usage).await?;
        if let Some((token, mark)) = token.as_ref().and_then(|token| self.foreign(token, usage)) {
            return self.replace(token, mark, secret, usage).await;
        }
        let held = token.as_ref().map(|token| self.held(secret, token));
        let (bounds, now) = (&self.tokens.context.scope.bounds, self.tokens.context.now());
        let step = next_step(secret, held.as_ref(), &self.for_lifecycle(usage), bounds, now);
        match (usage, step) {
            (TokenUsage::Needed(needed_by), Step::Nothing) => self.update_in_use(secret, token, needed_by).await,
            (TokenUsage::Needed(_), Step::Refuse(accessor)) => Err(self.not_restored(accessor)),
            (TokenUsage::Needed(needed_by), step) => {
                let Some(cluster) = self.tokens.cluster_of_need(needed_by).await? else {
                    self.log_gone();
                    return Ok(Progress::Done(Effect::Unchanged));
                };
                match step {
                    Step::Create => self.create_and_show(secret, &cluster, needed_by).await,
                    Step::Restore(pair) => self.restore(secret, &pair, &cluster, needed_by).await,
                    Step::Show(pair) => self.show(secret, pair, token, needed_by).await,
                    Step::Nothing | Step::Refuse(_) | Step::Hide(..) | Step::Remove(..) => {
                        Ok(Progress::Done(Effect::Unchanged))
                    }
                }
            }
            (TokenUsage::Idle { .. }, Step::Hide(..)) if self.log_used_outside(token.as_ref()) => {
                Ok(Progress::Done(Effect::Unchanged))
            }
            (TokenUsage::Idle { hops, .. }, Step::Hide(pair, why)) => {
                self.mark_for_secret(token.as_ref()).await?;
                self.hide(secret, pair, why, *hops).await
            }
            (TokenUsage::Ended(_), Step::Remove(pair, why)) => {
                self.mark_for_secret(token.as_ref()).await?;
                self.remove(secret, &pair, &why, "the stack is deleted").await
            }
            (TokenUsage::Idle { .. }, Step::Remove(pair, why)) => self.remove(secret, &pair, &why, "idle").await,
            (TokenUsage::Ended(_), Step::Hide(..))
            | (
                TokenUsage::Idle { .. } | TokenUsage::Ended(_),
                Step::Nothing | Step::Create | Step::Restore(_) | Step::Refuse(_) | Step::Show(_),
            ) => Ok(Progress::Done(Effect::Unchanged)),
        }
    }

    /// Whether the first step would write something.
    pub(super) async fn would_change(
        &self,
        usage: &TokenUsage<'_>,
        seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let secret = match seen {
            Some(secret) => secret,
            None => self.read().await?,
        };
        let token = self.named_token(&secret, usage).await?;
        let foreign = token.as_ref().and_then(|token| self.foreign(token, usage));
        let is_due = if let Some((token, mark)) = foreign {
            let is_needed = matches!(usage, TokenUsage::Needed(_));
            if is_needed {
                self.check_precedence(token, mark)?;
            }
            is_needed && self.may_create()
        } else {
            let held = token.as_ref().map(|token| self.held(&secret, token));
            let (bounds, now) = (&self.tokens.context.scope.bounds, self.tokens.context.now());
            match (usage, next_step(&secret, held.as_ref(), &self.for_lifecycle(usage), bounds, now)) {
                (TokenUsage::Needed(needed_by), Step::Nothing) => {
                    token.is_some_and(|token| self.update_of(&secret, &token, needed_by).is_some())
                }
                (TokenUsage::Needed(_), Step::Refuse(accessor)) => return Err(self.not_restored(accessor)),
                (TokenUsage::Needed(_), Step::Create | Step::Restore(_) | Step::Show(_))
                | (TokenUsage::Idle { .. }, Step::Hide(..) | Step::Remove(..)) => true,
                _ => false,
            }
        };
        Ok(if is_due { Effect::Done } else { Effect::Unchanged })
    }

    /// Whether a cluster that is not selected any more has used the token. Then its tasks may still do, and it is kept.
    fn log_used_outside(&self, token: Option<&Token>) -> bool {
        let mark = token.and_then(|token| token.description.holder_mark());
        let clusters = &self.tokens.context.scope.clusters;
        let Some(outside) = mark.and_then(|mark| mark.cluster_outside(clusters)) else { return false };
        LogLine { reason: Some(used_outside(outside)), ..self.line(LogAction::Revoke, LogOutcome::Kept) }.info();
        true
    }

    fn not_restored(&self, accessor: AccessorId) -> ControllerError {
        ControllerError::NotRestored { secret: self.name.clone(), accessor }
    }

    fn may_create(&self) -> bool {
        self.tokens.context.scope.token_mode != TokenMode::AuthMethod
    }

    fn for_lifecycle(&self, usage: &TokenUsage<'_>) -> Usage {
        match usage {
            TokenUsage::Idle { idle, .. } => Usage::Idle((*idle).clone()),
            TokenUsage::Ended(retirement) => Usage::Ended((*retirement).clone()),
            TokenUsage::Needed(needed_by) => Usage::Needed(Requirement {
                may_create: self.may_create(),
                is_by_event: !matches!(needed_by, NeededBy::Listed(_)),
            }),
        }
    }

    /// The token in Consul with the accessor ID in the secret. Not read for a hidden token of an idle service in a
    /// secret of the controller, which is deleted whether Consul has it or not.
    async fn named_token(
        &self,
        secret: &StoredSecret,
        usage: &TokenUsage<'_>,
    ) -> Result<Option<Token>, ControllerError> {
        match (&secret.state, usage) {
            (SecretState::Missing | SecretState::Empty, _) => Ok(None),
            (SecretState::Retiring(..), TokenUsage::Idle { .. }) if secret.is_ours => Ok(None),
            (SecretState::Active(pair) | SecretState::Retiring(pair, _), _) => self.find(pair.accessor).await,
        }
    }

    /// Replaces a token that is not this service's: the secret's name decides. Refused if the token's service, in another
    /// namespace, has a secret of the same name: the first one has precedence.
    async fn replace(
        &self,
        token: &Token,
        mark: &HolderMark,
        secret: &StoredSecret,
        usage: &TokenUsage<'_>,
    ) -> Result<Progress, ControllerError> {
        let TokenUsage::Needed(needed_by) = usage else {
            warn!(holder = %self.holder, secret = self.name, outcome = "left", "the secret holds the token of another service");
            return Ok(Progress::Done(Effect::Unchanged));
        };
        self.check_precedence(token, mark)?;
        if !self.may_create() {
            return Ok(Progress::Done(Effect::Unchanged));
        }
        let Some(cluster) = self.tokens.cluster_of_need(needed_by).await? else {
            return Ok(Progress::Done(Effect::Unchanged));
        };
        if mark.is_for(self.holder) {
            self.mark_for_secret(Some(token)).await?;
        }
        self.create_and_show(secret, &cluster, needed_by).await
    }

    /// Refuses the secret if the token's service, in another namespace, has a secret of the same name.
    fn check_precedence(&self, token: &Token, mark: &HolderMark) -> Result<(), InvalidField> {
        let other = mark.service_in(&token.tenancy).map(TokenHolder::Service).filter(|_| !mark.is_for(self.holder));
        match other.filter(|other| self.tokens.context.scope.names.of(other).eq_ignore_ascii_case(&self.name)) {
            Some(other) => {
                let found = format!("{} with the token of the {other} of another namespace", self.name);
                Err(InvalidField::new("secret", &found, "a secret of this service; rename one of the services"))
            }
            None => Ok(()),
        }
    }

    /// The token, with its mark, if it is marked for another holder; or if a task needs it, and it is in another namespace
    /// than its service.
    fn foreign<'a>(&self, token: &'a Token, usage: &TokenUsage<'_>) -> Option<(&'a Token, &'a HolderMark)> {
        let mark = token.description.holder_mark()?;
        let is_misplaced = matches!(usage, TokenUsage::Needed(_)) && token.tenancy != *self.holder.tenancy();
        (is_misplaced || mark.is_for_another_than(self.holder)).then_some((token, mark))
    }

    fn held(&self, secret: &StoredSecret, token: &Token) -> HeldToken {
        let unused_since = token.description.holder_mark().and_then(|mark| mark.unused_since);
        // What a credential that only reads does not see is assumed to be the same.
        let is_same = token.hides_its_secret() || secret.state.pair().is_some_and(|pair| pair.is_same_as(&token.pair));
        HeldToken {
            is_marked: self.is_marked(token),
            is_awaited: is_awaited(unused_since, self.tokens.context.plan_settings()),
            differs: (!is_same).then(|| token.pair.clone()),
        }
    }

    /// Runs the work, for at most the time bound of an attempt. A writer that never stops ends only this attempt.
    pub(super) async fn bounded<T>(
        &self,
        work: impl Future<Output = Result<T, ControllerError>>,
    ) -> Result<T, ControllerError> {
        let bound = self.tokens.context.scope.bounds.attempt;
        match timeout(bound, Box::pin(work)).await {
            Ok(done) => done,
            Err(_) if self.conflicts.load(Ordering::Relaxed) > 1 => {
                Err(SecretsError::Changed { name: self.name.clone() }.into())
            }
            Err(_) => Err(OutOfTime.into()),
        }
    }

    pub(super) async fn read(&self) -> Result<StoredSecret, SecretsError> {
        self.tokens.context.observer.secrets.read(&self.name).await
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
        let total = self.tokens.context.scope.bounds.secrets_lag + max_delay;
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
            SecretState::Active(_) => LogAction::ShowToken,
            SecretState::Retiring(..) => LogAction::HideToken,
            SecretState::Missing | SecretState::Empty => LogAction::EmptySecret,
        };
        // A lower bound of the time of the write.
        let written_at = Some(self.tokens.context.now());
        match self.tokens.writes.secrets.write(&self.name, seen, &state).await {
            Ok(version) => {
                let pair = state.pair().or(seen.state.pair());
                LogLine {
                    secret: Some(self.name.clone()),
                    accessor_id: pair.map(|pair| pair.accessor.to_string()),
                    ..self.line(action, self.tokens.context.scope.mode)
                }
                .info();
                Ok(Some(StoredSecret { state, is_ours: true, version: Some(version), written_at }))
            }
            Err(SecretsError::Changed { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether its description has a mark of a controller of these clusters for the holder.
    pub(super) fn is_marked(&self, token: &Token) -> bool {
        token.description.is_of(self.holder, &self.tokens.context.scope.clusters)
    }

    /// Caches that the holder's token is valid, so that further events do not read it.
    pub(super) fn cache(&self, needed_by: &NeededBy<'_>, secret: &StoredSecret) {
        if let (NeededBy::Events(_), Some(written_at)) = (needed_by, secret.written_at) {
            let now = self.tokens.context.now();
            let until = self.tokens.context.scope.bounds.cached_until(written_at, now);
            self.tokens.cached_until.insert(self.holder.clone(), until);
        }
    }

    /// A line about the holder.
    pub(super) fn line(&self, action: LogAction, outcome: impl Into<LogOutcome>) -> LogLine {
        LogLine { holder: Some(self.holder.to_string()), ..LogLine::of(action, outcome) }
    }

    pub(super) fn log_gone(&self) {
        let message = Some("the task is gone already".to_owned());
        LogLine { message, ..self.line(LogAction::Provision, LogOutcome::Skipped) }.info();
    }

    /// Deletes a token in `tenancy`, and logs why.
    pub(super) async fn revoke(
        &self,
        tenancy: &Tenancy,
        accessor: AccessorId,
        retirement: &Retirement,
        reason: &str,
    ) -> Result<(), ControllerError> {
        self.tokens.writes.consul.delete_token(tenancy, accessor).await?;
        let mode = self.tokens.context.scope.mode;
        count(mode, Counted::TokensRevoked, 1);
        LogLine {
            accessor_id: Some(accessor.to_string()),
            reason: Some(reason.to_owned()),
            trigger: retirement.trigger.map(|trigger| trigger.as_str().to_owned()),
            idle_since: retirement.idle_since.as_ref().map(Timestamp::to_string),
            last_task: retirement.last_task.as_ref().map(TaskArn::to_string),
            ..self.line(LogAction::Revoke, mode)
        }
        .info();
        self.tokens.context.announcer.revoked(self.holder, accessor, reason);
        Ok(())
    }
}

/// The result of one step.
pub(super) enum Progress {
    /// Nothing is left to do.
    Done(Effect),
    /// The step succeeded; another one may follow.
    Again,
    /// Another writer has replaced the version of the secret that was read. The new version, if it was read.
    Conflict(Option<StoredSecret>),
}
