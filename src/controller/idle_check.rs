//! Looking at services that lost a task a grace period ago: does any task of theirs live?

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};
use tracing::info;

use super::{CONCURRENCY, Controller, ControllerError, Deadline};
use mesh::{
    arn::{ClusterArn, TaskArn},
    identity::MeshService,
    idleness::{Idleness, ServiceTask, judge},
    plan::TokenMode,
    token::TokenHolder,
};

/// A look at a service.
pub(super) struct Look {
    pub(super) service: MeshService,
    /// Whether an earlier try has failed, or died.
    pub(super) is_repeated: bool,
}

/// Why each look that failed did.
pub(super) type LookFailures = BTreeMap<MeshService, Arc<ControllerError>>;

/// What a look came to.
enum Standing {
    /// The service keeps what it has.
    Kept,
    /// What it has may go.
    Idle,
}

impl Controller {
    /// Looks at services, and revokes the tokens of those that are idle. One listing of tasks serves all of them, and
    /// one more all revocations.
    pub(super) async fn check_idleness(&self, looks: Vec<Look>, deadline: Deadline) -> LookFailures {
        if looks.is_empty() {
            return LookFailures::new();
        }
        let (repeated, new): (Vec<Look>, Vec<Look>) = looks.into_iter().partition(|look| look.is_repeated);
        let mut repeated: Vec<MeshService> = repeated.into_iter().map(|look| look.service).collect();
        let new = new.into_iter().map(|look| look.service);
        let mut failures = self.look_at(repeated.iter().cloned().chain(new).collect(), deadline).await;
        repeated.retain(|service| !failures.contains_key(service));
        failures.extend(self.look_once_more(repeated, deadline).await);
        failures
    }

    /// What an earlier try wrote, if its answer was lost, may have come to this one's eyes too late: so another look
    /// follows, like each revocation.
    async fn look_once_more(&self, repeated: Vec<MeshService>, deadline: Deadline) -> LookFailures {
        if repeated.is_empty() {
            return LookFailures::new();
        }
        let asked = deadline.run(self.look_again(&repeated)).await.map_err(Arc::new).err();
        let failed = asked
            .into_iter()
            .flat_map(|error| repeated.iter().map(move |service| (service.clone(), Arc::clone(&error))));
        failed.collect()
    }

    async fn look_at(&self, services: Vec<MeshService>, deadline: Deadline) -> LookFailures {
        let tasks = match deadline.run(self.all_service_tasks(deadline)).await {
            Ok(tasks) => tasks,
            Err(error) => {
                let error = Arc::new(error);
                return services.into_iter().map(|service| (service, Arc::clone(&error))).collect();
            }
        };
        let looks = services.into_iter().map(|service| {
            let tasks = &tasks;
            async move { (service.clone(), deadline.run(self.look(&service, tasks)).await) }
        });
        let looked: Vec<_> = stream::iter(looks).buffer_unordered(CONCURRENCY).collect().await;
        let (mut failures, mut idle) = (LookFailures::new(), Vec::new());
        for (service, look) in looked {
            match look {
                Ok(Standing::Idle) => idle.push(service),
                Ok(Standing::Kept) => {}
                Err(error) => drop(failures.insert(service, Arc::new(error))),
            }
        }
        let revoked = self.revoke_all(idle, deadline).await;
        failures.extend(revoked.into_iter().filter_map(|(service, result)| Some((service, result.err()?))));
        failures
    }

    async fn look(&self, service: &MeshService, tasks: &[ServiceTask]) -> Result<Standing, ControllerError> {
        match judge(service, tasks, self.edges.clock.now(), self.scope.grace) {
            Idleness::Living(task) => {
                info!(action = "revoke", outcome = "kept", service = %service.name, task_id = %task.id(), "the service has a task");
                // A revocation may have died between its deletion and its verification.
                self.provision_for(service, &task).await?;
                Ok(Standing::Kept)
            }
            Idleness::RecentlyStopped(task) => {
                info!(action = "revoke", outcome = "kept", service = %service.name, task_id = %task.id(), "a task stopped a moment ago");
                Ok(Standing::Kept)
            }
            Idleness::Idle => Ok(Standing::Idle),
        }
    }

    /// Makes sure that a service with a living task has its token, in the mode that makes tokens.
    pub(super) async fn provision_for(&self, service: &MeshService, task: &TaskArn) -> Result<(), ControllerError> {
        match (self.scope.mode, self.cluster_of(task)) {
            (TokenMode::SecretsManager, Some(cluster)) => {
                self.provision_for_living(&TokenHolder::Service(service.clone()), cluster).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The configured cluster that a task is of.
    pub(super) fn cluster_of(&self, task: &TaskArn) -> Option<&ClusterArn> {
        self.scope.clusters.iter().find(|cluster| task.is_in(cluster))
    }
}
