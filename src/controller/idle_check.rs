//! Looking at services that lost a task a grace period ago, or whose token was hidden: does any task of theirs live?

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};
use tracing::info;

use super::{CONCURRENCY, Controller, ControllerError, Deadline, demand::Demand, tokens::Case};
use mesh::{
    arn::{ClusterArn, TaskArn},
    identity::MeshService,
    idleness::{Idleness, TaskListing, judge},
    token::TokenHolder,
};

/// Why each look that failed did.
pub(super) type LookFailures = BTreeMap<MeshService, Arc<ControllerError>>;

impl Controller {
    /// Looks at services: one listing of tasks serves all of them.
    pub(super) async fn check_idleness(&self, services: Vec<MeshService>, deadline: Deadline) -> LookFailures {
        if services.is_empty() {
            return LookFailures::new();
        }
        let listing = match deadline.run(self.list_all_tasks(deadline)).await {
            Ok(listing) => listing,
            Err(error) => {
                let error = Arc::new(error);
                return services.into_iter().map(|service| (service, Arc::clone(&error))).collect();
            }
        };
        let looks = services.into_iter().map(|service| {
            let listing = &listing;
            async move {
                let looked = deadline.run(self.check_service(&service, listing)).await;
                Some((service, Arc::new(looked.err()?)))
            }
        });
        let looked: Vec<_> = stream::iter(looks).buffer_unordered(CONCURRENCY).collect().await;
        looked.into_iter().flatten().collect()
    }

    async fn check_service(&self, service: &MeshService, listing: &TaskListing) -> Result<(), ControllerError> {
        let holder = TokenHolder::Service(service.clone());
        match judge(service, listing, self.rules()) {
            Idleness::Living(task) => {
                info!(action = "revoke", outcome = "kept", service = %service.name, task_id = %task.id(), "the service has a task");
                if let Some(cluster) = self.cluster_of(&task) {
                    self.reconcile_token(&holder, Case::Needed(&Demand::Listed(cluster)), None).await?;
                }
            }
            // The look that its own stop asked for is still to come; where the grace period is longer than a message can be
            // delayed, the sweep.
            Idleness::RecentlyStopped(task) => {
                info!(action = "revoke", outcome = "kept", service = %service.name, task_id = %task.id(), "a task stopped a moment ago");
            }
            Idleness::Idle(idle) => drop(self.reconcile_token(&holder, Case::Idle(&idle), None).await?),
        }
        Ok(())
    }

    /// The configured cluster that a task is of.
    pub(super) fn cluster_of(&self, task: &TaskArn) -> Option<&ClusterArn> {
        self.scope.clusters.iter().find(|cluster| task.is_in(cluster))
    }
}
