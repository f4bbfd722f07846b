//! Making sure that a holder has a valid token and that its secret holds it: "one token per service".
//!
//! The secret is written first, and only if it is still what was seen: so of many environments that start one service
//! at once, one decides on the pair, and all the others create that very pair in Consul. A crash between the two writes
//! heals at the next look, which finds the pair in the secret and creates it.
//!
//! A secret that was blank may be one of a service whose token Consul has again, because somebody late has just made it
//! anew. So a new pair is only reserved at first, and shown to tasks when Consul holds it; but the first of a secret's life
//! is shown at once, because nothing can contradict it. And a pair that was found in the secret is claimed before it is
//! created: what was read may be old.

use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::time::sleep;
use tracing::{info, warn};

use super::{Controller, ControllerError, apply::Effect, need::Need, settle_token::InConsul};
use crate::{consul::ConsulError, secrets::SecretsError};
use mesh::{
    arn::ClusterArn,
    field::InvalidField,
    mark::is_service_token_of,
    mutant::{self, Mutant},
    secret::{SecretState, StoredSecret},
    task::TaskChange,
    tenancy::Tenancy,
    token::{AccessorId, TokenHolder, TokenPair},
    token_plan::{TokenStep, next_step},
};

/// How often a secret is read because somebody else has written it.
const READS: u32 = 6;
/// How long the first pause between two of them is; each is twice as long as the one before. Whoever was faster creates the
/// token meanwhile.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// What one look at the holder's secret came to.
pub(super) enum Look {
    /// The holder has its token.
    Provisioned(Effect),
    /// Nobody needs one any more.
    NotNeeded,
    /// Somebody else has changed the token meanwhile.
    Again,
    /// Somebody else has written the secret meanwhile: it is not any more what was read.
    Overtaken,
}

impl Controller {
    /// Provisions for tasks that events called active.
    pub(super) async fn provision_for_tasks(
        &self,
        holder: &TokenHolder,
        changes: &[&TaskChange],
    ) -> Result<Effect, ControllerError> {
        let provisioned = self.provision(holder, &Need::Claimed(changes)).await?;
        if provisioned.is_some() {
            let now = self.edges.clock.now();
            let mut changes = changes.to_vec();
            // The newest of each cluster is the last word.
            changes.sort_unstable_by_key(|change| change.time);
            for change in changes {
                self.trusted.remember(holder, &change.cluster, (change.time, now), self.scope.grace);
            }
        }
        Ok(provisioned.unwrap_or(Effect::Unchanged))
    }

    /// Provisions for a service that is known to have a living task in `cluster`.
    pub(super) async fn provision_for_living(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
    ) -> Result<Effect, ControllerError> {
        let provisioned = self.provision(holder, &Need::Known(cluster)).await?;
        Ok(provisioned.unwrap_or(Effect::Unchanged))
    }

    /// Provisions for a service whose first task may start in `cluster` soon.
    pub(super) async fn provision_before(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
    ) -> Result<(), ControllerError> {
        self.provision(holder, &Need::Ahead(cluster)).await.map(drop)
    }

    /// What it took to give the holder its token; `None` where nobody needs one any more.
    async fn provision(&self, holder: &TokenHolder, need: &Need<'_>) -> Result<Option<Effect>, ControllerError> {
        let name = self.secret_name(holder)?;
        let mut outdated = None;
        for read in 0..READS {
            if outdated.is_some() {
                sleep((FIRST_PAUSE * 2_u32.pow(read - 1)).mul_f64(0.5 + 0.5 * fastrand::f64())).await;
            }
            let secret = self.edges.secrets.read(&name).await?;
            // Secrets Manager may go on showing for a moment what has been replaced.
            if outdated.as_ref() == Some(&secret.version) {
                continue;
            }
            match self.provision_once(holder, &name, &secret, need).await? {
                Look::Provisioned(effect) => return Ok(Some(effect)),
                Look::NotNeeded => return Ok(None),
                Look::Again => {}
                Look::Overtaken => outdated = Some(secret.version),
            }
        }
        Err(SecretsError::Changed { name }.into())
    }

    async fn provision_once(
        &self,
        holder: &TokenHolder,
        name: &str,
        secret: &StoredSecret,
        need: &Need<'_>,
    ) -> Result<Look, ControllerError> {
        let derived = if mutant::is(Mutant::RandomAccessor) {
            self.edges.entropy.secret().expose_secret().parse()?
        } else {
            AccessorId::derived(holder, &self.scope.names)
        };
        let token = match secret.state.decided() {
            Some(pair) => match self.edges.consul.token(holder.tenancy(), pair.accessor).await {
                Err(ConsulError::CredentialRejected { .. }) if mutant::is(Mutant::TrustsNotFound) => None,
                token => token?,
            },
            None => None,
        };
        let step = next_step(&secret.state, token.as_ref(), derived, |mark| self.bears_our_marks(mark, holder));
        if let TokenStep::InPlace { ours } = step {
            let Some(token) = token.filter(|_| ours) else {
                warn!(secret = name, holder = %holder, "the secret holds a valid token that is not ours; left alone");
                return Ok(Look::Provisioned(Effect::Unchanged));
            };
            return self.put_in_order(holder, token, need).await;
        }
        let Some(cluster) = self.cluster_of_need(need).await? else {
            info!(action = "provision", outcome = "skipped", holder = %holder, "the task is gone already");
            return Ok(Look::NotNeeded);
        };
        match (step, token) {
            (TokenStep::WriteSecret(pair), Some(token)) => {
                match self.write_state(holder, secret, &SecretState::shows(pair, derived)).await? {
                    Some(_) => self.put_in_order(holder, token, need).await,
                    None => Ok(Look::Overtaken),
                }
            }
            (TokenStep::CreateToken(pair), _) => {
                // What was read may be old, and two who create different pairs at once would both succeed: so the secret is
                // written before.
                let shown = secret.state.pair().is_some();
                let claim = if shown { SecretState::shows(pair, derived) } else { SecretState::Reserved(pair) };
                self.decide_and_create(holder, &cluster, secret, claim, need).await
            }
            _ => {
                let pair = TokenPair { accessor: derived, secret: self.edges.entropy.secret() };
                let is_first = matches!(secret.state, SecretState::Missing) || mutant::is(Mutant::ShownUnmade);
                let decision = if is_first { SecretState::Holds(pair) } else { SecretState::Reserved(pair) };
                self.decide_and_create(holder, &cluster, secret, decision, need).await
            }
        }
    }

    /// Makes the secret decide on a pair, creates that in Consul, and shows it to tasks.
    async fn decide_and_create(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
        seen: &StoredSecret,
        decision: SecretState,
        need: &Need<'_>,
    ) -> Result<Look, ControllerError> {
        let Some(pair) = decision.decided().cloned() else { return Ok(Look::Again) };
        let is_new = !seen.state.decided().is_some_and(|decided| decided.is_same_as(&pair));
        if is_new && mutant::is(Mutant::SecretAfterConsul) {
            self.create(holder, cluster, &pair, need).await?;
            let shown = self.write_state(holder, seen, &self.shows(holder, pair)).await?;
            return Ok(shown.map_or(Look::Overtaken, |_| Look::Provisioned(Effect::Done)));
        }
        let decided = match is_new {
            true => self.write_state(holder, seen, &decision).await?,
            false if mutant::is(Mutant::NotDecidedAnew) => Some(seen.clone()),
            false => self.claim_state(holder, seen, &decision).await?,
        };
        let Some(decided) = decided else { return Ok(Look::Overtaken) };
        let effect = match self.create(holder, cluster, &pair, need).await? {
            InConsul::This(effect) => effect,
            InConsul::Another => return Ok(Look::Again),
        };
        if decided.state.pair().is_some() {
            return Ok(Look::Provisioned(effect));
        }
        let shown = self.write_state(holder, &decided, &self.shows(holder, pair)).await?;
        Ok(shown.map_or(Look::Overtaken, |_| Look::Provisioned(Effect::Done)))
    }

    /// The state of the holder's secret that shows a pair of ours to tasks.
    pub(super) fn shows(&self, holder: &TokenHolder, pair: TokenPair) -> SecretState {
        SecretState::shows(pair, AccessorId::derived(holder, &self.scope.names))
    }

    /// Gives the holder's secret a state, unless somebody else has written it since it was seen: then there is nothing.
    pub(super) async fn write_state(
        &self,
        holder: &TokenHolder,
        seen: &StoredSecret,
        state: &SecretState,
    ) -> Result<Option<StoredSecret>, ControllerError> {
        let name = self.secret_name(holder)?;
        let written = self.edges.secrets.write(&name, seen, state).await;
        written_state(holder, name, state, written)
    }

    /// The same, and only for one of those who want it at once.
    pub(super) async fn claim_state(
        &self,
        holder: &TokenHolder,
        seen: &StoredSecret,
        state: &SecretState,
    ) -> Result<Option<StoredSecret>, ControllerError> {
        let name = self.secret_name(holder)?;
        let claimed = self.edges.secrets.claim(&name, seen, state).await;
        written_state(holder, name, state, claimed)
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

    pub(super) fn bears_our_marks(&self, description: &str, holder: &TokenHolder) -> bool {
        matches!(holder, TokenHolder::Service(service)
            if is_service_token_of(description, service, &self.scope.clusters))
    }
}

/// What came of writing a secret; nothing where somebody else has written it.
fn written_state(
    holder: &TokenHolder,
    name: String,
    state: &SecretState,
    written: Result<StoredSecret, SecretsError>,
) -> Result<Option<StoredSecret>, ControllerError> {
    let action = match state {
        SecretState::Holds(_) | SecretState::Adopted(_) => "write_secret",
        SecretState::Reserved(_) => "reserve_secret",
        SecretState::Missing | SecretState::Blank => "blank_secret",
    };
    let accessor_id = state.decided().map(|pair| tracing::field::display(pair.accessor));
    match written {
        Ok(written) => {
            info!(action, outcome = "done", holder = %holder, secret = name, accessor_id);
            Ok(Some(written))
        }
        Err(SecretsError::Changed { .. }) => Ok(None),
        Err(_) if mutant::is(Mutant::LeaksSecret) => {
            let reason = state.decided().map(|pair| pair.secret.expose_secret().to_owned()).unwrap_or_default();
            Err(SecretsError::Failed { name, reason }.into())
        }
        Err(error) => Err(error.into()),
    }
}
