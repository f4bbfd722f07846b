//! Idle checks: whether a task uses a token a grace period after one stopped, or after the token was hidden.

use std::{collections::BTreeMap, sync::Arc};

use mesh::{
    idleness::{Idleness, ServiceTask, TaskListing, judge},
    token::TokenHolder,
};
use tracing::{info, warn};

use super::sorted::RequestedCheck;
use crate::{
    deadline::Deadline,
    error::ControllerError,
    outcome::concurrently,
    tasks::TaskReader,
    tokens::{Case, Demand, Tokens},
};

/// The error of each check that failed.
pub(super) type CheckFailures = BTreeMap<TokenHolder, Arc<ControllerError>>;

/// Checks whether tokens are idle.
pub(super) struct IdleChecks {
    pub(super) tasks: TaskReader,
    pub(super) tokens: Arc<Tokens>,
}

impl IdleChecks {
    /// Checks the tokens of holders: one listing of tasks serves all of them.
    pub(super) async fn run(
        &self,
        checks: &BTreeMap<TokenHolder, RequestedCheck>,
        deadline: Deadline,
    ) -> CheckFailures {
        if checks.is_empty() {
            return CheckFailures::new();
        }
        let listing = match deadline.run(self.tasks.list_all_tasks(deadline)).await {
            Ok(Some(listing)) => listing,
            Ok(None) => {
                warn!(
                    action = "revoke",
                    outcome = "kept",
                    "ECS lists no cluster of the deployment, which proves no service idle"
                );
                return CheckFailures::new();
            }
            Err(error) => {
                let error = Arc::new(error);
                return checks.keys().map(|holder| (holder.clone(), Arc::clone(&error))).collect();
            }
        };
        let checks = checks.iter().map(|(holder, request)| {
            let listing = &listing;
            async move {
                let checked = deadline.run(self.check(holder, request.hops, listing)).await;
                Some((holder.clone(), Arc::new(checked.err()?)))
            }
        });
        concurrently(checks).await.into_iter().flatten().collect()
    }

    async fn check(&self, holder: &TokenHolder, hops: u32, listing: &TaskListing) -> Result<(), ControllerError> {
        match judge(holder, listing, self.tasks.scope.rules(self.tasks.clock.now())) {
            Idleness::Living(task) => {
                info!(action = "revoke", outcome = "kept", holder = %holder, task_id = %task.id(), "a task uses the token");
                let requires = |listed: &&ServiceTask| listed.phase.is_living() && listed.required.contains(holder);
                let requiring = listing.tasks.iter().find(requires).map(|listed| &listed.arn);
                if let Some(cluster) = requiring.and_then(|task| self.tasks.scope.clusters.cluster_of(task)) {
                    self.tokens.reconcile(holder, Case::Needed(&Demand::Listed(&cluster)), None).await?;
                }
            }
            // The check for its own stop is still to come, or the sweep if the grace period is longer than a message
            // can be delayed.
            Idleness::RecentlyStopped(task) => {
                info!(action = "revoke", outcome = "kept", holder = %holder, task_id = %task.id(), "a task stopped within the grace period");
            }
            Idleness::Idle(idle) => drop(self.tokens.reconcile(holder, Case::Idle { idle: &idle, hops }, None).await?),
        }
        Ok(())
    }
}
