//! Reconciles the token of one holder: reads its secret and Consul, takes the step that [`mesh::lifecycle::next_step`]
//! decides, and repeats until nothing is left to do. Used by events, idle checks, sweeps and the clean-up.

mod attempt;
mod steps;

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::AtomicUsize},
};

use mesh::{
    arn::ClusterArn,
    holder::TokenHolder,
    names::InvalidField,
    secret::{Retirement, StoredSecret},
    task::{MeshTask, TaskChange, TaskPhase},
    tenancy::Tenancy,
    token::ListedToken,
};
use observe::TimestampCache;
use report::{LogAction, LogLine, LogOutcome};
use tracing::info;

use self::attempt::Reconciliation;
pub(crate) use self::attempt::TokenUsage;
use crate::{bootstrap::client_agent_policy, context::Context, edges::Writes, error::ControllerError, outcome::Effect};

/// The tokens of services and client agents, in Consul and in Secrets Manager.
pub(crate) struct Tokens {
    context: Arc<Context>,
    writes: Writes,
    /// Until when a holder's token is valid without a read: see [`mesh::time::Bounds::cached_until`].
    cached_until: TimestampCache<TokenHolder>,
}

impl Tokens {
    pub(crate) fn new(context: &Arc<Context>, writes: &Writes) -> Self {
        Self { context: Arc::clone(context), writes: writes.clone(), cached_until: TimestampCache::default() }
    }

    /// Takes steps until nothing is left to do. `seen` is the secret, if it was read just before.
    ///
    /// # Errors
    /// A failed call, or [`observe::OutOfTime`] after the time bound of an attempt.
    pub(crate) async fn reconcile(
        &self,
        holder: &TokenHolder,
        usage: TokenUsage<'_>,
        seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        match attempt.bounded(attempt.run(&usage, seen)).await {
            Err(error) if self.is_out_of_reach(&error) => {
                LogLine {
                    holder: Some(holder.to_string()),
                    reason: Some(error.to_string()),
                    ..LogLine::of(LogAction::Revoke, LogOutcome::Skipped)
                }
                .debug();
                Ok(Effect::Unchanged)
            }
            done => done,
        }
    }

    /// Whether a read failed because the role may not read the secret: see [`observe::Observer::is_out_of_reach`].
    pub(crate) fn is_out_of_reach(&self, error: &ControllerError) -> bool {
        matches!(error, ControllerError::Call(error) if self.context.observer.is_out_of_reach(error))
    }

    /// Whether [`Self::reconcile`] would write something now. `seen` is the secret, if it was read just before.
    ///
    /// # Errors
    /// A failed read.
    pub(crate) async fn would_change(
        &self,
        holder: &TokenHolder,
        usage: TokenUsage<'_>,
        seen: Option<StoredSecret>,
    ) -> Result<Effect, ControllerError> {
        let attempt = self.attempt(holder)?;
        attempt.bounded(attempt.would_change(&usage, seen)).await
    }

    /// Deletes an orphan, unless its secret, which is read again, contains it by now.
    ///
    /// # Errors
    /// A failed call, or [`observe::OutOfTime`] after the time bound of an attempt.
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

    /// An attempt at the holder's token.
    ///
    /// # Errors
    /// The name of its secret is refused: see [`observe::Observer::secret_name`].
    fn attempt<'a>(&'a self, holder: &'a TokenHolder) -> Result<Reconciliation<'a>, InvalidField> {
        let name = self.context.observer.secret_name(holder)?;
        Ok(Reconciliation { tokens: self, holder, name, conflicts: AtomicUsize::new(0) })
    }

    /// The holders of active ones of these tasks whose tokens are cached as valid.
    pub(crate) fn cached_holders(&self, tasks: &[MeshTask]) -> BTreeSet<TokenHolder> {
        let active = tasks.iter().filter(|task| task.phase == TaskPhase::Active);
        let identities = active.filter_map(|task| task.identity.as_ref());
        let holders = identities.flat_map(|identity| self.context.scope.tokens().required(identity));
        holders.filter(|holder| self.is_cached(holder)).collect()
    }

    /// Removes the client agents' policy of a partition, if no token has it.
    pub(crate) async fn remove_client_policy(&self, partition: &Tenancy) -> Result<(), ControllerError> {
        let name = self.context.scope.names.client_policy();
        // Tokens of all owners: an operator may have created one with this policy.
        let has_it = |token: &ListedToken| token.grants.policies.contains(&name);
        let using = self.context.observer.consul.tokens(partition, &has_it).await?.unwrap_or_default();
        if using.is_empty() && self.writes.consul.delete_policy(&client_agent_policy(partition, &name)).await? {
            info!(action = "delete_policy", outcome = self.context.scope.mode.done(), policy = name);
        }
        Ok(())
    }

    /// Whether the holder's token is cached as valid.
    fn is_cached(&self, holder: &TokenHolder) -> bool {
        self.cached_until.get(holder).is_some_and(|until| self.context.now() < until)
    }

    /// The cluster of a task that requires the token; `None` if none does any more.
    async fn cluster_of_need(&self, needed_by: &NeededBy<'_>) -> Result<Option<ClusterArn>, ControllerError> {
        match needed_by {
            NeededBy::Listed(clusters) => Ok(clusters.first().cloned()),
            NeededBy::Registered(cluster) => Ok(Some((*cluster).clone())),
            NeededBy::Events(changes) => Ok(self.context.observer.cluster_of_active_task(changes).await?),
        }
    }
}

/// Why a token is needed.
pub(crate) enum NeededBy<'a> {
    /// An ECS listing contains active tasks in these clusters.
    Listed(&'a BTreeSet<ClusterArn>),
    /// Events of active tasks, which may be stale.
    Events(&'a [&'a TaskChange]),
    /// A task definition was registered: a task may start in this cluster.
    Registered(&'a ClusterArn),
}

impl NeededBy<'_> {
    /// The clusters whose tasks use the token.
    fn clusters(&self) -> BTreeSet<&ClusterArn> {
        match self {
            NeededBy::Listed(clusters) => clusters.iter().collect(),
            NeededBy::Events(changes) => changes.iter().map(|change| &change.cluster).collect(),
            NeededBy::Registered(_) => BTreeSet::new(),
        }
    }
}
