//! Orphans: tokens with a mark of the controller that their secrets do not contain, after a crash or a change by an
//! operator.

use mesh::{
    secret::{Retirement, SecretState},
    token::ListedToken,
};

use super::attempt::Attempt;
use crate::{error::ControllerError, outcome::Effect};

impl Attempt<'_> {
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
        let Some(token) = self.tokens.acl.token(self.holder.tenancy(), token.accessor).await? else {
            return Ok(Effect::Unchanged);
        };
        let shown = self.swap(&secret, SecretState::Active(token.pair)).await?;
        Ok(if shown.is_some() { Effect::Done } else { Effect::Unchanged })
    }
}
