//! One holder's token: its secret is read, Consul is asked what it holds, [`next_step`] decides, and the step is taken, until
//! there is nothing left to do. Events, looks at idle services, and sweeps all do this.

mod in_consul;
mod orphans;
mod steps;

use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::time::{Instant, sleep, timeout};
use tracing::info;

use super::{Controller, ControllerError, apply::Effect, need::Need};
use crate::secrets::SecretsError;
use mesh::{
    field::InvalidField,
    lifecycle::{Held, Idle, Needed, Step, Usage, next_step},
    mark::{HolderMark, is_service_token_of},
    mutant::{self, Mutant},
    plan::TokenMode,
    secret::{SecretState, StoredSecret, Trigger},
    tenancy::Tenancy,
    token::{Token, TokenHolder},
    token_plan::is_awaited,
};

/// The pause before a secret is read again that goes on showing a version which was replaced; each is twice as long as the one
/// before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Why a token is looked at.
pub(super) enum Case<'a> {
    /// Somebody needs it.
    Needed(&'a Need<'a>),
    /// Its service is idle.
    Idle(&'a Idle, Trigger),
}

/// What one look came to.
enum Look {
    /// All is done.
    Done(Effect),
    /// The step is taken; the next one follows from what is there now.
    Again,
    /// Somebody else has written the secret: it is not any more what was read. What it was read as since, if it was.
    Overtaken(Option<StoredSecret>),
}

impl Look {
    /// The same, after something was changed.
    fn changed(self) -> Self {
        if matches!(self, Self::Done(_)) { Self::Done(Effect::Done) } else { self }
    }
}

impl Controller {
    /// Takes steps until nothing is left to do. `seen` is the secret as it was read a moment ago, if it was.
    ///
    /// # Errors
    /// What went wrong, [`ControllerError::OutOfTime`] if it took longer than an attempt may.
    pub(super) async fn settle_token(
        &self,
        holder: &TokenHolder,
        case: &Case<'_>,
        seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let bound = Duration::try_from(self.scope.bounds.attempt).unwrap_or_default();
        timeout(bound, self.settle_unbounded(holder, case, seen)).await.unwrap_or(Err(ControllerError::OutOfTime))
    }

    async fn settle_unbounded(
        &self,
        holder: &TokenHolder,
        case: &Case<'_>,
        mut seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let name = self.secret_name(holder)?;
        let mut effect = Effect::Unchanged;
        loop {
            let secret = match seen.take() {
                Some(secret) => secret,
                None => self.edges.secrets.read(&name).await?,
            };
            match self.look(holder, &name, &secret, case).await? {
                Look::Done(done) => return Ok(done.max(effect)),
                Look::Again => effect = Effect::Done,
                Look::Overtaken(read) => seen = Some(self.read_after(&name, &secret, read).await?),
            }
        }
    }

    /// The secret, once it is another version than one that was replaced: Secrets Manager may go on showing that for a while.
    ///
    /// # Errors
    /// [`SecretsError::MovedBack`] where it is still that version after longer than reads lag.
    async fn read_after(
        &self,
        name: &str,
        replaced: &StoredSecret,
        mut read: Option<StoredSecret>,
    ) -> Result<StoredSecret, ControllerError> {
        let lag = Duration::try_from(self.scope.bounds.secrets_lag).unwrap_or_default();
        let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let is_over = began.elapsed() > lag;
            let secret = match read.take() {
                Some(secret) => secret,
                None => self.edges.secrets.read(name).await?,
            };
            if secret.version != replaced.version {
                return Ok(secret);
            }
            if is_over {
                return Err(SecretsError::MovedBack { name: name.to_owned() }.into());
            }
            sleep(pause.mul_f64(0.5 + 0.5 * fastrand::f64())).await;
            pause *= 2;
        }
    }

    async fn look(
        &self,
        holder: &TokenHolder,
        name: &str,
        secret: &StoredSecret,
        case: &Case<'_>,
    ) -> Result<Look, ControllerError> {
        if let (true, SecretState::Retiring(pair, why), Case::Needed(Need::Known(_))) =
            (mutant::is(Mutant::NoSecondListing), &secret.state, case)
        {
            return self.remove(holder, name, secret, pair.accessor, why).await;
        }
        let usage = self.usage_of(case);
        let token = self.named_token(holder, secret, &usage).await?;
        let held = token.as_ref().map(|token| {
            let unused_since = HolderMark::parse(&token.description).and_then(|mark| mark.unused_since);
            let is_same = secret.state.pair().is_some_and(|pair| pair.is_same_as(&token.pair));
            Held {
                is_marked: self.bears_our_marks(&token.description, holder),
                is_awaited: is_awaited(unused_since, self.rules()),
                differs: (!is_same).then(|| token.pair.clone()),
            }
        });
        let step = next_step(secret, held.as_ref(), &usage, &self.scope.bounds, self.edges.clock.now());
        match (step, case) {
            (Step::Nothing, Case::Needed(need)) => self.mend(holder, secret, token, need).await,
            (step, Case::Needed(need)) => {
                let Some(cluster) = self.cluster_of_need(need).await? else {
                    info!(action = "provision", outcome = "skipped", holder = %holder, "the task is gone already");
                    return Ok(Look::Done(Effect::Unchanged));
                };
                match step {
                    Step::Create => self.create_and_show(holder, name, secret, &cluster, need).await,
                    Step::Restore => self.restore(holder, name, secret, &cluster, need).await,
                    Step::Show(pair) => match self.show(holder, name, secret, pair).await? {
                        Some(shown) => self.mend(holder, &shown, token, need).await.map(Look::changed),
                        None => Ok(Look::Overtaken(None)),
                    },
                    Step::Nothing | Step::Hide(_) | Step::Remove(..) => Ok(Look::Done(Effect::Unchanged)),
                }
            }
            (Step::Hide(pair), Case::Idle(idle, trigger)) => {
                self.hide(holder, name, secret, pair, (idle, *trigger)).await
            }
            (Step::Remove(pair, retirement), Case::Idle(..)) => {
                self.remove(holder, name, secret, pair.accessor, &retirement).await
            }
            (Step::Nothing | Step::Create | Step::Restore | Step::Show(_), Case::Idle(..)) => {
                Ok(Look::Done(Effect::Unchanged))
            }
        }
    }

    fn usage_of(&self, case: &Case<'_>) -> Usage {
        match case {
            Case::Idle(idle, _) => Usage::Idle((*idle).clone()),
            Case::Needed(need) => Usage::Needed(Needed {
                may_create: self.scope.mode == TokenMode::SecretsManager,
                is_told: !matches!(need, Need::Known(_)),
            }),
        }
    }

    /// What Consul holds under the accessor ID that the secret names. A hidden token of an idle service is ours, whatever Consul
    /// holds.
    async fn named_token(
        &self,
        holder: &TokenHolder,
        secret: &StoredSecret,
        usage: &Usage,
    ) -> Result<Option<Token>, ControllerError> {
        let accessor = match (&secret.state, usage) {
            (SecretState::Retiring(..), Usage::Idle(_)) => None,
            (state, _) => state.pair().map(|pair| pair.accessor),
        };
        let Some(accessor) = accessor else { return Ok(None) };
        Ok(self.edges.consul.token(holder.tenancy(), accessor).await?)
    }

    /// The name of the holder's secret.
    ///
    /// # Errors
    /// A service whose secret would be the client agents': its tasks could then act as any node.
    pub(super) fn secret_name(&self, holder: &TokenHolder) -> Result<String, InvalidField> {
        let name = self.scope.names.of(holder);
        let client = TokenHolder::Client { tenancy: Tenancy::Community };
        match holder {
            TokenHolder::Service(service) if name == self.scope.names.of(&client) => Err(InvalidField::new(
                "service name",
                service.name.as_str(),
                "a name whose secret is not the client token's; rename the service, or set ClientTokenSecretName",
            )),
            _ => Ok(name),
        }
    }

    fn bears_our_marks(&self, description: &str, holder: &TokenHolder) -> bool {
        matches!(holder, TokenHolder::Service(service)
            if is_service_token_of(description, service, &self.scope.clusters))
    }

    /// Gives the holder's secret a state, unless it was written since it was seen: then there is nothing.
    async fn swap(
        &self,
        holder: &TokenHolder,
        name: &str,
        seen: &StoredSecret,
        state: &SecretState,
    ) -> Result<Option<StoredSecret>, ControllerError> {
        let action = match state {
            SecretState::Active(_) => "show_token",
            SecretState::Retiring(..) => "hide_token",
            SecretState::Missing | SecretState::Empty => "empty_secret",
        };
        // Whatever clock Secrets Manager has, it writes no sooner.
        let began = self.edges.clock.now();
        match self.edges.secrets.write(name, seen, state).await {
            Ok(version) => {
                let accessor_id = state.pair().map(|pair| tracing::field::display(pair.accessor));
                info!(action, outcome = "done", holder = %holder, secret = name, accessor_id);
                let written_at = Some(began);
                Ok(Some(StoredSecret { state: state.clone(), is_ours: true, version: Some(version), written_at }))
            }
            Err(SecretsError::Changed { .. }) => Ok(None),
            Err(_) if mutant::is(Mutant::LeaksSecret) => {
                let reason = state.pair().map(|pair| pair.secret.expose_secret().to_owned()).unwrap_or_default();
                Err(SecretsError::Failed { name: name.to_owned(), reason }.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}
