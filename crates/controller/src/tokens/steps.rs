//! The steps of the token lifecycle. The order of writes is essential: see [`mesh::lifecycle`].

use aws::secrets::SecretsError;
use consul::Token;
use mesh::{
    arn::ClusterArn,
    secret::{Retirement, SecretState, StoredSecret},
    token::{AccessorId, TokenPair},
};
use tokio::time::sleep;
use tracing::{info, warn};

use super::{
    attempt::{Attempt, Progress},
    demand::Demand,
};
use crate::{announcement::Announcement, error::ControllerError, message::Message, outcome::Effect, scope::Scope};

impl Attempt<'_> {
    /// Creates a new token in Consul, then writes it into the secret. If another writer was faster, the own token is
    /// deleted.
    pub(super) async fn create_and_show(
        &self,
        secret: &StoredSecret,
        cluster: &ClusterArn,
        demand: &Demand<'_>,
    ) -> Result<Progress, ControllerError> {
        let entropy = &self.tokens.entropy;
        let pair = TokenPair { accessor: AccessorId::new(entropy.uuid()), secret: entropy.secret() };
        let active = SecretState::Active(pair.clone());
        self.create(cluster, &pair, demand).await?;
        match self.swap(secret, active).await {
            Ok(Some(shown)) => {
                self.cache(demand, &shown);
                Ok(Progress::Done(Effect::Done))
            }
            Ok(None) => Ok(Progress::Conflict(Some(self.delete_unless_shown(pair.accessor).await?))),
            Err(refused @ (SecretsError::Refused { .. } | SecretsError::MarkedForDeletion { .. })) => {
                // An earlier try of the same call may have succeeded, which a read returns after the lag. If it
                // succeeds even later, the secret contains a deleted token, which the next attempt restores.
                sleep(self.tokens.scope.bounds.secrets_lag).await;
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
            self.tokens.acl.delete_token(self.holder.tenancy(), accessor).await?;
            let outcome = self.tokens.scope.operation.done();
            info!(action = "delete_unused_token", outcome, holder = %self.holder, accessor_id = %accessor);
            let (holder, reason) = (self.holder.clone(), "another attempt has created the token".to_owned());
            self.tokens.announcer.announce(&Announcement::TokenRevoked { holder, accessor, reason });
        }
        Ok(secret)
    }

    /// Creates the token in the secret, after a write that proves that the secret still contains it.
    pub(super) async fn restore(
        &self,
        secret: &StoredSecret,
        pair: &TokenPair,
        cluster: &ClusterArn,
        demand: &Demand<'_>,
    ) -> Result<Progress, ControllerError> {
        let Some(written) = self.swap(secret, secret.state.clone()).await? else {
            return Ok(Progress::Conflict(None));
        };
        warn!(action = "restore_token", holder = %self.holder, accessor_id = %pair.accessor, "Consul does not have the token that the secret names");
        self.create(cluster, pair, demand).await?;
        if written.state.shown().is_none() {
            return Ok(Progress::Again);
        }
        self.cache(demand, &written);
        Ok(Progress::Done(Effect::Done))
    }

    /// Writes a token that Consul has into the secret, and updates it.
    pub(super) async fn show(
        &self,
        secret: &StoredSecret,
        pair: TokenPair,
        token: Option<Token>,
        demand: &Demand<'_>,
    ) -> Result<Progress, ControllerError> {
        let Some(shown) = self.swap(secret, SecretState::Active(pair)).await? else {
            return Ok(Progress::Conflict(None));
        };
        Ok(match self.update_in_use(&shown, token, demand).await? {
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
        let Scope { operation, bounds, .. } = self.tokens.scope.as_ref();
        if let Some(message) = Message::idle_check(self.holder, hops).filter(|_| operation.acts()) {
            // The clock of the checking function may be behind that of Secrets Manager.
            let delay = bounds.hidden_for() + bounds.clocks;
            self.tokens.queue.send_later(&[message], delay).await?;
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
}
