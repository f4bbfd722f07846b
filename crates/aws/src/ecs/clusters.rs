//! Clusters.

use std::collections::BTreeMap;

use async_trait::async_trait;
use mesh::arn::ClusterArn;

use super::{
    client::{AwsEcs, DESCRIBE_LIMIT},
    error::EcsError,
};

/// Whether a cluster exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterStatus {
    /// It exists.
    Active {
        /// The number of its running and pending tasks.
        tasks: usize,
    },
    /// It was deleted.
    Deleted,
    /// ECS does not know it: it never existed, or was deleted long ago.
    Unknown,
}

/// Reads clusters.
#[async_trait]
pub trait Clusters: Send + Sync {
    /// The clusters of the account and region.
    async fn list_clusters(&self) -> Result<Vec<ClusterArn>, EcsError>;

    /// The statuses of `clusters`.
    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError>;
}

#[async_trait]
impl Clusters for AwsEcs {
    async fn list_clusters(&self) -> Result<Vec<ClusterArn>, EcsError> {
        let subject = || "the account's clusters".to_owned();
        let pages = self.client.list_clusters().into_paginator().items().send();
        let arns: Vec<String> = pages.try_collect().await.map_err(|e| EcsError::failed(subject(), &e))?;
        let malformed = |source| EcsError::Malformed { subject: subject(), source };
        arns.iter().map(|arn| arn.parse().map_err(malformed)).collect()
    }

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        let subject = || format!("{} clusters", clusters.len());
        let mut statuses = BTreeMap::new();
        for chunk in clusters.chunks(DESCRIBE_LIMIT) {
            let names = chunk.iter().map(|cluster| cluster.as_str().to_owned()).collect();
            let call = self.client.describe_clusters().set_clusters(Some(names));
            let answer = call.send().await.map_err(|e| EcsError::failed(subject(), &e))?;
            if let Some(failure) = answer.failures().iter().find(|failure| failure.reason() != Some("MISSING")) {
                let reason = failure.reason().unwrap_or("no reason given").to_owned();
                return Err(EcsError::Failed { subject: subject(), reason });
            }
            for cluster in chunk {
                let described = answer.clusters().iter().find(|known| known.cluster_arn() == Some(cluster.as_str()));
                let status = match described.and_then(|described| Some((described, described.status()?))) {
                    Some((_, "INACTIVE")) => ClusterStatus::Deleted,
                    // PROVISIONING, DEPROVISIONING and FAILED are statuses of capacity providers.
                    Some((described, _)) => {
                        let tasks = described.running_tasks_count() + described.pending_tasks_count();
                        ClusterStatus::Active { tasks: tasks.try_into().unwrap_or_default() }
                    }
                    None => ClusterStatus::Unknown,
                };
                statuses.insert(cluster.clone(), status);
            }
        }
        Ok(statuses)
    }
}
