//! Reconciles the token of one holder: reads its secret and Consul, takes the step that [`mesh::lifecycle::next_step`]
//! decides, and repeats until nothing is left to do. Used by events, idle checks, sweeps and the clean-up.

mod attempt;
mod context;
mod demand;
mod in_consul;
mod orphans;
mod run;
mod steps;

use mesh::{
    field::InvalidField,
    secret::{Retirement, StoredSecret},
    token::{ListedToken, TokenHolder},
};

use self::attempt::Attempt;
pub(crate) use self::{context::Tokens, demand::Demand, run::Case};
use crate::{error::ControllerError, outcome::Effect};

impl Tokens {
    /// Takes steps until nothing is left to do. `seen` is the secret, if it was read just before.
    ///
    /// # Errors
    /// A failed call, or [`ControllerError::OutOfTime`] after the time bound of an attempt.
    pub(crate) async fn reconcile(
        &self,
        holder: &TokenHolder,
        case: Case<'_>,
        seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        attempt.bounded(attempt.run(&case, seen)).await
    }

    /// Deletes an orphan, unless its secret, which is read again, contains it by now.
    ///
    /// # Errors
    /// A failed call, or [`ControllerError::OutOfTime`] after the time bound of an attempt.
    pub(crate) async fn delete_orphan(
        &self,
        holder: &TokenHolder,
        token: &ListedToken,
        retirement: &Retirement,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        attempt.bounded(attempt.delete_orphan(token, retirement)).await
    }

    /// Writes an orphan into its secret, if that is still empty.
    ///
    /// # Errors
    /// Those of [`Tokens::delete_orphan`].
    pub(crate) async fn show_orphan(
        &self,
        holder: &TokenHolder,
        token: &ListedToken,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        attempt.bounded(attempt.show_orphan(token)).await
    }

    /// The holder's secret.
    pub(crate) async fn read_secret(&self, holder: &TokenHolder) -> Result<StoredSecret, ControllerError> {
        Ok(self.attempt(holder)?.read().await?)
    }

    /// An attempt at the holder's token.
    ///
    /// # Errors
    /// A service whose secret has the name of the client token's.
    fn attempt<'a>(&'a self, holder: &'a TokenHolder) -> Result<Attempt<'a>, InvalidField> {
        match holder.service() {
            Some(service) if self.scope.names.is_reserved(holder) => Err(InvalidField::new(
                "service name",
                service.name.as_str(),
                "a name whose secret is not the client token's; rename the service",
            )),
            _ => Ok(Attempt { tokens: self, holder, name: self.scope.names.of(holder) }),
        }
    }
}
