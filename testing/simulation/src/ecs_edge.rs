//! Simulated ECS, as one environment reaches it.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use aws::ecs::{ClusterStatus, Clusters, EcsError, EcsService, EcsServices, TaskDefinitions, TaskList, Tasks};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    definition::TaskDefinition,
    task::DescribedTask,
};

use super::{
    calls::{Connection, Fault, Service},
    world::World,
};

/// ECS's edge.
pub(crate) struct EcsEdge {
    pub(crate) connection: Connection,
    /// The cache of task definitions, as in the production client.
    pub(crate) definitions: std::sync::Mutex<BTreeMap<TaskDefinitionArn, Arc<TaskDefinition>>>,
}

pub(crate) fn failed(subject: &str) -> impl Fn(Fault) -> EcsError + Send + 'static {
    let subject = subject.to_owned();
    move |fault| {
        let (subject, reason) = (subject.clone(), format!("{fault:?}"));
        match fault {
            Fault::Credential => EcsError::Refused { subject, reason },
            Fault::Throttled | Fault::Unavailable | Fault::NoAnswer => EcsError::Failed { subject, reason },
        }
    }
}

#[async_trait]
impl TaskDefinitions for EcsEdge {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        if let Some(known) = self.definitions.lock().unwrap().get(arn) {
            return Ok(Arc::clone(known));
        }
        let asked = arn.clone();
        let label = || format!("DescribeTaskDefinition {}", arn.family());
        let effect = move |world: &mut World| {
            let mut known = world.definition(&asked);
            known.iter_mut().for_each(&world.ecs.rewrites.definition);
            known.map(Arc::new).ok_or_else(|| EcsError::UnknownTaskDefinition(asked.clone()))
        };
        let known = self.connection.call(Service::Ecs, label, effect, failed("task definition")).await?;
        self.definitions.lock().unwrap().insert(arn.clone(), Arc::clone(&known));
        Ok(known)
    }

    fn forget(&self, arn: &TaskDefinitionArn) {
        self.definitions.lock().unwrap().remove(arn);
    }
}

#[async_trait]
impl Clusters for EcsEdge {
    async fn list_clusters(&self) -> Result<Vec<ClusterArn>, EcsError> {
        let effect = |world: &mut World| Ok(world.listed_clusters());
        self.connection.call(Service::Ecs, || "ListClusters".to_owned(), effect, failed("clusters")).await
    }

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        let asked = clusters.to_vec();
        let effect = move |world: &mut World| {
            let mut status = |cluster: &ClusterArn| match world.clusters.contains(cluster) {
                true if world.is_seen_deleted(cluster) => ClusterStatus::Deleted,
                true => ClusterStatus::Active { tasks: world.counted(cluster) },
                false => world.status_of_neighbour(cluster).unwrap_or(ClusterStatus::Unknown),
            };
            Ok(asked.iter().map(|cluster| (cluster.clone(), status(cluster))).collect())
        };
        let (connection, label) = (&self.connection, || "DescribeClusters".to_owned());
        let statuses: BTreeMap<ClusterArn, ClusterStatus> =
            connection.call(Service::Ecs, label, effect, failed("clusters")).await?;
        // A deleted cluster has no tasks, which is known without a listing.
        let mut world = connection.shared.world.lock().unwrap();
        for (cluster, _) in statuses.iter().filter(|(_, status)| **status == ClusterStatus::Deleted) {
            world.was_read(connection.environment, cluster, true);
        }
        drop(world);
        Ok(statuses)
    }
}

#[async_trait]
impl Tasks for EcsEdge {
    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        // The two listings are consecutive: the second is at least as recent as the first.
        let asked = cluster.clone();
        let (connection, environment) = (&self.connection, self.connection.environment);
        let effect = move |world: &mut World| {
            world.check_exists(&asked)?;
            Ok(world.list(&asked, true, &BTreeMap::new()))
        };
        let label = || format!("ListTasks {} RUNNING", cluster.name());
        let listed = connection.call(Service::Ecs, label, effect, failed("tasks")).await;
        let listed = match listed {
            Ok((running, seen)) => {
                let asked = cluster.clone();
                let effect = move |world: &mut World| {
                    world.check_exists(&asked)?;
                    Ok(world.list(&asked, false, &seen).0)
                };
                let label = || format!("ListTasks {} STOPPED", cluster.name());
                let stopped = connection.call(Service::Ecs, label, effect, failed("tasks")).await;
                stopped.map(|stopped| TaskList { running, stopped })
            }
            Err(error) => Err(error),
        };
        connection.shared.world.lock().unwrap().was_read(environment, cluster, listed.is_ok());
        listed
    }

    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        let (of, asked) = (cluster.clone(), tasks.to_vec());
        let effect = move |world: &mut World| {
            world.check_exists(&of)?;
            let mut described = world.describe(&asked);
            described.iter_mut().for_each(&world.ecs.rewrites.task);
            Ok(described)
        };
        let label = || format!("DescribeTasks {} of {}", tasks.len(), cluster.name());
        let described = self.connection.call(Service::Ecs, label, effect, failed("tasks")).await?;
        let mut world = self.connection.shared.world.lock().unwrap();
        world.were_described(self.connection.environment, &described);
        Ok(described)
    }
}

#[async_trait]
impl EcsServices for EcsEdge {
    /// No task belongs to an ECS service.
    async fn services(&self, _: &ClusterArn, _: &[String]) -> Result<Vec<EcsService>, EcsError> {
        Ok(Vec::new())
    }
}
