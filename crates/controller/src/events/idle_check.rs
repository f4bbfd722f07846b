//! Idle checks: whether a service has a running task a grace period after one stopped, or after its token was hidden.

use std::{collections::BTreeMap, sync::Arc};

use mesh::{
    identity::MeshService,
    idleness::{Idleness, TaskListing, judge},
    token::TokenHolder,
};
use tracing::info;

use crate::{
    deadline::Deadline,
    error::ControllerError,
    outcome::concurrently,
    tasks::TaskReader,
    tokens::{Case, Demand, Tokens},
};

/// The error of each check that failed.
pub(super) type CheckFailures = BTreeMap<MeshService, Arc<ControllerError>>;

/// Checks whether services are idle.
pub(super) struct IdleChecks {
    pub(super) tasks: TaskReader,
    pub(super) tokens: Arc<Tokens>,
}

impl IdleChecks {
    /// Checks services: one listing of tasks serves all of them.
    pub(super) async fn run(&self, services: Vec<MeshService>, deadline: Deadline) -> CheckFailures {
        if services.is_empty() {
            return CheckFailures::new();
        }
        let listing = match deadline.run(self.tasks.list_all_tasks(deadline)).await {
            Ok(listing) => listing,
            Err(error) => {
                let error = Arc::new(error);
                return services.into_iter().map(|service| (service, Arc::clone(&error))).collect();
            }
        };
        let checks = services.into_iter().map(|service| {
            let listing = &listing;
            async move {
                let checked = deadline.run(self.check_service(&service, listing)).await;
                Some((service, Arc::new(checked.err()?)))
            }
        });
        concurrently(checks).await.into_iter().flatten().collect()
    }

    async fn check_service(&self, service: &MeshService, listing: &TaskListing) -> Result<(), ControllerError> {
        let holder = TokenHolder::Service(service.clone());
        match judge(service, listing, self.tasks.scope.rules(self.tasks.clock.now())) {
            Idleness::Living(task) => {
                info!(action = "revoke", outcome = "kept", service = %service.name, task_id = %task.id(), "the service has a task");
                if let Some(cluster) = self.tasks.scope.cluster_of(&task) {
                    self.tokens.reconcile(&holder, Case::Needed(&Demand::Listed(cluster)), None).await?;
                }
            }
            // The check for its own stop is still to come, or the sweep if the grace period is longer than a message
            // can be delayed.
            Idleness::RecentlyStopped(task) => {
                info!(action = "revoke", outcome = "kept", service = %service.name, task_id = %task.id(), "a task stopped within the grace period");
            }
            Idleness::Idle(idle) => drop(self.tokens.reconcile(&holder, Case::Idle(&idle), None).await?),
        }
        Ok(())
    }
}
