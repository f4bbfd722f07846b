//! Making sure that a holder has a valid token and that its secret holds it: "one token per service".
//!
//! The secret is written first, and only if it is still what was seen: so of many environments that start one service
//! at once, one decides on the pair, and all the others create that very pair in Consul. A crash between the two writes
//! heals at the next look, which finds the pair in the secret and creates it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use secrecy::ExposeSecret;
use tracing::{info, warn};

use super::{Controller, ControllerError, DESCRIBED_AT_ONCE, ECS_LAG, apply::Effect};
use crate::{
    consul::ConsulError,
    mesh::{
        arn::{ClusterArn, TaskArn},
        field::InvalidField,
        mark::{is_service_token_of, marked_unused, marked_used, waiting_anew},
        phase::TaskPhase,
        secret::StoredSecret,
        task::TaskChange,
        tenancy::Tenancy,
        token::{AccessorId, Grant, NewToken, Token, TokenHolder, TokenPair},
        token_plan::{TokenStep, next_step},
    },
    mutant::{self, Mutant},
    secrets::SecretsError,
};

/// How often a secret is read again because somebody else has written it.
const READS: usize = 4;

/// Who needs the token.
enum Need<'a> {
    /// A task that ECS called active a moment ago, in this cluster.
    Known(&'a ClusterArn),
    /// Events said so, but they may be old.
    Claimed(&'a [&'a TaskChange]),
    /// No task yet: one may start in this cluster.
    Ahead(&'a ClusterArn),
}

/// What one look at the holder's secret came to.
enum Look {
    /// The holder has its token.
    Provisioned(Effect),
    /// Nobody needs one any more.
    NotNeeded,
    /// Somebody else has written the secret meanwhile.
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
        let newest = changes.iter().map(|change| change.time).max();
        if let (Some(_), Some(newest)) = (provisioned, newest) {
            self.trust(holder, newest);
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
        for _ in 0..READS {
            match self.provision_once(holder, &name, need).await? {
                Look::Provisioned(effect) => return Ok(Some(effect)),
                Look::NotNeeded => return Ok(None),
                Look::Overtaken => {}
            }
        }
        Err(SecretsError::Changed { name }.into())
    }

    async fn provision_once(&self, holder: &TokenHolder, name: &str, need: &Need<'_>) -> Result<Look, ControllerError> {
        let derived = if mutant::is(Mutant::RandomAccessor) {
            self.edges.entropy.secret().expose_secret().parse()?
        } else {
            AccessorId::derived(holder, &self.scope.names)
        };
        let secret = self.edges.secrets.read(name).await?;
        let token = match secret.state.pair() {
            Some(pair) => match self.edges.consul.token(holder.tenancy(), pair.accessor).await {
                Err(ConsulError::CredentialRejected { .. }) if mutant::is(Mutant::TrustsNotFound) => None,
                token => token?,
            },
            None => None,
        };
        let step = next_step(&secret.state, token.as_ref(), derived, |mark| self.bears_our_marks(mark, holder));
        let pair = match step {
            TokenStep::InPlace { ours: true } => {
                return match token {
                    Some(token) => self.put_in_order(holder, token, need).await,
                    None => Ok(Look::Provisioned(Effect::Unchanged)),
                };
            }
            TokenStep::InPlace { ours: false } => {
                warn!(secret = name, holder = %holder, "the secret holds a valid token that is not ours; left alone");
                return Ok(Look::Provisioned(Effect::Unchanged));
            }
            TokenStep::WriteSecret(pair) => return self.write_secret(holder, &secret, &pair).await,
            TokenStep::CreateToken(pair) => Some(pair),
            TokenStep::NewPair => None,
        };
        let cluster = match need {
            Need::Known(cluster) | Need::Ahead(cluster) => Some((*cluster).clone()),
            Need::Claimed(changes) => self.cluster_in_need(changes).await?,
        };
        let Some(cluster) = cluster else {
            info!(action = "provision", outcome = "skipped", holder = %holder, "the task is gone already");
            return Ok(Look::NotNeeded);
        };
        if let Some(pair) = pair {
            return self.create(holder, &cluster, pair, need).await;
        }
        let pair = TokenPair { accessor: derived, secret: self.edges.entropy.secret() };
        if mutant::is(Mutant::SecretAfterConsul) {
            self.create(holder, &cluster, pair.clone(), need).await?;
            return self.write_secret(holder, &secret, &pair).await;
        }
        match self.write_secret(holder, &secret, &pair).await? {
            Look::Provisioned(_) => self.create(holder, &cluster, pair, need).await,
            overtaken => Ok(overtaken),
        }
    }

    /// Creates the pair that the secret holds.
    async fn create(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
        pair: TokenPair,
        need: &Need<'_>,
    ) -> Result<Look, ControllerError> {
        let accessor = pair.accessor;
        let consul = &self.edges.consul;
        let grant = self.grant_for(holder).await?;
        let mut description = holder.token_description(cluster);
        if let (Need::Ahead(_), TokenHolder::Service(_)) = (need, holder) {
            description = marked_unused(&description, self.edges.clock.now());
        }
        let new = NewToken { pair, description, grant, tenancy: holder.tenancy().clone() };
        match consul.create_token(&new).await {
            Ok(_) => {
                info!(action = "create_token", outcome = "done", holder = %holder, accessor_id = %accessor, cluster_arn = %cluster);
                Ok(Look::Provisioned(Effect::Done))
            }
            // Another environment was faster with the same pair. Or the secret was emptied by hand, and Consul still has
            // the pair that it held: then the next look restores that.
            Err(conflict @ ConsulError::Conflict { .. }) => match consul.token(holder.tenancy(), accessor).await? {
                Some(token) if token.pair.is_same_as(&new.pair) => Ok(Look::Provisioned(Effect::Unchanged)),
                Some(_) => Ok(Look::Overtaken),
                None => Err(conflict.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Mends a token that is in its place. One that was made ahead loses its mark now that a task needs it: from then on
    /// it goes when its service is idle. If only another first start is ahead, it waits anew. And one whose policy somebody
    /// has deleted gets its grant back.
    async fn put_in_order(&self, holder: &TokenHolder, token: Token, need: &Need<'_>) -> Result<Look, ControllerError> {
        let used = marked_used(&token.description);
        let description = match need {
            Need::Ahead(_) => waiting_anew(&token.description, self.edges.clock.now(), self.scope.unused_for)
                .unwrap_or_else(|| token.description.clone()),
            // Only a mark is worth the question whether an old event's task still lives.
            Need::Claimed(changes) if used != token.description && self.cluster_in_need(changes).await?.is_none() => {
                info!(action = "provision", outcome = "skipped", holder = %holder, "the task is gone already");
                return Ok(Look::NotNeeded);
            }
            Need::Claimed(_) | Need::Known(_) => used,
        };
        let grants_nothing = token.grants_nothing();
        if description == token.description && !grants_nothing {
            return Ok(Look::Provisioned(Effect::Unchanged));
        }
        let grant = if grants_nothing { self.grant_for(holder).await? } else { Grant::AsBefore(token.grants) };
        let mended = NewToken { pair: token.pair, description, grant, tenancy: holder.tenancy().clone() };
        match self.edges.consul.update_token(&mended).await {
            Ok(()) => {
                info!(action = "update_token", outcome = "done", holder = %holder, accessor_id = %mended.pair.accessor);
                Ok(Look::Provisioned(Effect::Done))
            }
            Err(ConsulError::NotFound { .. }) => Ok(Look::Overtaken),
            Err(error) => Err(error.into()),
        }
    }

    /// What the holder's token may do; the policy that it names is there.
    async fn grant_for(&self, holder: &TokenHolder) -> Result<Grant, ControllerError> {
        Ok(match holder {
            TokenHolder::Service(service) => Grant::ServiceIdentity(service.name.clone()),
            TokenHolder::Client { tenancy } => {
                let policy = self.scope.names.client_policy();
                self.edges.consul.ensure_client_policy(tenancy, &policy).await?;
                Grant::Policy(policy)
            }
        })
    }

    /// Writes the pair into the secret, unless somebody else has written it since it was seen.
    async fn write_secret(
        &self,
        holder: &TokenHolder,
        seen: &StoredSecret,
        pair: &TokenPair,
    ) -> Result<Look, ControllerError> {
        let name = self.secret_name(holder)?;
        match self.edges.secrets.write(&name, seen, Some(pair)).await {
            Ok(()) => {
                info!(action = "write_secret", outcome = "done", holder = %holder, secret = name, accessor_id = %pair.accessor);
                Ok(Look::Provisioned(Effect::Done))
            }
            Err(SecretsError::Changed { .. }) => Ok(Look::Overtaken),
            Err(_) if mutant::is(Mutant::LeaksSecret) => {
                let reason = pair.secret.expose_secret().to_owned();
                Err(SecretsError::Failed { name, reason }.into())
            }
            Err(error) => Err(error.into()),
        }
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

    /// The cluster of a task that needs the token, so that an old event makes nothing for the dead.
    ///
    /// A new event is believed without asking: the task was active when it was made, so that the look that its stop will
    /// ask for comes after whatever is made now, and revokes it.
    async fn cluster_in_need(&self, changes: &[&TaskChange]) -> Result<Option<ClusterArn>, ControllerError> {
        let now = self.edges.clock.now();
        let believed = SignedDuration::try_from(self.scope.grace.trusted()).unwrap_or(SignedDuration::ZERO);
        if let Some(new) = changes.iter().find(|change| now.duration_since(change.time) < believed) {
            return Ok(Some(new.cluster.clone()));
        }
        let mut clusters: BTreeMap<&ClusterArn, Vec<TaskArn>> = BTreeMap::new();
        for change in changes {
            clusters.entry(&change.cluster).or_default().push(change.arn.clone());
        }
        let mut described = BTreeSet::new();
        for (cluster, mut tasks) in clusters {
            tasks.truncate(DESCRIBED_AT_ONCE);
            let answer = self.edges.ecs.describe_tasks(cluster, &tasks).await?;
            if answer.iter().any(|task| task.phase == TaskPhase::Active) {
                return Ok(Some(cluster.clone()));
            }
            described.extend(answer.into_iter().map(|task| task.arn));
        }
        let lags =
            |change: &&&TaskChange| !described.contains(&change.arn) && now.duration_since(change.time) < ECS_LAG;
        match changes.iter().find(lags) {
            Some(change) => Err(ControllerError::NotDescribedYet(change.arn.clone())),
            None => Ok(None),
        }
    }
}
