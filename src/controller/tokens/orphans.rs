//! Tokens that bear the controller's mark, and that their secrets do not name: what a crash or a person has left.

use super::Attempt;
use crate::controller::{Controller, ControllerError, apply::Effect};
use mesh::{
    secret::{Retirement, SecretState},
    token::{ListedToken, TokenHolder},
};

impl Controller {
    /// Deletes an orphan. Its secret is read again: it may name the token by now.
    ///
    /// # Errors
    /// What went wrong, [`ControllerError::OutOfTime`] if it took longer than an attempt may.
    pub(in crate::controller) async fn delete_orphan(
        &self,
        holder: &TokenHolder,
        token: &ListedToken,
        retirement: &Retirement,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        attempt.bounded(attempt.delete_orphan(token, retirement)).await
    }

    /// Shows an orphan in its secret, if that is still empty.
    ///
    /// # Errors
    /// As those of [`Controller::delete_orphan`].
    pub(in crate::controller) async fn show_orphan(
        &self,
        holder: &TokenHolder,
        token: &ListedToken,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        attempt.bounded(attempt.show_orphan(token)).await
    }
}

impl Attempt<'_> {
    async fn delete_orphan(&self, token: &ListedToken, retirement: &Retirement) -> Result<Effect, ControllerError> {
        let mut secret = self.read().await?;
        // Emptied once more, so that an attempt which has read the same, and is about to show the token, fails.
        while matches!(secret.state, SecretState::Empty) && self.swap(&secret, SecretState::Empty).await?.is_none() {
            secret = self.read_after(&secret, None).await?;
        }
        if secret.names(token.accessor) {
            return Ok(Effect::Unchanged);
        }
        self.revoke(token.accessor, retirement, "its secret does not name it").await?;
        Ok(Effect::Done)
    }

    async fn show_orphan(&self, token: &ListedToken) -> Result<Effect, ControllerError> {
        let secret = self.read().await?;
        if secret.is_ours || !matches!(secret.state, SecretState::Empty) {
            return Ok(Effect::Unchanged);
        }
        let Some(token) = self.controller.edges.consul.token(self.holder.tenancy(), token.accessor).await? else {
            return Ok(Effect::Unchanged);
        };
        let shown = self.swap(&secret, SecretState::Active(token.pair)).await?;
        Ok(if shown.is_some() { Effect::Done } else { Effect::Unchanged })
    }
}
