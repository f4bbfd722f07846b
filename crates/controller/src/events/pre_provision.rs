//! Pre-provisioning: creates the tokens of a mesh task definition when it is registered or a service uses it, before a
//! task starts.

use std::sync::Arc;

use aws::ecs::EcsError;
use mesh::{
    arn::{ClusterArn, TaskDefinitionArn},
    tags::Tags,
};
use tracing::{info, warn};

use crate::{
    deadline::Deadline,
    error::ControllerError,
    tasks::TaskReader,
    tokens::{Case, Demand, Tokens},
};

/// Creates tokens before the first start of a service.
pub(super) struct PreProvision {
    pub(super) tasks: TaskReader,
    pub(super) tokens: Arc<Tokens>,
}

impl PreProvision {
    /// Ensures the tokens of the holders that tasks of this definition would require.
    pub(super) async fn run(
        &self,
        definition: &TaskDefinitionArn,
        cluster: Option<&ClusterArn>,
        deadline: Deadline,
    ) -> Result<(), Arc<ControllerError>> {
        let scope = &self.tasks.scope;
        let Some(cluster) = self.cluster_for_marks(definition, cluster, deadline).await.map_err(Arc::new)? else {
            info!(
                task_definition = definition.as_str(),
                outcome = "ignored",
                "no cluster in ECS_CLUSTER_ARNS, or another one"
            );
            return Ok(());
        };
        let known = match deadline.run(self.tasks.ecs.task_definition(definition)).await {
            Ok(known) => known,
            // It was deleted since.
            Err(ControllerError::Ecs(EcsError::UnknownTaskDefinition(_))) => return Ok(()),
            Err(error) => return Err(Arc::new(error)),
        };
        // A service may give its tasks other tags, which are only in the tasks' events.
        let identity = match known.identify(&Tags::default(), scope.tenancy_of(&cluster), scope.tokens()) {
            Ok(identity) => identity,
            Err(reason) => {
                self.tasks.ecs.forget(definition);
                warn!(task_definition = definition.as_str(), field = reason.field(), %reason, outcome = "ignored",
                    "its tasks will not get a token");
                return Ok(());
            }
        };
        for holder in identity.iter().flat_map(|identity| scope.tokens().required(identity)) {
            let case = Case::Needed(&Demand::Registered(&cluster));
            deadline.run(self.tokens.reconcile(&holder, case, None)).await.map_err(Arc::new)?;
        }
        Ok(())
    }

    /// The cluster that the tokens are marked with: that of the service, or the first one of the deployment if there is
    /// no service yet.
    async fn cluster_for_marks(
        &self,
        definition: &TaskDefinitionArn,
        cluster: Option<&ClusterArn>,
        deadline: Deadline,
    ) -> Result<Option<ClusterArn>, ControllerError> {
        let selection = &self.tasks.scope.clusters;
        if let Some(cluster) = cluster {
            return Ok(selection.contains(cluster).then(|| cluster.clone()));
        }
        let first = match selection.named().next() {
            Some(named) => Some(named),
            None => deadline.run(self.tasks.clusters()).await?.into_iter().next(),
        };
        Ok(first.filter(|cluster| definition.is_beside(cluster)))
    }
}
