//! Making sure that a holder has a valid token and that its secret holds it: "one token per service".
//!
//! Consul is the arbiter: of concurrent creations under the derived accessor ID one succeeds, and the losers read
//! what it made. A crash between the two writes heals at the next look, which finds the token and writes the secret.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use tracing::{info, warn};

use super::{Controller, ControllerError};
use crate::{
    consul::ConsulError,
    mesh::{
        arn::{ClusterArn, TaskArn},
        field::InvalidField,
        phase::TaskPhase,
        secret::SecretState,
        task::TaskChange,
        tenancy::Tenancy,
        token::{AccessorId, Grant, NewToken, Token, TokenHolder, TokenPair, is_service_token_of},
        token_plan::{TokenStep, next_step},
    },
};

/// How long ECS's answers may lag behind its events.
const ECS_LAG: SignedDuration = SignedDuration::from_secs(60);
/// How many tasks of one cluster are asked about to find a living one: what one `DescribeTasks` takes.
const ASKED_TASKS: usize = 100;

/// Whether somebody needs a token that does not exist yet.
enum Need {
    /// A task that ECS calls active, in this cluster.
    Known(ClusterArn),
    /// Events said so, but they may be old.
    Claimed,
}

impl Controller {
    /// Provisions for tasks that events called active.
    pub(super) async fn provision_for_tasks(
        &self,
        holder: &TokenHolder,
        changes: &[&TaskChange],
    ) -> Result<(), ControllerError> {
        if self.provision(holder, Need::Claimed, changes).await?
            && let Some(newest) = changes.iter().map(|change| change.time).max()
        {
            self.trust(holder, newest);
        }
        Ok(())
    }

    /// Provisions for a service that is known to have a living task in `cluster`.
    pub(super) async fn provision_for_living(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
    ) -> Result<(), ControllerError> {
        self.provision(holder, Need::Known(cluster.clone()), &[]).await.map(drop)
    }

    /// Whether the holder has a token now; it has none where nobody needs one any more.
    async fn provision(
        &self,
        holder: &TokenHolder,
        need: Need,
        changes: &[&TaskChange],
    ) -> Result<bool, ControllerError> {
        let name = self.secret_name(holder)?;
        let derived = AccessorId::derived(holder, &self.scope.names);
        let secret = self.edges.secrets.read(&name).await?;
        let token = match &secret {
            SecretState::Holds(pair) => self.edges.consul.token(holder.tenancy(), pair.accessor).await?,
            SecretState::Missing | SecretState::Blank => None,
        };
        match next_step(&secret, token.as_ref(), derived, |description| self.bears_our_marks(description, holder)) {
            TokenStep::InPlace { ours } => {
                if !ours {
                    warn!(secret = name, holder = %holder, "the secret holds a valid token that is not ours; left alone");
                }
            }
            TokenStep::WriteSecret(pair) => self.write_secret(holder, &secret, &pair).await?,
            TokenStep::Create => {
                let cluster = match need {
                    Need::Known(cluster) => Some(cluster),
                    Need::Claimed => self.cluster_of_a_living(changes).await?,
                };
                let Some(cluster) = cluster else {
                    info!(action = "provision", outcome = "skipped", holder = %holder, "the task is gone already");
                    return Ok(false);
                };
                self.create(holder, &cluster, secret).await?;
            }
        }
        Ok(true)
    }

    async fn create(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
        seen: SecretState,
    ) -> Result<(), ControllerError> {
        let (token, seen) = match self.create_token(holder, cluster, None).await {
            Ok(token) => (token, seen),
            // Somebody was faster, or died before writing the secret.
            Err(conflict @ ConsulError::Conflict { .. }) => {
                let accessor = AccessorId::derived(holder, &self.scope.names);
                let token = self.edges.consul.token(holder.tenancy(), accessor).await?.ok_or(conflict)?;
                (token, self.edges.secrets.read(&self.secret_name(holder)?).await?)
            }
            Err(error) => return Err(error.into()),
        };
        self.write_secret(holder, &seen, &token.pair).await
    }

    /// Creates the holder's token: with a new secret half, or with that of `pair`, put back under its accessor ID.
    pub(super) async fn create_token(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
        pair: Option<&TokenPair>,
    ) -> Result<Token, ConsulError> {
        let consul = &self.edges.consul;
        let grant = match holder {
            TokenHolder::Service(service) => Grant::ServiceIdentity(service.name.clone()),
            TokenHolder::Client { tenancy } => {
                let policy = self.scope.names.client_policy();
                consul.ensure_client_policy(tenancy, &policy).await?;
                Grant::Policy(policy)
            }
        };
        let accessor = pair.map_or_else(|| AccessorId::derived(holder, &self.scope.names), |pair| pair.accessor);
        let new = NewToken {
            accessor,
            secret: pair.map(|pair| pair.secret.clone()),
            description: holder.token_description(cluster),
            grant,
            tenancy: holder.tenancy().clone(),
        };
        let token = consul.create_token(&new).await?;
        info!(action = "create_token", outcome = "done", holder = %holder, accessor_id = %accessor, cluster_arn = %cluster);
        Ok(token)
    }

    pub(super) async fn write_secret(
        &self,
        holder: &TokenHolder,
        seen: &SecretState,
        pair: &TokenPair,
    ) -> Result<(), ControllerError> {
        if matches!(seen, SecretState::Holds(held) if held.is_same_as(pair)) {
            return Ok(());
        }
        let name = self.secret_name(holder)?;
        self.edges.secrets.write(&name, seen, Some(pair)).await?;
        info!(action = "write_secret", outcome = "done", holder = %holder, secret = name, accessor_id = %pair.accessor);
        Ok(())
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

    /// The cluster of one task that ECS calls active, so that an old event creates nothing for the dead.
    async fn cluster_of_a_living(&self, changes: &[&TaskChange]) -> Result<Option<ClusterArn>, ControllerError> {
        let mut clusters: BTreeMap<&ClusterArn, Vec<TaskArn>> = BTreeMap::new();
        for change in changes {
            clusters.entry(&change.cluster).or_default().push(change.arn.clone());
        }
        let mut missing = None;
        for (cluster, mut tasks) in clusters {
            tasks.truncate(ASKED_TASKS);
            let described = self.edges.ecs.describe_tasks(cluster, &tasks).await?;
            if described.iter().any(|task| task.phase == TaskPhase::Active) {
                return Ok(Some(cluster.clone()));
            }
            missing = missing.or(tasks.into_iter().find(|task| described.iter().all(|seen| seen.arn != *task)));
        }
        let now = self.edges.clock.now();
        match missing {
            Some(task) if changes.iter().any(|c| c.arn == task && now.duration_since(c.time) < ECS_LAG) => {
                Err(ControllerError::NotDescribedYet(task))
            }
            _ => Ok(None),
        }
    }
}
