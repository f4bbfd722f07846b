//! Tokens that bear the controller's mark, and that their secrets do not name: what a crash or a person has left.

use mesh::{
    secret::{Retirement, SecretState},
    token::ListedToken,
};

use super::attempt::Attempt;
use crate::{error::ControllerError, outcome::Effect};

impl Attempt<'_> {
    /// Deletes an orphan. Its secret is read again: it may name the token by now.
    pub(super) async fn delete_orphan(
        &self,
        token: &ListedToken,
        retirement: &Retirement,
    ) -> Result<Effect, ControllerError> {
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

    /// Shows an orphan in its secret, if that is still empty.
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
