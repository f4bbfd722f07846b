//! Container instances: their tasks, and the EC2 instances behind them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use mesh::{
    arn::{ClusterArn, ContainerInstanceArn, TaskArn},
    host::{Ec2InstanceId, LostHost},
};
use serde_json::Value;

use super::{AwsEcs, DESCRIBE_LIMIT, EcsError, only_missing};

/// The `detail-type` of container instance state change events.
pub const HOST_DETAIL_TYPE: &str = "ECS Container Instance State Change";

/// Parses the `detail` of an event. `None` unless it says that the agent on an EC2 instance has lost contact with ECS. Other
/// fields decide nothing.
///
/// Source: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_container_instance_events.html>
pub fn parse_lost_host(detail: &Value) -> Option<LostHost> {
    let text = |field: &str| detail.get(field)?.as_str();
    (detail.get("agentConnected") == Some(&Value::Bool(false))).then_some(())?;
    Some(LostHost {
        cluster: text("clusterArn")?.parse().ok()?,
        container_instance: text("containerInstanceArn")?.parse().ok()?,
        ec2_instance: text("ec2InstanceId")?.parse().ok()?,
    })
}

/// Reads container instances.
#[async_trait]
pub trait ContainerInstances: Send + Sync {
    /// The tasks on a container instance that are meant to run.
    async fn tasks_on(&self, cluster: &ClusterArn, host: &ContainerInstanceArn) -> Result<Vec<TaskArn>, EcsError>;

    /// The EC2 instances behind container instances. Without container instances that ECS does not know, and without external
    /// ones.
    async fn ec2_instances(
        &self,
        cluster: &ClusterArn,
        hosts: &[ContainerInstanceArn],
    ) -> Result<BTreeMap<ContainerInstanceArn, Ec2InstanceId>, EcsError>;
}

#[async_trait]
impl ContainerInstances for AwsEcs {
    async fn tasks_on(&self, cluster: &ClusterArn, host: &ContainerInstanceArn) -> Result<Vec<TaskArn>, EcsError> {
        let subject = format!("tasks on container instance {host}");
        let call = self.client.list_tasks().cluster(cluster.as_str()).container_instance(host.as_str());
        self.listed(cluster, &subject, call.into_paginator().send()).await
    }

    async fn ec2_instances(
        &self,
        cluster: &ClusterArn,
        hosts: &[ContainerInstanceArn],
    ) -> Result<BTreeMap<ContainerInstanceArn, Ec2InstanceId>, EcsError> {
        let subject = format!("{} container instances of cluster {cluster}", hosts.len());
        let mut found = BTreeMap::new();
        for chunk in hosts.chunks(DESCRIBE_LIMIT) {
            let arns = chunk.iter().map(|host| host.as_str().to_owned()).collect();
            let call = self.client.describe_container_instances().cluster(cluster.as_str());
            let answer = call.set_container_instances(Some(arns)).send().await;
            let answer = answer.map_err(|e| EcsError::on_cluster(cluster, &subject, &e))?;
            only_missing(answer.failures()).map_err(|reason| EcsError::Failed { subject: subject.clone(), reason })?;
            found.extend(answer.container_instances().iter().filter_map(|host| {
                let arn = host.container_instance_arn()?.parse().ok()?;
                Some((arn, host.ec2_instance_id()?.parse().ok()?))
            }));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event() -> Value {
        serde_json::from_str(include_str!("../../../../events/host-disconnected.json")).unwrap()
    }

    #[test]
    fn event_names_the_host() {
        let host = parse_lost_host(&event()["detail"]).unwrap();
        assert_eq!((host.cluster.name(), host.ec2_instance.as_str()), ("prod", "i-0f3a8506bc4d5e6f7"));
    }

    #[test]
    fn event_without_a_field_that_is_read_or_with_another_value_is_no_lost_host() {
        for field in ["agentConnected", "clusterArn", "containerInstanceArn", "ec2InstanceId"] {
            for value in
                [None, Some(Value::Null), Some(json!(true)), Some(json!("mi-0123456789abcdef0")), Some(json!([]))]
            {
                let mut detail = event()["detail"].clone();
                match value {
                    Some(value) => detail[field] = value,
                    None => drop(detail.as_object_mut().unwrap().remove(field)),
                }
                assert_eq!(parse_lost_host(&detail), None, "{detail}");
            }
        }
    }

    #[test]
    fn other_fields_decide_nothing() {
        let event = event();
        for field in event["detail"].as_object().unwrap().keys() {
            let is_read =
                ["agentConnected", "clusterArn", "containerInstanceArn", "ec2InstanceId"].contains(&field.as_str());
            let mut detail = event["detail"].clone();
            detail[field] = json!([{ "of": "next year" }]);
            assert_eq!(parse_lost_host(&detail).is_some(), !is_read, "{field}");
        }
    }
}
