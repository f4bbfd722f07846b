//! Pre-provisioning: a task definition of the mesh was registered, or a service uses one now. Its tokens are
//! made before any task can ask for them.

use std::sync::Arc;

use aws::ecs::EcsError;
use mesh::{
    arn::{ClusterArn, TaskDefinitionArn},
    plan::holders_for,
    tags::Tags,
};
use tracing::{info, warn};

use crate::{
    deadline::Deadline,
    error::ControllerError,
    tasks::TaskReader,
    tokens::{Case, Demand, Tokens},
};

/// Makes tokens ahead of a service's first start.
pub(super) struct PreProvision {
    pub(super) tasks: TaskReader,
    pub(super) tokens: Arc<Tokens>,
}

impl PreProvision {
    /// Gives the holders that tasks of this definition would need their tokens.
    pub(super) async fn run(
        &self,
        definition: &TaskDefinitionArn,
        cluster: Option<&ClusterArn>,
        deadline: Deadline,
    ) -> Result<(), Arc<ControllerError>> {
        let Some(cluster) = self.cluster_for_marks(definition, cluster) else {
            info!(task_definition = definition.as_str(), outcome = "ignored", "not in a cluster in ECS_CLUSTER_ARNS");
            return Ok(());
        };
        let known = match deadline.run(self.tasks.ecs.task_definition(definition)).await {
            Ok(known) => known,
            // It was deleted again.
            Err(ControllerError::Ecs(EcsError::UnknownTaskDefinition(_))) => return Ok(()),
            Err(error) => return Err(Arc::new(error)),
        };
        // A service may give its tasks other tags; only the tasks' events show those.
        let identity = match known.identify(&Tags::default(), self.tasks.scope.tenancy_of(cluster)) {
            Ok(identity) => identity,
            Err(reason) => {
                self.tasks.ecs.forget(definition);
                warn!(task_definition = definition.as_str(), field = reason.field(), %reason, outcome = "ignored",
                    "its tasks will not get a token");
                return Ok(());
            }
        };
        for holder in holders_for(identity.as_ref(), self.tasks.scope.mode) {
            let case = Case::Needed(&Demand::Registered(cluster));
            deadline.run(self.tokens.reconcile(&holder, case, None)).await.map_err(Arc::new)?;
        }
        Ok(())
    }

    /// The cluster that the tokens are marked with: the service's, or the first where nobody knows yet.
    fn cluster_for_marks<'a>(
        &'a self,
        definition: &TaskDefinitionArn,
        cluster: Option<&'a ClusterArn>,
    ) -> Option<&'a ClusterArn> {
        match cluster {
            Some(cluster) => self.tasks.scope.clusters.iter().find(|known| *known == cluster),
            None => self.tasks.scope.clusters.first().filter(|home| definition.is_beside(home)),
        }
    }
}
