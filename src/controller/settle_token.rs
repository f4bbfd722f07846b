//! Tokens in Consul: created as the secret decides, and mended where they stand.

use tracing::info;

use super::{Controller, ControllerError, apply::Effect, need::Need, provision::Look};
use crate::consul::ConsulError;
use mesh::{
    arn::ClusterArn,
    mark::{marked_unused, marked_used, waiting_anew},
    token::{Grant, NewToken, Token, TokenHolder, TokenPair},
};

/// What Consul holds under a pair's accessor ID, once it was asked to create the pair.
pub(super) enum InConsul {
    /// That pair.
    This(Effect),
    /// Another one.
    Another,
}

impl Controller {
    /// Creates the pair that the secret decides on.
    pub(super) async fn create(
        &self,
        holder: &TokenHolder,
        cluster: &ClusterArn,
        pair: &TokenPair,
        need: &Need<'_>,
    ) -> Result<InConsul, ControllerError> {
        let accessor = pair.accessor;
        let consul = &self.edges.consul;
        let grant = self.grant_for(holder).await?;
        let mut description = holder.token_description(cluster);
        if let (Need::Ahead(_), TokenHolder::Service(_)) = (need, holder) {
            description = marked_unused(&description, self.edges.clock.now());
        }
        let new = NewToken { pair: pair.clone(), description, grant, tenancy: holder.tenancy().clone() };
        match consul.create_token(&new).await {
            Ok(_) => {
                info!(action = "create_token", outcome = "done", holder = %holder, accessor_id = %accessor, cluster_arn = %cluster);
                Ok(InConsul::This(Effect::Done))
            }
            // Another environment was faster with the same pair. Or the secret was emptied by hand, and Consul still has
            // the pair that it held: then the next look restores that.
            Err(conflict @ ConsulError::Conflict { .. }) => match consul.token(holder.tenancy(), accessor).await? {
                Some(token) if token.pair.is_same_as(&new.pair) => Ok(InConsul::This(Effect::Unchanged)),
                Some(_) => Ok(InConsul::Another),
                None => Err(conflict.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Mends a token that is in its place. One that was made ahead loses its mark now that a task needs it: from then on
    /// it goes when its service is idle. If only another first start is ahead, it waits anew. And one whose policy somebody
    /// has deleted gets its grant back.
    pub(super) async fn put_in_order(
        &self,
        holder: &TokenHolder,
        token: Token,
        need: &Need<'_>,
    ) -> Result<Look, ControllerError> {
        let used = marked_used(&token.description);
        let description = match need {
            Need::Ahead(_) => waiting_anew(&token.description, self.edges.clock.now(), self.scope.unused_for)
                .unwrap_or_else(|| token.description.clone()),
            // Only a mark is worth the question whether an old event's task still lives.
            Need::Claimed(_) if used != token.description && self.cluster_of_need(need).await?.is_none() => {
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
            Err(ConsulError::NotFound { .. }) => Ok(Look::Again),
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
}
