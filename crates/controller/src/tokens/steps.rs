//! The steps of the token lifecycle, in Secrets Manager and in Consul. The order of writes is essential: see
//! [`mesh::lifecycle`].

use std::collections::BTreeSet;

use consul::{ConsulError, Grant, NewToken, Token, TokenSearch};
use mesh::{
    arn::ClusterArn,
    holder::TokenHolder,
    mark::{self, TokenDescription},
    scope::Scope,
    secret::{Retirement, SecretState, StoredSecret},
    spelling,
    tenancy::Tenancy,
    token::{AccessorId, ListedToken, TokenPair},
};
use report::{CreatedToken, Event, LogAction, LogLine};
use telemetry::Counted;
use tokio::time::sleep;
use tracing::warn;

use super::{
    NeededBy,
    attempt::{Progress, Reconciliation},
};
use crate::{
    announcement::count, bootstrap::client_agent_policy, error::ControllerError, message::Message, outcome::Effect,
};

/// Why a token is created again, and what to do if an operator deleted the token on purpose.
const RESTORED: &str = "Consul did not have the token that the secret names. If it was deleted because it leaked, set the secret to {}, \
                        delete the token in Consul again, and restart the service's tasks";

impl Reconciliation<'_> {
    /// Creates a new token in Consul, then writes it into the secret. If another writer was faster, the own token is
    /// deleted.
    pub(super) async fn create_and_show(
        &self,
        secret: &StoredSecret,
        cluster: &ClusterArn,
        needed_by: &NeededBy<'_>,
    ) -> Result<Progress, ControllerError> {
        let entropy = &self.tokens.context.entropy;
        let pair = TokenPair { accessor: AccessorId::new(entropy.uuid()), secret: entropy.secret() };
        let active = SecretState::Active(pair.clone());
        self.check_spelling(secret, needed_by).await?;
        self.create(cluster, &pair, needed_by, None).await?;
        // Another spelling's token may have been created since: of two that see each other, neither is shown.
        if let Err(refused) = self.check_spelling(secret, needed_by).await {
            self.delete_created(pair.accessor, "another spelling of the secret has the service's token").await?;
            return Err(refused);
        }
        match self.swap(secret, active).await {
            Ok(Some(shown)) => {
                self.cache(needed_by, &shown);
                Ok(Progress::Done(Effect::Done))
            }
            Ok(None) => Ok(Progress::Conflict(Some(self.delete_unless_shown(pair.accessor).await?))),
            Err(refused) if refused.is_refusal() => {
                // An earlier try of the same call may have succeeded, which a read returns after the lag. If it
                // succeeds even later, the secret contains a deleted token, which the next attempt restores.
                sleep(self.tokens.context.scope.bounds.secrets_lag).await;
                self.delete_unless_shown(pair.accessor).await?;
                Err(refused.into())
            }
            // Without an answer the write may have succeeded, or may yet: the sweep decides later.
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a token unless the secret contains it. Returns the secret.
    async fn delete_unless_shown(&self, accessor: AccessorId) -> Result<StoredSecret, ControllerError> {
        let secret = self.read().await?;
        if !secret.names(accessor) {
            self.delete_created(accessor, "another attempt has created the token").await?;
        }
        Ok(secret)
    }

    /// Deletes a token that no secret has shown.
    async fn delete_created(&self, accessor: AccessorId, reason: &str) -> Result<(), ControllerError> {
        self.tokens.writes.consul.delete_token(self.holder.tenancy(), accessor).await?;
        let accessor_id = Some(accessor.to_string());
        LogLine { accessor_id, ..self.line(LogAction::DeleteUnusedToken, self.tokens.context.scope.mode) }.info();
        self.tokens.context.announcer.revoked(self.holder, accessor, reason);
        Ok(())
    }

    /// Checks that the service's tokens may have this spelling of its secret.
    async fn check_spelling(&self, secret: &StoredSecret, needed_by: &NeededBy<'_>) -> Result<(), ControllerError> {
        let TokenHolder::Spelled { service, .. } = self.holder else { return Ok(()) };
        let names = &self.tokens.context.scope.names;
        // A definition that no task has run blocks the spelling of no task.
        let counts = |token: &ListedToken| matches!(needed_by, NeededBy::Registered(_)) || !spelling::is_unused(token);
        let others = |token: &ListedToken| {
            let holder = spelling::spelled(token, names).filter(|_| counts(token))?;
            (holder != *self.holder && holder.service() == Some(service)).then_some(holder)
        };
        let is_alone = service.tenancy == Tenancy::Community;
        let search =
            TokenSearch { texts: &[mark::title_of(&service.name)], service: is_alone.then_some(&service.name) };
        let keep = |token: &ListedToken| others(token).is_some();
        let listed =
            self.tokens.context.observer.consul.tokens_with(&service.tenancy, search, &keep).await?.unwrap_or_default();
        let others: BTreeSet<TokenHolder> = listed.iter().filter_map(others).collect();
        if spelling::may_create(self.holder, spelling::has_run(secret), others.len()) {
            return Ok(());
        }
        Err(spelling::refusal([self.holder].into_iter(), names).into())
    }

    /// Creates the token in the secret, after a write that proves that the secret still contains it.
    pub(super) async fn restore(
        &self,
        secret: &StoredSecret,
        pair: &TokenPair,
        cluster: &ClusterArn,
        needed_by: &NeededBy<'_>,
    ) -> Result<Progress, ControllerError> {
        let Some(written) = self.swap(secret, secret.state.clone()).await? else {
            return Ok(Progress::Conflict(None));
        };
        LogLine {
            accessor_id: Some(pair.accessor.to_string()),
            message: Some(RESTORED.to_owned()),
            outcome: None,
            ..self.line(LogAction::RestoreToken, self.tokens.context.scope.mode)
        }
        .warn();
        self.create(cluster, pair, needed_by, Some(RESTORED)).await?;
        if written.state.shown().is_none() {
            return Ok(Progress::Again);
        }
        self.cache(needed_by, &written);
        Ok(Progress::Done(Effect::Done))
    }

    /// Writes a token that Consul has into the secret, and updates it.
    pub(super) async fn show(
        &self,
        secret: &StoredSecret,
        pair: TokenPair,
        token: Option<Token>,
        needed_by: &NeededBy<'_>,
    ) -> Result<Progress, ControllerError> {
        let Some(shown) = self.swap(secret, SecretState::Active(pair)).await? else {
            return Ok(Progress::Conflict(None));
        };
        Ok(match self.update_in_use(&shown, token, needed_by).await? {
            Progress::Done(_) => Progress::Done(Effect::Done),
            progress => progress,
        })
    }

    /// Hides a token from tasks, then requests the check that deletes it, after a chain of `hops` messages. A failed
    /// write requests no check, and neither does mode `observe`, in which the check would find the token as it was. If the
    /// function ends in between, the sweep deletes the token.
    pub(super) async fn hide(
        &self,
        secret: &StoredSecret,
        pair: TokenPair,
        retirement: Retirement,
        hops: u32,
    ) -> Result<Progress, ControllerError> {
        self.tokens.cached_until.remove(self.holder);
        if self.swap(secret, SecretState::Retiring(pair, retirement)).await?.is_none() {
            return Ok(Progress::Conflict(None));
        }
        let Scope { mode, bounds, .. } = self.tokens.context.scope.as_ref();
        if let Some(message) = Message::idle_check(self.holder, hops).filter(|_| mode.acts()) {
            // The clock of the checking function may be behind Secrets Manager's.
            let delay = bounds.hidden_for() + bounds.clocks;
            self.tokens.context.queue.send_later(&[message], delay).await?;
        }
        Ok(Progress::Done(Effect::Done))
    }

    /// Empties the secret, then deletes the token in Consul.
    pub(super) async fn remove(
        &self,
        secret: &StoredSecret,
        pair: &TokenPair,
        retirement: &Retirement,
        reason: &str,
    ) -> Result<Progress, ControllerError> {
        if self.swap(secret, SecretState::Empty).await?.is_none() {
            return Ok(Progress::Conflict(None));
        }
        self.revoke(self.holder.tenancy(), pair.accessor, retirement, reason).await?;
        Ok(Progress::Done(Effect::Done))
    }

    /// The token with this accessor ID. In Enterprise it may be in another namespace: the secret's name may be another
    /// service's too, and consul-ecs 0.4.1 creates all tokens in `default`.
    pub(super) async fn find(&self, accessor: AccessorId) -> Result<Option<Token>, ControllerError> {
        let (consul, own) = (&self.tokens.context.observer.consul, self.holder.tenancy());
        let token = consul.token(own, accessor).await?;
        if token.is_some() || own.partition().is_none() {
            return Ok(token);
        }
        let listed = consul.tokens(own, &|token| token.accessor == accessor && token.tenancy != *own).await?;
        match listed.unwrap_or_default().first() {
            Some(listed) => Ok(consul.token(&listed.tenancy, accessor).await?),
            None => Ok(None),
        }
    }

    /// Creates a token in Consul; `reason` says why, unless it is a new one. An existing token with both halves is accepted.
    pub(super) async fn create(
        &self,
        cluster: &ClusterArn,
        pair: &TokenPair,
        needed_by: &NeededBy<'_>,
        reason: Option<&str>,
    ) -> Result<(), ControllerError> {
        let holder = self.holder;
        let grant = self.grant().await?;
        let description = match (needed_by, holder) {
            (NeededBy::Registered(_), TokenHolder::Service(_) | TokenHolder::Spelled { .. }) => {
                self.marks(cluster).with_unused_since(self.tokens.context.now())
            }
            _ => self.marks(cluster),
        };
        let new = NewToken { pair: pair.clone(), description, grant, tenancy: holder.tenancy().clone() };
        match self.tokens.writes.consul.create_token(&new).await {
            Ok(_) => {
                let mode = self.tokens.context.scope.mode;
                count(mode, Counted::TokensCreated, 1);
                LogLine {
                    accessor_id: Some(pair.accessor.to_string()),
                    cluster_arn: Some(cluster.to_string()),
                    ..self.line(LogAction::CreateToken, mode)
                }
                .info();
                let created = CreatedToken {
                    cluster_arn: cluster.to_string(),
                    holder: holder.to_string(),
                    service: holder.service().map(|service| service.name.to_string()),
                    accessor_id: pair.accessor.to_string(),
                    reason: reason.map(str::to_owned),
                };
                self.tokens.context.announcer.announce(Event::TokenCreated, created);
                Ok(())
            }
            // The answer to an earlier try was lost, or another attempt restores the same token.
            Err(conflict @ ConsulError::Conflict { .. }) => {
                match self.tokens.context.observer.consul.token(holder.tenancy(), pair.accessor).await? {
                    Some(token) if token.pair.is_same_as(pair) => Ok(()),
                    _ => Err(conflict.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The description of the holder's token.
    fn marks(&self, cluster: &ClusterArn) -> TokenDescription {
        let place = self.tokens.context.scope.names.place_of(self.holder);
        self.holder.token_description(cluster).for_secret(&place)
    }

    /// Updates the token in the secret. A required token loses its unused mark, so that it is revoked when its service
    /// is idle; a pre-provisioned one restarts its wait. A token that is marked for a cluster of another deployment is
    /// marked for one of this deployment. A token whose policy was deleted gets its grant again.
    pub(super) async fn update_in_use(
        &self,
        secret: &StoredSecret,
        token: Option<Token>,
        needed_by: &NeededBy<'_>,
    ) -> Result<Progress, ControllerError> {
        let (scope, holder) = (&self.tokens.context.scope, self.holder);
        let Some(token) = token else { return Ok(Progress::Done(Effect::Unchanged)) };
        let is_marked = self.is_marked(&token);
        if !secret.is_ours && !is_marked {
            warn!(holder = %holder, "the secret contains a valid token of another creator and was not changed");
        }
        let Some(description) = self.update_of(secret, &token, needed_by) else {
            self.cache(needed_by, secret);
            return Ok(Progress::Done(Effect::Unchanged));
        };
        // Only before a change it is checked whether the task of an old event still runs.
        let Some(cluster) = self.tokens.cluster_of_need(needed_by).await? else {
            self.log_gone();
            return Ok(Progress::Done(Effect::Unchanged));
        };
        let description = if is_marked {
            description
        } else {
            // What used it before may still do.
            let before = token.description.holder_mark().filter(|mark| mark.is_for(holder));
            let before = before.into_iter().flat_map(|mark| [&mark.cluster].into_iter().chain(&mark.used_in));
            self.marks(&cluster).with_users(before.map(String::as_str))
        };
        let grant = if token.grants_nothing() { self.grant().await? } else { Grant::AsBefore(token.grants) };
        let updated = NewToken { pair: token.pair, description, grant, tenancy: holder.tenancy().clone() };
        match self.tokens.writes.consul.update_token(&updated).await {
            Ok(()) => {
                let accessor_id = Some(updated.pair.accessor.to_string());
                LogLine { accessor_id, ..self.line(LogAction::UpdateToken, scope.mode) }.info();
                self.cache(needed_by, secret);
                Ok(Progress::Done(Effect::Done))
            }
            Err(ConsulError::NotFound { .. }) => Ok(Progress::Again),
            Err(error) => Err(error.into()),
        }
    }

    /// The description that the token in the secret would get, if the token has to be updated.
    pub(super) fn update_of(
        &self,
        secret: &StoredSecret,
        token: &Token,
        needed_by: &NeededBy<'_>,
    ) -> Option<TokenDescription> {
        let unused_for = self.tokens.context.scope.unused_for;
        let description = match needed_by {
            NeededBy::Registered(_) => {
                let restarted = token.description.with_restarted_wait(self.tokens.context.now(), unused_for);
                restarted.unwrap_or_else(|| token.description.clone())
            }
            NeededBy::Events(_) | NeededBy::Listed(_) => token.description.without_unused_since(),
        };
        let description = match self.holder {
            TokenHolder::Spelled { .. } => self.with_secret_mark(&description).unwrap_or(description),
            TokenHolder::Service(_) | TokenHolder::Client { .. } => description,
        };
        let description = description.with_users(needed_by.clusters().into_iter().map(ClusterArn::as_str));
        let is_marked = self.is_marked(token);
        let is_current = is_marked && description == token.description && !token.grants_nothing();
        ((secret.is_ours || is_marked) && !is_current).then_some(description)
    }

    /// The description with the mark of the secret, for a token of consul-ecs, which has no such mark. Without the
    /// mark, a token that its secret does not contain any more may be in another one.
    fn with_secret_mark(&self, description: &TokenDescription) -> Option<TokenDescription> {
        let is_unmarked = description.holder_mark().is_some_and(|mark| mark.secret.is_none());
        is_unmarked.then(|| description.for_secret(&self.tokens.context.scope.names.place_of(self.holder)))
    }

    /// Marks a token of consul-ecs for this secret, before the secret contains it no more.
    pub(super) async fn mark_for_secret(&self, token: Option<&Token>) -> Result<(), ControllerError> {
        let Some(token) = token else { return Ok(()) };
        let Some(description) = self.with_secret_mark(&token.description) else { return Ok(()) };
        let (pair, grant) = (token.pair.clone(), Grant::AsBefore(token.grants.clone()));
        let marked = NewToken { pair, description, grant, tenancy: token.tenancy.clone() };
        match self.tokens.writes.consul.update_token(&marked).await {
            Ok(()) | Err(ConsulError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The grant of the holder's token. Creates the policy that it refers to.
    async fn grant(&self) -> Result<Grant, ControllerError> {
        Ok(match self.holder {
            TokenHolder::Service(service) | TokenHolder::Spelled { service, .. } => {
                Grant::ServiceIdentity(service.name.clone())
            }
            TokenHolder::Client { tenancy } => {
                let policy = self.tokens.context.scope.names.client_policy();
                self.tokens.writes.consul.create_policy(&client_agent_policy(tenancy, &policy)).await?;
                Grant::Policy(policy)
            }
        })
    }

    /// Deletes an orphan, unless its secret, which is read again, contains it by now.
    pub(super) async fn delete_orphan(
        &self,
        token: &ListedToken,
        retirement: &Retirement,
    ) -> Result<Effect, ControllerError> {
        let mut secret = self.read().await?;
        // Written again, so that a concurrent attempt that has read the same version, and is about to show the token,
        // fails.
        while matches!(secret.state, SecretState::Empty) && self.swap(&secret, SecretState::Empty).await?.is_none() {
            secret = self.read_after(&secret, None).await?;
        }
        if secret.names(token.accessor) {
            return Ok(Effect::Unchanged);
        }
        self.revoke(&token.tenancy, token.accessor, retirement, "its secret does not name it").await?;
        Ok(Effect::Done)
    }

    /// Writes an orphan into its secret, if that is still empty.
    pub(super) async fn show_orphan(&self, token: &ListedToken) -> Result<Effect, ControllerError> {
        let secret = self.read().await?;
        if secret.is_ours || !matches!(secret.state, SecretState::Empty) {
            return Ok(Effect::Unchanged);
        }
        let Some(token) = self.tokens.context.observer.consul.token(self.holder.tenancy(), token.accessor).await?
        else {
            return Ok(Effect::Unchanged);
        };
        let shown = self.swap(&secret, SecretState::Active(token.pair)).await?;
        Ok(if shown.is_some() { Effect::Done } else { Effect::Unchanged })
    }
}
