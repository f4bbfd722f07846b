//! One holder's token: its secret is read, Consul is asked what it holds, [`next_step`] decides, and the step is taken, until
//! there is nothing left to do. Events, looks at idle services, sweeps and the clean-up all do this.

mod in_consul;
mod orphans;
mod steps;

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use secrecy::ExposeSecret;
use tokio::time::timeout;
use tracing::info;

use super::{Controller, ControllerError, apply::Effect, demand::Demand};
use crate::secrets::SecretsError;
use mesh::{
    field::InvalidField,
    lifecycle::{Held, Idle, Needed, Step, Usage, next_step},
    mark::{HolderMark, is_token_of},
    mutant::{self, Mutant},
    plan::TokenMode,
    secret::{Retirement, SecretState, StoredSecret},
    tenancy::Tenancy,
    token::{Token, TokenHolder},
    token_plan::is_awaited,
};

/// Why a token is looked at.
pub(super) enum Case<'a> {
    /// A task needs it, or will need it soon.
    Needed(&'a Demand<'a>),
    /// Its service is idle.
    Idle(&'a Idle),
    /// The controller is removed.
    Ended(&'a Retirement),
}

/// What one step came to.
enum Progress {
    /// All is done.
    Done(Effect),
    /// The step is taken; the next one follows from what is there now.
    Again,
    /// The secret was written meanwhile: it is not what was read. What it was read as since, if it was.
    Overtaken(Option<StoredSecret>),
}

/// An attempt at one holder's token.
pub(super) struct Attempt<'a> {
    controller: &'a Controller,
    holder: &'a TokenHolder,
    /// The name of the holder's secret.
    name: String,
}

impl Controller {
    /// An attempt at the holder's token.
    ///
    /// # Errors
    /// A service whose secret would be the client agents': its tasks could then act as any node.
    pub(super) fn attempt<'a>(&'a self, holder: &'a TokenHolder) -> Result<Attempt<'a>, InvalidField> {
        let name = self.scope.names.of(holder);
        let client = TokenHolder::Client { tenancy: Tenancy::Community };
        match holder {
            TokenHolder::Service(service) if name == self.scope.names.of(&client) => Err(InvalidField::new(
                "service name",
                service.name.as_str(),
                "a name whose secret is not the client token's; rename the service, or set ClientTokenSecretName",
            )),
            _ => Ok(Attempt { controller: self, holder, name }),
        }
    }

    /// Takes steps until nothing is left to do. `seen` is the secret as it was read a moment ago, if it was.
    ///
    /// # Errors
    /// What went wrong, [`ControllerError::OutOfTime`] if it took longer than an attempt may.
    pub(super) async fn reconcile_token(
        &self,
        holder: &TokenHolder,
        case: Case<'_>,
        seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        attempt.bounded(attempt.run(&case, seen)).await
    }
}

impl Attempt<'_> {
    /// Does the work, unless it takes longer than an attempt may.
    async fn bounded<T>(&self, work: impl Future<Output = Result<T, ControllerError>>) -> Result<T, ControllerError> {
        let bound = self.controller.scope.bounds.attempt.unsigned_abs();
        timeout(bound, Box::pin(work)).await.unwrap_or(Err(ControllerError::OutOfTime))
    }

    async fn run(&self, case: &Case<'_>, mut seen: Option<StoredSecret>) -> Result<Effect, ControllerError> {
        let mut effect = Effect::Unchanged;
        loop {
            let secret = match seen.take() {
                Some(secret) => secret,
                None => self.read().await?,
            };
            match self.take_step(&secret, case).await? {
                Progress::Done(done) => return Ok(done.max(effect)),
                Progress::Again => effect = Effect::Done,
                Progress::Overtaken(read) => seen = Some(self.read_after(&secret, read).await?),
            }
        }
    }

    async fn take_step(&self, secret: &StoredSecret, case: &Case<'_>) -> Result<Progress, ControllerError> {
        if let (true, SecretState::Retiring(pair, why), Case::Needed(Demand::Listed(_))) =
            (mutant::is(Mutant::NoSecondListing), &secret.state, case)
        {
            return self.remove(secret, pair, why, "idle").await;
        }
        let token = self.named_token(secret, case).await?;
        let held = token.as_ref().map(|token| self.held(secret, token));
        let (bounds, now) = (&self.controller.scope.bounds, self.controller.edges.clock.now());
        let step = next_step(secret, held.as_ref(), &self.usage(case), bounds, now);
        match (case, step) {
            (Case::Needed(demand), Step::Nothing) => self.update_in_use(secret, token, demand).await,
            (Case::Needed(demand), step) => {
                let Some(cluster) = self.controller.cluster_of_demand(demand).await? else {
                    info!(action = "provision", outcome = "skipped", holder = %self.holder, "the task is gone already");
                    return Ok(Progress::Done(Effect::Unchanged));
                };
                match step {
                    Step::Create => self.create_and_show(secret, &cluster, demand).await,
                    Step::Restore(pair) => self.restore(secret, &pair, &cluster, demand).await,
                    Step::Show(pair) => self.show(secret, pair, token, demand).await,
                    Step::Nothing | Step::Hide(..) | Step::Remove(..) => Ok(Progress::Done(Effect::Unchanged)),
                }
            }
            (Case::Idle(_) | Case::Ended(_), Step::Hide(pair, why)) => self.hide(secret, pair, why).await,
            (Case::Ended(_), Step::Remove(pair, why)) => self.remove(secret, &pair, &why, "the stack is deleted").await,
            (Case::Idle(_), Step::Remove(pair, why)) => self.remove(secret, &pair, &why, "idle").await,
            (Case::Idle(_) | Case::Ended(_), Step::Nothing | Step::Create | Step::Restore(_) | Step::Show(_)) => {
                Ok(Progress::Done(Effect::Unchanged))
            }
        }
    }

    fn usage(&self, case: &Case<'_>) -> Usage {
        match case {
            Case::Idle(idle) => Usage::Idle((*idle).clone()),
            Case::Ended(retirement) => Usage::Ended((*retirement).clone()),
            Case::Needed(demand) => Usage::Needed(Needed {
                may_create: self.controller.scope.mode == TokenMode::SecretsManager,
                is_told: !matches!(demand, Demand::Listed(_)),
            }),
        }
    }

    /// What Consul holds under the accessor ID that the secret names. A hidden token of an idle service that the secret says is
    /// the controller's is deleted whether Consul holds it or not.
    async fn named_token(&self, secret: &StoredSecret, case: &Case<'_>) -> Result<Option<Token>, ControllerError> {
        match (&secret.state, case) {
            (SecretState::Missing | SecretState::Empty, _) => Ok(None),
            (SecretState::Retiring(..), Case::Idle(_)) if secret.is_ours => Ok(None),
            (SecretState::Active(pair) | SecretState::Retiring(pair, _), _) => {
                Ok(self.controller.edges.consul.token(self.holder.tenancy(), pair.accessor).await?)
            }
        }
    }

    fn held(&self, secret: &StoredSecret, token: &Token) -> Held {
        let unused_since = HolderMark::parse(&token.description).and_then(|mark| mark.unused_since);
        let is_same = secret.state.pair().is_some_and(|pair| pair.is_same_as(&token.pair));
        Held {
            is_marked: self.is_marked(token),
            is_awaited: is_awaited(unused_since, self.controller.rules()),
            differs: (!is_same).then(|| token.pair.clone()),
        }
    }

    /// Whether its description says that a controller of these clusters made the token for the holder.
    fn is_marked(&self, token: &Token) -> bool {
        is_token_of(&token.description, self.holder, &self.controller.scope.clusters)
    }

    /// The holder's secret.
    pub(super) async fn read(&self) -> Result<StoredSecret, SecretsError> {
        self.controller.edges.secrets.read(&self.name).await
    }

    /// The secret, once it is another version than one that was replaced: Secrets Manager may go on showing that for a while.
    ///
    /// # Errors
    /// [`SecretsError::MovedBack`] where it is still that version after longer than reads lag.
    async fn read_after(
        &self,
        replaced: &StoredSecret,
        read: Option<StoredSecret>,
    ) -> Result<StoredSecret, SecretsError> {
        if let Some(read) = read.filter(|read| read.version != replaced.version) {
            return Ok(read);
        }
        let longest_pause = Duration::from_secs(1);
        // The pauses end before their sum would exceed this: they are longer than reads lag.
        let total = self.controller.scope.bounds.secrets_lag.unsigned_abs() + longest_pause;
        let pauses = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(50))
            .with_max_delay(longest_pause)
            .without_max_times()
            .with_total_delay(Some(total));
        let read = || async {
            let secret = self.read().await?;
            let is_replaced = secret.version == replaced.version;
            if is_replaced { Err(SecretsError::MovedBack { name: self.name.clone() }) } else { Ok(secret) }
        };
        read.retry(pauses).when(|error| matches!(error, SecretsError::MovedBack { .. })).await
    }

    /// Gives the secret a state, unless it was written since it was seen: then there is nothing.
    async fn swap(&self, seen: &StoredSecret, state: SecretState) -> Result<Option<StoredSecret>, SecretsError> {
        let action = match state {
            SecretState::Active(_) => "show_token",
            SecretState::Retiring(..) => "hide_token",
            SecretState::Missing | SecretState::Empty => "empty_secret",
        };
        // Whatever clock Secrets Manager has, it writes no sooner.
        let written_at = Some(self.controller.edges.clock.now());
        match self.controller.edges.secrets.write(&self.name, seen, &state).await {
            Ok(version) => {
                let pair = state.pair().or(seen.state.pair());
                let accessor_id = pair.map(|pair| tracing::field::display(pair.accessor));
                info!(action, outcome = "done", holder = %self.holder, secret = self.name, accessor_id);
                Ok(Some(StoredSecret { state, is_ours: true, version: Some(version), written_at }))
            }
            Err(SecretsError::Changed { .. }) => Ok(None),
            Err(_) if mutant::is(Mutant::LeaksSecret) => {
                let reason = state.pair().map(|pair| pair.secret.expose_secret().to_owned()).unwrap_or_default();
                Err(SecretsError::Failed { name: self.name.clone(), reason })
            }
            Err(error) => Err(error),
        }
    }
}
