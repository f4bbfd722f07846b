//! Reconciles the token of one holder: reads its secret and Consul, takes the step that [`mesh::lifecycle::next_step`]
//! decides, and repeats until nothing is left to do. Used by events, idle checks, sweeps and the clean-up.

mod attempt;
mod steps;

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::AtomicUsize},
};

use aws::{
    queue::MessageSender,
    secrets::{SecretStore, SecretsError},
};
use consul::Acl;
use mesh::{
    arn::ClusterArn,
    names::InvalidField,
    secret::{Retirement, StoredSecret},
    secret_name,
    settings::{PlanSettings, TokenMode},
    task::TaskChange,
    token::{ListedToken, TokenHolder},
};
use report::{LogAction, LogLine, LogOutcome};

use self::attempt::Reconciliation;
pub(crate) use self::attempt::{TokenUsage, used_outside};
use crate::{
    announcement::Announcer,
    clock::{Clock, TimestampCache},
    edges::Entropy,
    error::{ControllerError, Effect},
    scope::Scope,
    tasks::TaskReader,
};

/// The tokens of services and client agents, in Consul and in Secrets Manager.
pub(crate) struct Tokens {
    pub(crate) scope: Arc<Scope>,
    pub(crate) acl: Arc<dyn Acl>,
    pub(crate) secrets: Arc<dyn SecretStore>,
    pub(crate) queue: Arc<dyn MessageSender>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) tasks: TaskReader,
    /// Until when a holder's token is valid without a read: see [`mesh::time::Bounds::cached_until`].
    pub(crate) cached_until: TimestampCache<TokenHolder>,
    pub(crate) announcer: Arc<Announcer>,
}

impl Tokens {
    /// Takes steps until nothing is left to do. `seen` is the secret, if it was read just before.
    ///
    /// # Errors
    /// A failed call, or [`ControllerError::OutOfTime`] after the time bound of an attempt.
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

    /// Whether the secret does not exist or has another creator: with [`TokenMode::AuthMethod`], the role may only read
    /// secrets with the controller's tag.
    pub(crate) fn is_out_of_reach(&self, error: &ControllerError) -> bool {
        let is_denied = matches!(error, ControllerError::Secrets(SecretsError::Denied { .. }));
        is_denied && self.scope.token_mode == TokenMode::AuthMethod
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
    /// A failed call, or [`ControllerError::OutOfTime`] after the time bound of an attempt.
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

    pub(crate) async fn read_secret(&self, holder: &TokenHolder) -> Result<StoredSecret, ControllerError> {
        Ok(self.attempt(holder)?.read().await?)
    }

    /// An attempt at the holder's token.
    ///
    /// # Errors
    /// A secret of another kind has this name; or a service whose secret has the name of the client token's.
    fn attempt<'a>(&'a self, holder: &'a TokenHolder) -> Result<Reconciliation<'a>, InvalidField> {
        let name = self.scope.names.of(holder);
        secret_name::check_reserved(&name, &self.scope.names.start())?;
        match holder.service() {
            Some(service) if self.scope.names.is_reserved(holder) => Err(InvalidField::new(
                "service name",
                service.name.as_str(),
                "a name whose secret is not the client token's; rename the service",
            )),
            _ => Ok(Reconciliation { tokens: self, holder, name, conflicts: AtomicUsize::new(0) }),
        }
    }

    /// Whether the holder's token is cached as valid.
    pub(crate) fn is_cached(&self, holder: &TokenHolder) -> bool {
        self.cached_until.get(holder).is_some_and(|until| self.clock.now() < until)
    }

    /// The cluster of a task that requires the token; `None` if none does any more.
    async fn cluster_of_need(&self, needed_by: &NeededBy<'_>) -> Result<Option<ClusterArn>, ControllerError> {
        match needed_by {
            NeededBy::Listed(clusters) => Ok(clusters.first().cloned()),
            NeededBy::Registered(cluster) => Ok(Some((*cluster).clone())),
            NeededBy::Events(changes) => self.tasks.cluster_of_active_task(changes).await,
        }
    }

    fn plan_settings(&self) -> PlanSettings<'_> {
        self.scope.plan_settings(self.clock.now())
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
