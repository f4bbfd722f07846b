//! The IP addresses of running tasks.

use std::net::IpAddr;

use async_trait::async_trait;
use aws_sdk_ecs::{Client, error::SdkError, operation::list_tasks::builders::ListTasksFluentBuilder, types::Task};

use super::{
    client::{AwsEcs, DESCRIBE_LIMIT},
    error::EcsError,
};
use mesh::field::InvalidField;

/// The attachment detail with the address of a task's network interface.
const PRIVATE_ADDRESS: &str = "privateIPv4Address";

/// Finds the addresses of tasks.
#[async_trait]
pub trait TaskAddresses: Send + Sync {
    /// The private addresses of the running tasks of a family or, if it has none, of a service.
    ///
    /// # Errors
    /// The cluster does not exist, or the call failed. An unknown family or service has no tasks.
    async fn addresses(&self, cluster: &str, family_or_service: &str) -> Result<Vec<IpAddr>, EcsError>;
}

#[async_trait]
impl TaskAddresses for AwsEcs {
    async fn addresses(&self, cluster: &str, family_or_service: &str) -> Result<Vec<IpAddr>, EcsError> {
        let (client, name) = (&self.client, family_or_service);
        let tasks = RunningTasks { client, cluster, name };
        let of_family = tasks.addresses(client.list_tasks().family(name)).await?;
        if of_family.is_empty() { tasks.addresses(client.list_tasks().service_name(name)).await } else { Ok(of_family) }
    }
}

/// The running tasks of one family or service.
struct RunningTasks<'a> {
    client: &'a Client,
    cluster: &'a str,
    name: &'a str,
}

impl RunningTasks<'_> {
    fn subject(&self) -> String {
        format!("addresses of family or service {:?} in cluster {:?}", self.name, self.cluster)
    }

    async fn addresses(&self, listing: ListTasksFluentBuilder) -> Result<Vec<IpAddr>, EcsError> {
        let arns = self.list(listing).await?;
        let mut addresses = Vec::new();
        for chunk in arns.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_tasks().cluster(self.cluster).set_tasks(Some(chunk.to_vec()));
            let answer = call.send().await.map_err(|e| EcsError::failed(self.subject(), &e))?;
            // A task that ECS dropped since it was listed is not in the answer.
            for task in answer.tasks().iter().filter(|task| task.last_status() == Some("RUNNING")) {
                addresses.extend(self.address_of(task)?);
            }
        }
        Ok(addresses)
    }

    async fn list(&self, listing: ListTasksFluentBuilder) -> Result<Vec<String>, EcsError> {
        // Tasks with desired status `STOPPED` are not listed by default.
        let mut pages = listing.cluster(self.cluster).into_paginator().send();
        let mut arns = Vec::new();
        while let Some(page) = pages.next().await {
            match page {
                Ok(page) => arns.extend(page.task_arns.unwrap_or_default()),
                Err(SdkError::ServiceError(e)) if e.err().is_service_not_found_exception() => break,
                Err(other) => return Err(EcsError::failed(self.subject(), &other)),
            }
        }
        Ok(arns)
    }

    fn address_of(&self, task: &Task) -> Result<Option<IpAddr>, EcsError> {
        let malformed = |text: &str| EcsError::Malformed {
            subject: self.subject(),
            source: InvalidField::new(PRIVATE_ADDRESS, text, "an IP address"),
        };
        address_text(task).map(|text| text.parse().map_err(|_| malformed(text))).transpose()
    }
}

/// The address of the task's network interface, which is also in its containers.
fn address_text(task: &Task) -> Option<&str> {
    let mut details = task.attachments().iter().flat_map(aws_sdk_ecs::types::Attachment::details);
    let attached = details.find(|detail| detail.name() == Some(PRIVATE_ADDRESS)).and_then(|detail| detail.value());
    let mut interfaces = task.containers().iter().flat_map(aws_sdk_ecs::types::Container::network_interfaces);
    attached.or_else(|| interfaces.find_map(|interface| interface.private_ipv4_address()))
}
