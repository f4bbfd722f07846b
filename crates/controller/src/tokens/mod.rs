//! One holder's token: its secret is read, Consul is asked what it holds, [`mesh::lifecycle::next_step`] decides, and the step
//! is taken, until there is nothing left to do. Events, idle checks, sweeps and the clean-up all do this.

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
    tenancy::Tenancy,
    token::{ListedToken, TokenHolder},
};

use self::attempt::Attempt;
pub(crate) use self::{context::Tokens, demand::Demand, run::Case};
use crate::{error::ControllerError, outcome::Effect};

impl Tokens {
    /// Takes steps until nothing is left to do. `seen` is the secret as it was read a moment ago, if it was.
    ///
    /// # Errors
    /// What went wrong, [`ControllerError::OutOfTime`] if it took longer than an attempt may.
    pub(crate) async fn reconcile(
        &self,
        holder: &TokenHolder,
        case: Case<'_>,
        seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        attempt.bounded(attempt.run(&case, seen)).await
    }

    /// Deletes an orphan. Its secret is read again: it may name the token by now.
    ///
    /// # Errors
    /// What went wrong, [`ControllerError::OutOfTime`] if it took longer than an attempt may.
    pub(crate) async fn delete_orphan(
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
    /// As those of [`Tokens::delete_orphan`].
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
    /// A service whose secret would be the client agents': its tasks could then act as any node.
    fn attempt<'a>(&'a self, holder: &'a TokenHolder) -> Result<Attempt<'a>, InvalidField> {
        let name = self.scope.names.of(holder);
        let client = TokenHolder::Client { tenancy: Tenancy::Community };
        match holder {
            TokenHolder::Service(service) if name == self.scope.names.of(&client) => Err(InvalidField::new(
                "service name",
                service.name.as_str(),
                "a name whose secret is not the client token's; rename the service, or set ClientTokenSecretName",
            )),
            _ => Ok(Attempt { tokens: self, holder, name }),
        }
    }
}
