//! Creates and updates tokens in Consul.

use telemetry::Counted;
use tracing::{info, warn};

use super::{
    attempt::{Attempt, Progress},
    demand::Demand,
};
use crate::{announcement::Announcement, bootstrap::policy, counting::count, error::ControllerError, outcome::Effect};
use consul::{ConsulError, Grant, NewToken, Token};
use mesh::{
    arn::ClusterArn,
    mark::{HolderMark, marked_for_secret, marked_unused, marked_used, with_restarted_wait},
    secret::StoredSecret,
    token::{AccessorId, TokenHolder, TokenPair},
};

impl Attempt<'_> {
    /// The token with this accessor ID. In Enterprise it may be in another namespace: the secret's name may be another
    /// service's too, and consul-ecs 0.4.1 creates all tokens in `default`.
    pub(super) async fn find(&self, accessor: AccessorId) -> Result<Option<Token>, ControllerError> {
        let (acl, own) = (&self.tokens.acl, self.holder.tenancy());
        let token = acl.token(own, accessor).await?;
        if token.is_some() || own.partition().is_none() {
            return Ok(token);
        }
        let listed = acl.tokens(own, &|token| token.accessor == accessor && token.tenancy != *own).await?;
        match listed.unwrap_or_default().first() {
            Some(listed) => Ok(acl.token(&listed.tenancy, accessor).await?),
            None => Ok(None),
        }
    }

    /// Creates a token in Consul. An existing token with both halves is accepted.
    pub(super) async fn create(
        &self,
        cluster: &ClusterArn,
        pair: &TokenPair,
        demand: &Demand<'_>,
    ) -> Result<(), ControllerError> {
        let holder = self.holder;
        let grant = self.grant().await?;
        let description = match (demand, holder) {
            (Demand::Registered(_), TokenHolder::Service(_) | TokenHolder::Named { .. }) => {
                marked_unused(&self.marks(cluster), self.tokens.clock.now())
            }
            _ => self.marks(cluster),
        };
        let new = NewToken { pair: pair.clone(), description, grant, tenancy: holder.tenancy().clone() };
        match self.tokens.acl.create_token(&new).await {
            Ok(_) => {
                let operation = self.tokens.scope.operation;
                count(operation, Counted::TokensCreated, 1);
                info!(action = "create_token", outcome = operation.done(), holder = %holder, accessor_id = %pair.accessor, cluster_arn = %cluster);
                let (holder, cluster) = (holder.clone(), cluster.clone());
                let created = Announcement::TokenCreated { holder, accessor: pair.accessor, cluster };
                self.tokens.announcer.announce(&created);
                Ok(())
            }
            // The answer to an earlier try was lost, or another attempt restores the same token.
            Err(conflict @ ConsulError::Conflict { .. }) => {
                match self.tokens.acl.token(holder.tenancy(), pair.accessor).await? {
                    Some(token) if token.pair.is_same_as(pair) => Ok(()),
                    _ => Err(conflict.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The description of the holder's token.
    fn marks(&self, cluster: &ClusterArn) -> String {
        let place = self.tokens.scope.names.place_of(self.holder);
        marked_for_secret(&self.holder.token_description(cluster), &place)
    }

    /// Updates the token in the secret. A required token loses its unused mark, so that it is revoked when its service
    /// is idle; a pre-provisioned one restarts its wait. A token that is marked for a cluster of another deployment is
    /// marked for one of this deployment. A token whose policy was deleted gets its grant again.
    pub(super) async fn update_in_use(
        &self,
        secret: &StoredSecret,
        token: Option<Token>,
        demand: &Demand<'_>,
    ) -> Result<Progress, ControllerError> {
        let (scope, holder) = (&self.tokens.scope, self.holder);
        let Some(token) = token else { return Ok(Progress::Done(Effect::Unchanged)) };
        let is_marked = self.is_marked(&token);
        if !secret.is_ours && !is_marked {
            warn!(holder = %holder, "the secret contains a valid token of another creator, which is not changed");
        }
        let Some(description) = self.update_of(secret, &token, demand) else {
            self.cache(demand, secret);
            return Ok(Progress::Done(Effect::Unchanged));
        };
        // Only before a change it is checked whether the task of an old event still runs.
        let Some(cluster) = self.tokens.cluster_of_demand(demand).await? else {
            info!(action = "provision", outcome = "skipped", holder = %holder, "the task is gone already");
            return Ok(Progress::Done(Effect::Unchanged));
        };
        let description = if is_marked { description } else { self.marks(&cluster) };
        let grant = if token.grants_nothing() { self.grant().await? } else { Grant::AsBefore(token.grants) };
        let updated = NewToken { pair: token.pair, description, grant, tenancy: holder.tenancy().clone() };
        match self.tokens.acl.update_token(&updated).await {
            Ok(()) => {
                let outcome = scope.operation.done();
                info!(action = "update_token", outcome, holder = %holder, accessor_id = %updated.pair.accessor);
                self.cache(demand, secret);
                Ok(Progress::Done(Effect::Done))
            }
            Err(ConsulError::NotFound { .. }) => Ok(Progress::Again),
            Err(error) => Err(error.into()),
        }
    }

    /// The description that the token in the secret would get, if the token has to be updated.
    pub(super) fn update_of(&self, secret: &StoredSecret, token: &Token, demand: &Demand<'_>) -> Option<String> {
        let unused_for = self.tokens.scope.unused_for;
        let description = match demand {
            Demand::Registered(_) => with_restarted_wait(&token.description, self.tokens.clock.now(), unused_for)
                .unwrap_or_else(|| token.description.clone()),
            Demand::Events(_) | Demand::Listed(_) => marked_used(&token.description),
        };
        let description = match self.holder {
            TokenHolder::Named { .. } => self.with_secret_mark(&description).unwrap_or(description),
            TokenHolder::Service(_) | TokenHolder::Client { .. } => description,
        };
        let is_marked = self.is_marked(token);
        let is_current = is_marked && description == token.description && !token.grants_nothing();
        ((secret.is_ours || is_marked) && !is_current).then_some(description)
    }

    /// The description with the mark of the secret, if it is that of a token of consul-ecs, which has none. Without the
    /// mark, a token that its secret does not contain any more may be in another one.
    fn with_secret_mark(&self, description: &str) -> Option<String> {
        let is_unmarked = HolderMark::parse(description).is_some_and(|mark| mark.secret.is_none());
        is_unmarked.then(|| marked_for_secret(description, &self.tokens.scope.names.place_of(self.holder)))
    }

    /// Marks a token of consul-ecs for this secret, before the secret contains it no more.
    pub(super) async fn mark_for_secret(&self, token: Option<&Token>) -> Result<(), ControllerError> {
        let Some(token) = token else { return Ok(()) };
        let Some(description) = self.with_secret_mark(&token.description) else { return Ok(()) };
        let (pair, grant) = (token.pair.clone(), Grant::AsBefore(token.grants.clone()));
        let marked = NewToken { pair, description, grant, tenancy: token.tenancy.clone() };
        match self.tokens.acl.update_token(&marked).await {
            Ok(()) | Err(ConsulError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The grant of the holder's token. Creates the policy that it refers to.
    async fn grant(&self) -> Result<Grant, ControllerError> {
        Ok(match self.holder {
            TokenHolder::Service(service) | TokenHolder::Named { service, .. } => {
                Grant::ServiceIdentity(service.name.clone())
            }
            TokenHolder::Client { tenancy } => {
                let policy = self.tokens.scope.names.client_policy();
                self.tokens.acl.create_policy(&policy::of_client_agents(tenancy, &policy)).await?;
                Grant::Policy(policy)
            }
        })
    }
}
