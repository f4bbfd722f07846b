//! The steps of a token's life. Each order of writes is what the promises rest on: see [`mesh::lifecycle`].

use jiff::Timestamp;
use tracing::{info, warn};

use super::Look;
use crate::{
    controller::{Controller, ControllerError, apply::Effect, message::Message, need::Need},
    secrets::SecretsError,
};
use mesh::{
    arn::{ClusterArn, TaskArn},
    lifecycle::Idle,
    mutant::{self, Mutant},
    secret::{Retirement, SecretState, StoredSecret, Trigger},
    token::{AccessorId, TokenHolder, TokenPair},
};

impl Controller {
    /// Creates a new token in Consul, then shows it in the secret. Who loses the race for the secret deletes its own token.
    pub(super) async fn create_and_show(
        &self,
        holder: &TokenHolder,
        name: &str,
        secret: &StoredSecret,
        cluster: &ClusterArn,
        need: &Need<'_>,
    ) -> Result<Look, ControllerError> {
        let entropy = &self.edges.entropy;
        let pair = TokenPair { accessor: AccessorId::new(entropy.uuid()), secret: entropy.secret() };
        let active = SecretState::Active(pair.clone());
        if mutant::is(Mutant::ShownBeforeCreated) {
            let shown = self.swap(holder, name, secret, &active).await?;
            self.create(holder, cluster, &pair, need).await?;
            return Ok(shown.map_or(Look::Overtaken(None), |_| Look::Again));
        }
        self.create(holder, cluster, &pair, need).await?;
        match self.swap(holder, name, secret, &active).await {
            Ok(Some(shown)) => {
                self.relied_on(holder, need, &shown);
                Ok(Look::Done(Effect::Done))
            }
            Ok(None) => {
                let now = self.delete_unless_shown(holder, name, pair.accessor).await?;
                Ok(Look::Overtaken(Some(now)))
            }
            Err(ControllerError::Secrets(refused @ SecretsError::Refused { .. })) => {
                // An earlier try of the same call may have had an effect: a read tells of it when it lags no more. One that is
                // still on its way is refused as well.
                tokio::time::sleep(self.scope.bounds.secrets_lag.unsigned_abs()).await;
                self.delete_unless_shown(holder, name, pair.accessor).await?;
                Err(refused.into())
            }
            // Without an answer it may be shown, or may be yet: the sweep judges it when that is over.
            Err(error) => Err(error),
        }
    }

    /// Deletes a token that was to be shown, unless it is. The secret as it was read for that.
    async fn delete_unless_shown(
        &self,
        holder: &TokenHolder,
        name: &str,
        accessor: AccessorId,
    ) -> Result<StoredSecret, ControllerError> {
        let now = self.edges.secrets.read(name).await?;
        let is_shown = now.state.pair().is_some_and(|named| named.accessor == accessor);
        if !is_shown && !mutant::is(Mutant::LoserKept) {
            self.edges.consul.delete_token(holder.tenancy(), accessor).await?;
            info!(action = "delete_unused_token", outcome = "done", holder = %holder, accessor_id = %accessor);
        }
        Ok(now)
    }

    /// Creates the token that the secret names, once the secret is known to name it still.
    pub(super) async fn restore(
        &self,
        holder: &TokenHolder,
        name: &str,
        secret: &StoredSecret,
        cluster: &ClusterArn,
        need: &Need<'_>,
    ) -> Result<Look, ControllerError> {
        let Some(pair) = secret.state.pair() else { return Ok(Look::Again) };
        if !mutant::is(Mutant::RestoredWithoutProof) && self.swap(holder, name, secret, &secret.state).await?.is_none()
        {
            return Ok(Look::Overtaken(None));
        }
        warn!(action = "restore_token", holder = %holder, accessor_id = %pair.accessor, "Consul does not have the token that the secret names");
        self.create(holder, cluster, pair, need).await?;
        Ok(Look::Again)
    }

    /// Shows a token that Consul has; nothing where the secret was written meanwhile.
    pub(super) async fn show(
        &self,
        holder: &TokenHolder,
        name: &str,
        secret: &StoredSecret,
        pair: TokenPair,
    ) -> Result<Option<StoredSecret>, ControllerError> {
        let mut seen = secret.clone();
        if mutant::is(Mutant::ShownWithoutSwap) {
            seen = self.edges.secrets.read(name).await?;
        }
        self.swap(holder, name, &seen, &SecretState::Active(pair)).await
    }

    /// Hides a token from tasks, then asks for the look that deletes it. A write that is refused again and again asks for none.
    /// Whoever dies in between leaves the deletion to the sweep.
    pub(super) async fn hide(
        &self,
        holder: &TokenHolder,
        name: &str,
        secret: &StoredSecret,
        pair: TokenPair,
        (idle, trigger): (&Idle, Trigger),
    ) -> Result<Look, ControllerError> {
        self.relied.forget(holder);
        let retirement = Retirement { trigger: Some(trigger), ..idle.retirement.clone() };
        if self.swap(holder, name, secret, &SecretState::Retiring(pair, retirement)).await?.is_none() {
            return Ok(Look::Overtaken(None));
        }
        if let TokenHolder::Service(service) = holder {
            let bounds = &self.scope.bounds;
            // The clock of the function that looks may be behind Secrets Manager's.
            let delay = (bounds.hidden_for() + bounds.clocks).unsigned_abs();
            self.edges.queue.send_later(&[Message::idle_check(service)], delay).await?;
        }
        Ok(Look::Done(Effect::Done))
    }

    /// Empties the secret, then deletes the token in Consul.
    pub(super) async fn remove(
        &self,
        holder: &TokenHolder,
        name: &str,
        secret: &StoredSecret,
        accessor: AccessorId,
        retirement: &Retirement,
    ) -> Result<Look, ControllerError> {
        if mutant::is(Mutant::DeletedBeforeEmptied) {
            self.edges.consul.delete_token(holder.tenancy(), accessor).await?;
        }
        if self.swap(holder, name, secret, &SecretState::Empty).await?.is_none() {
            return Ok(Look::Overtaken(None));
        }
        self.revoke(holder, accessor, retirement, "idle").await?;
        Ok(Look::Done(Effect::Done))
    }

    /// Deletes a token, and says why: this line alone answers it.
    pub(in crate::controller) async fn revoke(
        &self,
        holder: &TokenHolder,
        accessor: AccessorId,
        retirement: &Retirement,
        reason: &str,
    ) -> Result<(), ControllerError> {
        self.edges.consul.delete_token(holder.tenancy(), accessor).await?;
        info!(
            action = "revoke",
            outcome = "done",
            holder = %holder,
            accessor_id = %accessor,
            reason,
            trigger = retirement.trigger.map(Trigger::as_str),
            idle_since = retirement.idle_since.as_ref().map(Timestamp::to_string),
            last_task = retirement.last_task.as_ref().map(TaskArn::as_str),
        );
        Ok(())
    }
}
