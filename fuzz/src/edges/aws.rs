//! ECS, EventBridge, Secrets Manager and SQS of the fake world.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use aws::ecs::{ClusterStatus, Clusters, EcsError, EcsService, EcsServices, TaskDefinitions, TaskList, Tasks};
use aws::events::{EventPublisher, EventsError, OwnEvent};
use aws::iam::{IamError, IamRoles};
use aws::queue::{MessageSender, MessageVisibility, QueueError};
use aws::secrets::{OwnSecret, OwnSecrets, SecretStore, SecretsError};
use mesh::{
    admission::{IamRole, RoleArn},
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    consul_ecs::{MESH_TAG, Programs},
    definition::{Tags, TaskDefinition},
    secret::{SecretState, StoredSecret},
    task::{DescribedTask, Placement, TaskPhase},
};

use super::{CLUSTER, RUNNING, STOPPED, World, is_ours, task};

#[async_trait]
impl TaskDefinitions for World {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        Ok(Arc::new(TaskDefinition {
            task_role: None,
            arn: arn.clone(),
            tags: Tags::from_iter([(MESH_TAG, "true")]),
            config_json: None,
            containers: Vec::new(),
            programs: Programs::default(),
            secrets: Vec::new(),
        }))
    }

    async fn active_definitions(&self) -> Result<Vec<TaskDefinitionArn>, EcsError> {
        Ok(Vec::new())
    }

    fn forget(&self, _: &TaskDefinitionArn) {}
}

#[async_trait]
impl Clusters for World {
    async fn list_clusters(&self) -> Result<Vec<ClusterArn>, EcsError> {
        Ok(vec![CLUSTER.parse().expect("an ARN")])
    }

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        clusters.iter().for_each(is_ours);
        Ok(clusters.iter().map(|cluster| (cluster.clone(), ClusterStatus::Active { tasks: 1 })).collect())
    }
}

#[async_trait]
impl Tasks for World {
    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        is_ours(cluster);
        Ok(TaskList { running: vec![task(RUNNING)], stopped: vec![task(STOPPED)] })
    }

    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        is_ours(cluster);
        let described = |id: &str, phase| DescribedTask {
            is_counted: true,
            arn: task(id),
            definition: "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7".parse().expect("an ARN"),
            phase,
            tags: Tags::default(),
            stopped_at: None,
            containers: Vec::new(),
            placement: Placement::default(),
        };
        let all = [described(RUNNING, TaskPhase::Active), described(STOPPED, TaskPhase::Stopped)];
        Ok(all.into_iter().filter(|task| tasks.contains(&task.arn)).collect())
    }
}

#[async_trait]
impl EcsServices for World {
    async fn services(&self, cluster: &ClusterArn, _: &[String]) -> Result<Vec<EcsService>, EcsError> {
        is_ours(cluster);
        Ok(Vec::new())
    }
}

#[async_trait]
impl EventPublisher for World {
    async fn publish(&self, events: &[OwnEvent]) -> Result<(), EventsError> {
        panic!("{events:?}: none of the tasks runs mesh-init");
    }
}

#[async_trait]
impl SecretStore for World {
    async fn read(&self, name: &str) -> Result<StoredSecret, SecretsError> {
        let held = self.secrets.lock().expect("one thread").get(name).cloned();
        let state = held.unwrap_or(SecretState::Missing);
        Ok(StoredSecret { state, is_ours: true, version: None, written_at: None })
    }

    async fn write(&self, name: &str, _: &StoredSecret, state: &SecretState) -> Result<String, SecretsError> {
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        assert!(name.starts_with("consul-ecs-") && name.bytes().all(legal), "not a secret of ours: {name:?}");
        self.secrets.lock().expect("one thread").insert(name.to_owned(), state.clone());
        Ok("a version".to_owned())
    }
}

#[async_trait]
impl OwnSecrets for World {
    async fn own_secrets(&self, _: &str) -> Result<Vec<OwnSecret>, SecretsError> {
        Ok(Vec::new())
    }

    async fn schedule_deletion(&self, name: &str) -> Result<(), SecretsError> {
        panic!("{name} is not unused")
    }

    async fn confirm_deletion(&self, name: &str, _: &str) -> Result<bool, SecretsError> {
        panic!("{name} was not deleted")
    }
}

#[async_trait]
impl MessageSender for World {
    async fn send_later(&self, _: &[String], _: Duration) -> Result<(), QueueError> {
        Ok(())
    }
}

#[async_trait]
impl MessageVisibility for World {
    async fn return_after(&self, _: &[(String, Duration)]) -> Result<(), QueueError> {
        Ok(())
    }
}

#[async_trait]
impl IamRoles for World {
    async fn role(&self, _: &RoleArn) -> Result<Option<IamRole>, IamError> {
        Ok(None)
    }
}
