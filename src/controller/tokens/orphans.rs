//! Tokens that bear the controller's mark, and that their secrets do not name: what a crash or a person has left. Only sweeps see them.

use crate::controller::{Controller, ControllerError, apply::Effect};
use mesh::{
    secret::{Retirement, SecretState, Trigger},
    token::{ListedToken, TokenHolder},
};

impl Controller {
    /// Deletes an orphan. Its secret is read again: it may name the token by now.
    pub(in crate::controller) async fn delete_orphan(
        &self,
        holder: &TokenHolder,
        token: &ListedToken,
        trigger: Trigger,
    ) -> Result<Effect, ControllerError> {
        let name = self.secret_name(holder)?;
        let mut secret = self.edges.secrets.read(&name).await?;
        if secret.state.pair().is_some_and(|pair| pair.accessor == token.accessor) {
            return Ok(Effect::Unchanged);
        }
        // An attempt that has read the same and is about to show the token then fails. And it may be an older version that a
        // person has made current again: then the write is refused for good.
        while matches!(secret.state, SecretState::Empty) {
            if self.swap(holder, &name, &secret, &SecretState::Empty).await?.is_some() {
                break;
            }
            secret = self.read_after(&name, &secret, None).await?;
            if !matches!(secret.state, SecretState::Empty) {
                return Ok(Effect::Unchanged);
            }
        }
        self.revoke(holder, token.accessor, &Retirement::at_once(trigger), "its secret does not name it").await?;
        Ok(Effect::Done)
    }

    /// Shows an orphan in its secret, if that is still empty.
    pub(in crate::controller) async fn show_orphan(
        &self,
        holder: &TokenHolder,
        token: &ListedToken,
    ) -> Result<Effect, ControllerError> {
        let name = self.secret_name(holder)?;
        let secret = self.edges.secrets.read(&name).await?;
        if secret.is_ours || !matches!(secret.state, SecretState::Empty) {
            return Ok(Effect::Unchanged);
        }
        let Some(token) = self.edges.consul.token(holder.tenancy(), token.accessor).await? else {
            return Ok(Effect::Unchanged);
        };
        let shown = self.swap(holder, &name, &secret, &SecretState::Active(token.pair)).await?;
        Ok(if shown.is_some() { Effect::Done } else { Effect::Unchanged })
    }
}
