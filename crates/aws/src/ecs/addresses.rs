//! The IP addresses of running tasks.

use std::net::{IpAddr, Ipv4Addr};

use async_trait::async_trait;
use aws_sdk_ecs::{
    Client,
    error::SdkError,
    operation::list_tasks::builders::ListTasksFluentBuilder,
    types::{Attachment, Container, KeyValuePair, LaunchType, NetworkInterface, Task},
};

use super::{
    client::{AwsEcs, DESCRIBE_LIMIT},
    error::EcsError,
};
use mesh::field::InvalidField;

/// The attachment detail with the IPv4 address of a task's network interface.
const ATTACHED_ADDRESS: &str = "privateIPv4Address";
/// The field of a container's network interface with its IPv4 address.
const IPV4_ADDRESS: &str = "privateIpv4Address";
/// The field of a container's network interface with its IPv6 address. ECS documents no attachment detail for it.
const IPV6_ADDRESS: &str = "ipv6Address";

/// Finds the addresses of tasks.
#[async_trait]
pub trait TaskAddresses: Send + Sync {
    /// The private addresses of the running tasks of a family or, if none of them has one, of a service: for each task
    /// one address, IPv6 only if it has no IPv4 address. Tasks without an address are left out if another one has one.
    ///
    /// # Errors
    /// The cluster does not exist, or the call failed. [`EcsError::NoAddress`] if tasks are running, none of which has
    /// an address. An unknown family or service has no tasks.
    async fn addresses(&self, cluster: &str, family_or_service: &str) -> Result<Vec<IpAddr>, EcsError>;
}

#[async_trait]
impl TaskAddresses for AwsEcs {
    async fn addresses(&self, cluster: &str, family_or_service: &str) -> Result<Vec<IpAddr>, EcsError> {
        let (client, name) = (&self.client, family_or_service);
        let tasks = RunningTasks { client, cluster, name };
        let of_family = tasks.find(client.list_tasks().family(name)).await?;
        if !of_family.addresses.is_empty() {
            return Ok(of_family.addresses);
        }
        let of_service = tasks.find(client.list_tasks().service_name(name)).await?;
        match of_family.without_address.or(of_service.without_address) {
            Some(error) if of_service.addresses.is_empty() => Err(error),
            _ => Ok(of_service.addresses),
        }
    }
}

/// The running tasks of one family or service.
struct RunningTasks<'a> {
    client: &'a Client,
    cluster: &'a str,
    name: &'a str,
}

/// The addresses of running tasks.
#[derive(Default)]
struct Found {
    addresses: Vec<IpAddr>,
    /// The error for the first task that has no address.
    without_address: Option<EcsError>,
}

impl RunningTasks<'_> {
    fn subject(&self) -> String {
        format!("addresses of family or service {:?} in cluster {:?}", self.name, self.cluster)
    }

    async fn find(&self, listing: ListTasksFluentBuilder) -> Result<Found, EcsError> {
        let arns = self.list(listing).await?;
        let mut found = Found::default();
        for chunk in arns.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_tasks().cluster(self.cluster).set_tasks(Some(chunk.to_vec()));
            let answer = call.send().await.map_err(|e| EcsError::failed(self.subject(), &e))?;
            // A task that ECS dropped since it was listed is not in the answer.
            for task in answer.tasks().iter().filter(|task| task.last_status() == Some("RUNNING")) {
                match self.address_of(task)? {
                    Some(address) => found.addresses.push(address),
                    None => found.without_address = found.without_address.or_else(|| Some(no_address(task))),
                }
            }
        }
        Ok(found)
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
        let malformed = |field: &str, text: &str| EcsError::Malformed {
            subject: self.subject(),
            source: InvalidField::new(field, text, "an IP address"),
        };
        address_text(task).map(|(field, text)| text.parse().map_err(|_| malformed(field, text))).transpose()
    }
}

/// The IPv4 address of the task's first network interface.
pub(super) fn ipv4_of(task: &Task) -> Option<Ipv4Addr> {
    address_text(task).and_then(|(_, text)| text.parse().ok())
}

/// The address of the task's first network interface, and the field that contains it.
///
/// ECS describes the interface twice: as an attachment, and in each container.
fn address_text(task: &Task) -> Option<(&'static str, &str)> {
    let details = task.attachments().iter().flat_map(Attachment::details);
    let mut attached = details.filter(|detail| detail.name() == Some(ATTACHED_ADDRESS)).filter_map(KeyValuePair::value);
    let interfaces = || task.containers().iter().flat_map(Container::network_interfaces);
    let ipv4 = || interfaces().find_map(NetworkInterface::private_ipv4_address);
    let ipv6 = || interfaces().find_map(NetworkInterface::ipv6_address);
    let attached = attached.next().map(|text| (ATTACHED_ADDRESS, text));
    attached.or_else(|| ipv4().map(|text| (IPV4_ADDRESS, text))).or_else(|| ipv6().map(|text| (IPV6_ADDRESS, text)))
}

fn no_address(task: &Task) -> EcsError {
    EcsError::NoAddress {
        task: task.task_arn().unwrap_or_default().to_owned(),
        launch_type: task.launch_type().map_or("unknown", LaunchType::as_str).to_owned(),
    }
}
