//! Tokens in Consul: created, and updated where they are in use.

use tracing::{info, warn};

use super::{
    attempt::{Attempt, Progress},
    demand::Demand,
};
use crate::{bootstrap::policy, error::ControllerError, outcome::Effect};
use consul::ConsulError;
use mesh::{
    arn::ClusterArn,
    mark::{marked_for_secret, marked_unused, marked_used, with_restarted_wait},
    secret::StoredSecret,
    token::{Grant, NewToken, Token, TokenHolder, TokenPair},
};

impl Attempt<'_> {
    /// Creates a token in Consul. One that is there already, with both halves, is as good.
    pub(super) async fn create(
        &self,
        cluster: &ClusterArn,
        pair: &TokenPair,
        demand: &Demand<'_>,
    ) -> Result<(), ControllerError> {
        let holder = self.holder;
        let grant = self.grant().await?;
        let description = match (demand, holder) {
            (Demand::Registered(_), TokenHolder::Service(_)) => {
                marked_unused(&self.marks(cluster), self.tokens.clock.now())
            }
            _ => self.marks(cluster),
        };
        let new = NewToken { pair: pair.clone(), description, grant, tenancy: holder.tenancy().clone() };
        match self.tokens.acl.create_token(&new).await {
            Ok(_) => {
                info!(action = "create_token", outcome = "done", holder = %holder, accessor_id = %pair.accessor, cluster_arn = %cluster);
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

    /// What marks the holder's token.
    fn marks(&self, cluster: &ClusterArn) -> String {
        let place = self.tokens.scope.names.place_of(self.holder);
        marked_for_secret(&self.holder.token_description(cluster), &place)
    }

    /// Updates a token that is where it should be. One that was made ahead loses its mark now that a task needs it: from then on
    /// it goes when its service is idle. If only another first start is ahead, it waits anew. One that is marked for a cluster
    /// which the controller does not look after is marked for one of its own. One whose policy was deleted gets its grant back.
    pub(super) async fn update_in_use(
        &self,
        secret: &StoredSecret,
        token: Option<Token>,
        demand: &Demand<'_>,
    ) -> Result<Progress, ControllerError> {
        let (scope, holder) = (&self.tokens.scope, self.holder);
        let Some(token) = token else { return Ok(Progress::Done(Effect::Unchanged)) };
        let description = match demand {
            Demand::Registered(_) => with_restarted_wait(&token.description, self.tokens.clock.now(), scope.unused_for)
                .unwrap_or_else(|| token.description.clone()),
            Demand::Events(_) | Demand::Listed(_) => marked_used(&token.description),
        };
        let is_marked = self.is_marked(&token);
        let is_ours = secret.is_ours || is_marked;
        if !is_ours {
            warn!(holder = %holder, "the secret holds a valid token that is not ours; left alone");
        }
        if !is_ours || is_marked && description == token.description && !token.grants_nothing() {
            self.cache(demand, secret);
            return Ok(Progress::Done(Effect::Unchanged));
        }
        // Only a change is worth the question whether an old event's task still lives.
        let Some(cluster) = self.tokens.cluster_of_demand(demand).await? else {
            info!(action = "provision", outcome = "skipped", holder = %holder, "the task is gone already");
            return Ok(Progress::Done(Effect::Unchanged));
        };
        let description = if is_marked { description } else { self.marks(&cluster) };
        let grant = if token.grants_nothing() { self.grant().await? } else { Grant::AsBefore(token.grants) };
        let updated = NewToken { pair: token.pair, description, grant, tenancy: holder.tenancy().clone() };
        match self.tokens.acl.update_token(&updated).await {
            Ok(()) => {
                info!(action = "update_token", outcome = "done", holder = %holder, accessor_id = %updated.pair.accessor);
                self.cache(demand, secret);
                Ok(Progress::Done(Effect::Done))
            }
            Err(ConsulError::NotFound { .. }) => Ok(Progress::Again),
            Err(error) => Err(error.into()),
        }
    }

    /// What the holder's token may do; the policy that it names is there.
    async fn grant(&self) -> Result<Grant, ControllerError> {
        Ok(match self.holder {
            TokenHolder::Service(service) => Grant::ServiceIdentity(service.name.clone()),
            TokenHolder::Client { tenancy } => {
                let policy = self.tokens.scope.names.client_policy();
                self.tokens.acl.create_policy(&policy::of_client_agents(tenancy, &policy)).await?;
                Grant::Policy(policy)
            }
        })
    }
}
