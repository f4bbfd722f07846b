//! The inventory of clusters that were read already: the auditor asks ECS only for what an inspection does not have.

use std::collections::BTreeSet;

use async_trait::async_trait;
use aws::ecs::{AwsEcs, Inventory, RunningService};
use observe::{EcsError, InspectedCluster};
use serde_json::Value;

pub(super) struct ReadInventory<'a> {
    pub(super) clusters: &'a [InspectedCluster],
    /// Keeps the definitions that it has read.
    pub(super) ecs: &'a AwsEcs,
}

impl ReadInventory<'_> {
    fn cluster(&self, arn: &str) -> impl Iterator<Item = &InspectedCluster> {
        self.clusters.iter().filter(move |cluster| cluster.arn.as_str() == arn)
    }
}

#[async_trait]
impl Inventory for ReadInventory<'_> {
    async fn clusters(&self) -> Result<Vec<String>, EcsError> {
        Ok(self.clusters.iter().map(|cluster| cluster.arn.to_string()).collect())
    }

    async fn services(
        &self,
        cluster: &str,
        names: &[String],
    ) -> Result<(Vec<RunningService>, Vec<EcsError>), EcsError> {
        let services = self.cluster(cluster).flat_map(InspectedCluster::audited_services);
        let wanted = services.filter(|service| names.is_empty() || names.contains(&service.name));
        Ok((wanted.cloned().collect(), Vec::new()))
    }

    async fn running_definitions(&self, cluster: &str) -> Result<BTreeSet<String>, EcsError> {
        let definitions = self.cluster(cluster).flat_map(InspectedCluster::running_definitions);
        Ok(definitions.map(ToString::to_string).collect())
    }

    async fn families(&self) -> Result<Vec<String>, EcsError> {
        self.ecs.families().await
    }

    async fn newest_revision(&self, family: &str) -> Result<Option<String>, EcsError> {
        self.ecs.newest_revision(family).await
    }

    async fn describe_definition(&self, name: &str) -> Result<Value, EcsError> {
        self.ecs.describe_definition(name).await
    }
}
