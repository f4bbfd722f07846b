//! ECS services.

use async_trait::async_trait;
use aws_sdk_ecs::types::ServiceField;
use mesh::{arn::ClusterArn, tags::Tags};

use super::{
    client::{AwsEcs, tags},
    error::EcsError,
};

/// The most services in one `DescribeServices`.
const DESCRIBE_LIMIT: usize = 10;

/// An ECS service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EcsService {
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: Tags,
}

/// Reads ECS services.
#[async_trait]
pub trait EcsServices: Send + Sync {
    /// Describes services of one cluster. Those that ECS does not know are not in the result.
    async fn services(&self, cluster: &ClusterArn, names: &[String]) -> Result<Vec<EcsService>, EcsError>;
}

#[async_trait]
impl EcsServices for AwsEcs {
    async fn services(&self, cluster: &ClusterArn, names: &[String]) -> Result<Vec<EcsService>, EcsError> {
        let subject = || format!("{} services of cluster {cluster}", names.len());
        let mut services = Vec::new();
        for chunk in names.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_services().cluster(cluster.as_str()).set_services(Some(chunk.to_vec()));
            let answer = call.include(ServiceField::Tags).send().await;
            let answer = answer.map_err(|e| EcsError::failed(subject(), &e))?;
            if let Some(failure) = answer.failures().iter().find(|failure| failure.reason() != Some("MISSING")) {
                let reason = failure.reason().unwrap_or("no reason given").to_owned();
                return Err(EcsError::Failed { subject: subject(), reason });
            }
            services.extend(answer.services().iter().map(|service| EcsService {
                name: service.service_name().unwrap_or_default().to_owned(),
                tags: tags(service.tags()),
            }));
        }
        Ok(services)
    }
}
