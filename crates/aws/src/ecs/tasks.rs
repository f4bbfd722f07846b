//! Tasks: their list, their descriptions and their addresses.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr},
};

use async_trait::async_trait;
use aws_sdk_ecs::{
    error::SdkError,
    operation::list_tasks::{ListTasksError, ListTasksOutput, builders::ListTasksFluentBuilder},
    types::{
        Attachment, Connectivity, Container, ContainerOverride, DesiredStatus, Failure, HealthStatus, KeyValuePair,
        LaunchType, NetworkInterface, Task, TaskField, TaskOverride,
    },
};
use aws_smithy_async::future::pagination_stream::PaginationStream;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    consul_ecs::{CONFIG_VARIABLE, REGION_VARIABLE},
    names::InvalidField,
    task::{ContainerEnd, ContainerHealth, DescribedTask, Placement, TaskContainer, TaskEnd, TaskPhase},
};

use super::{AwsEcs, DESCRIBE_LIMIT, EcsError, only_missing, tags, timestamp};

type ListTasksPages = PaginationStream<Result<ListTasksOutput, SdkError<ListTasksError>>>;

/// The tasks of a cluster, as ECS lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskList {
    /// Tasks with desired status `RUNNING`.
    pub running: Vec<TaskArn>,
    /// Tasks with desired status `STOPPED`, which ECS may drop at any time. A task whose desired status changed during
    /// the listing may be in both lists.
    pub stopped: Vec<TaskArn>,
}

/// Reads tasks.
#[async_trait]
pub trait Tasks: Send + Sync {
    /// Every task of a cluster, including stopped ones, which ECS keeps for about one hour.
    ///
    /// # Errors
    /// A page could not be read. [`EcsError::UnknownCluster`] if the cluster does not exist.
    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError>;

    /// Describes tasks of one cluster, with their tags. ECS does not know those that are not in the result.
    ///
    /// # Errors
    /// A task is neither described nor reported as missing. [`EcsError::UnknownCluster`] if the cluster does not exist.
    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError>;
}

#[async_trait]
impl Tasks for AwsEcs {
    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        // One after the other: a stopping task moves from the first list to the second one. In this order it is in at least one of
        // them. If both were read at once, it could be in neither: read in the second before it moved, and in the first after.
        let running = self.list(cluster, DesiredStatus::Running).await?;
        let stopped = self.list(cluster, DesiredStatus::Stopped).await?;
        Ok(TaskList { running, stopped })
    }

    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        let subject = format!("{} tasks of cluster {cluster}", tasks.len());
        let mut described = Vec::new();
        for chunk in tasks.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_tasks().cluster(cluster.as_str()).include(TaskField::Tags);
            let arns = chunk.iter().map(|task| task.as_str().to_owned()).collect();
            self.reads_of_tasks.turn().await;
            let answer = call.set_tasks(Some(arns)).send().await;
            let answer = answer.map_err(|e| EcsError::on_cluster(cluster, &subject, &e))?;
            let tasks: Vec<DescribedTask> = answer.tasks().iter().filter_map(read_task).collect();
            check_coverage(chunk, &tasks, answer.failures())
                .map_err(|reason| EcsError::Failed { subject: subject.clone(), reason })?;
            described.extend(tasks);
        }
        Ok(described)
    }
}

impl AwsEcs {
    /// The private addresses of the running tasks of a family or, if none of them has one, of a service: for each task
    /// one address, IPv6 only if it has no IPv4 address. Tasks without a usable address are left out if another one has one.
    ///
    /// # Errors
    /// The cluster does not exist, or the call failed. [`EcsError::NoAddress`] or [`EcsError::Malformed`] if no running task has
    /// a usable address. An unknown family or service has no tasks.
    pub async fn addresses(&self, cluster: &str, family_or_service: &str) -> Result<Vec<IpAddr>, EcsError> {
        let subject = format!("addresses of family or service {family_or_service:?} in cluster {cluster:?}");
        let listing = || self.client.list_tasks().cluster(cluster);
        let (addresses, of_family) = self.find(cluster, listing().family(family_or_service), &subject).await?;
        if !addresses.is_empty() {
            return Ok(addresses);
        }
        let (addresses, of_service) = self.find(cluster, listing().service_name(family_or_service), &subject).await?;
        match of_family.or(of_service) {
            Some(error) if addresses.is_empty() => Err(error),
            _ => Ok(addresses),
        }
    }

    /// The addresses of listed tasks, and the error for the first one without a usable address.
    async fn find(
        &self,
        cluster: &str,
        listing: ListTasksFluentBuilder,
        subject: &str,
    ) -> Result<(Vec<IpAddr>, Option<EcsError>), EcsError> {
        // Tasks with desired status `STOPPED` are not listed by default.
        let listed: Result<Vec<String>, _> = listing.into_paginator().items().send().try_collect().await;
        let arns = match listed {
            Ok(arns) => arns,
            Err(e) if e.as_service_error().is_some_and(ListTasksError::is_service_not_found_exception) => Vec::new(),
            Err(e) => return Err(EcsError::failed(subject, &e)),
        };
        let (mut addresses, mut without_address) = (Vec::new(), None);
        for chunk in arns.chunks(DESCRIBE_LIMIT) {
            let call = self.client.describe_tasks().cluster(cluster).set_tasks(Some(chunk.to_vec()));
            let answer = call.send().await.map_err(|e| EcsError::failed(subject, &e))?;
            // A task that ECS dropped since it was listed is not in the answer.
            for task in answer.tasks().iter().filter(|task| task.last_status() == Some("RUNNING")) {
                match address_of(task, subject) {
                    Ok(address) => addresses.push(address),
                    Err(error) => drop(without_address.get_or_insert(error)),
                }
            }
        }
        Ok((addresses, without_address))
    }

    async fn list(&self, cluster: &ClusterArn, status: DesiredStatus) -> Result<Vec<TaskArn>, EcsError> {
        let subject = format!("tasks of cluster {cluster}");
        let call = self.client.list_tasks().cluster(cluster.as_str()).desired_status(status);
        self.listed(cluster, &subject, call.into_paginator().send()).await
    }

    /// The listed tasks of a cluster. Resources of other kinds are skipped. A task whose ARN cannot be read may be in the mesh.
    pub(super) async fn listed(
        &self,
        cluster: &ClusterArn,
        subject: &str,
        pages: ListTasksPages,
    ) -> Result<Vec<TaskArn>, EcsError> {
        let arns = self.task_arns(pages).await.map_err(|e| EcsError::on_cluster(cluster, subject, &e))?;
        let tasks = arns.iter().filter_map(|arn| TaskArn::of_listed(arn).transpose());
        tasks.map(|arn| arn.map_err(EcsError::malformed(subject))).collect()
    }

    /// All pages of a list of tasks, at the pace that ECS allows.
    pub(super) async fn task_arns(&self, mut pages: ListTasksPages) -> Result<Vec<String>, SdkError<ListTasksError>> {
        let mut arns = Vec::new();
        self.reads_of_tasks.turn().await;
        while let Some(page) = pages.try_next().await? {
            arns.extend_from_slice(page.task_arns());
            if page.next_token().is_some() {
                self.reads_of_tasks.turn().await;
            }
        }
        Ok(arns)
    }
}

/// Checks that each of `requested` is described or reported as missing: a task that is in neither may run.
///
/// # Errors
/// Why the answer is incomplete.
fn check_coverage(requested: &[TaskArn], described: &[DescribedTask], failures: &[Failure]) -> Result<(), String> {
    only_missing(failures)?;
    // By ID, because accounts with short ARNs get those in the answer.
    let missing = failures.iter().filter_map(Failure::arn).filter_map(|arn| arn.rsplit('/').next());
    let described = described.iter().map(|task| task.arn.id().as_str());
    let covered: BTreeSet<&str> = described.chain(missing).collect();
    match requested.iter().find(|task| !covered.contains(task.id().as_str())) {
        Some(task) => Err(format!("the answer does not mention task {}", task.id())),
        None => Ok(()),
    }
}

/// A task in an answer; `None` if the answer does not say which. Any other field concerns this task alone: without a readable
/// definition it is outside the mesh, and with an unknown status its entries and tokens stay.
fn read_task(task: &Task) -> Option<DescribedTask> {
    Some(DescribedTask {
        arn: task.task_arn()?.parse().ok()?,
        definition: task.task_definition_arn().and_then(|arn| TaskDefinitionArn::of_task(arn).ok()?),
        phase: TaskPhase::from_statuses(
            task.last_status().unwrap_or_default(),
            task.desired_status().unwrap_or_default(),
        ),
        last_status: task.last_status().unwrap_or_default().to_owned(),
        tags: tags(task.tags()),
        containers: task.containers().iter().filter_map(read_container).collect(),
        placement: read_placement(task),
        pull_started_at: task.pull_started_at().and_then(timestamp),
        stopping_at: task.stopping_at().and_then(timestamp),
        end: TaskEnd {
            code: task.stop_code().map(|code| code.as_str().to_owned()),
            reason: task.stopped_reason().map(str::to_owned),
            containers: task.containers().iter().filter_map(read_container_end).collect(),
            created_at: task.created_at().and_then(timestamp),
            started_at: task.started_at().and_then(timestamp),
            stopped_at: task.stopped_at().and_then(timestamp),
        },
    })
}

fn read_container(container: &Container) -> Option<TaskContainer> {
    let health = match container.health_status() {
        Some(HealthStatus::Healthy) => ContainerHealth::Healthy,
        Some(HealthStatus::Unhealthy) => ContainerHealth::Unhealthy,
        _ => ContainerHealth::Unknown,
    };
    let is_stopped = container.last_status() == Some("STOPPED");
    Some(TaskContainer { name: container.name()?.to_owned(), health, is_stopped, exit_code: container.exit_code() })
}

fn read_placement(task: &Task) -> Placement {
    let overrides = task.overrides().map(TaskOverride::container_overrides).unwrap_or_default();
    let of = |container: &ContainerOverride| Some((container.name()?.to_owned(), variables(container)));
    let is_rewritten =
        |container: &&ContainerOverride| !container.command().is_empty() || !container.environment_files().is_empty();
    let rewritten = overrides.iter().filter(is_rewritten).filter_map(|container| container.name().map(str::to_owned));
    Placement {
        is_disconnected: task.connectivity() == Some(&Connectivity::Disconnected),
        connectivity_at: task.connectivity_at().and_then(timestamp),
        container_instance: task.container_instance_arn().and_then(|arn| arn.parse().ok()),
        address: ipv4_of(task),
        zone: task.availability_zone().map(str::to_owned),
        is_on_fargate: task.launch_type() == Some(&LaunchType::Fargate),
        service: task.group().and_then(|group| group.strip_prefix("service:")).map(str::to_owned),
        runs_on: task.capacity_provider_name().or(task.launch_type().map(LaunchType::as_str)).map(str::to_owned),
        role: task.overrides().and_then(TaskOverride::task_role_arn).map(str::to_owned),
        overrides: overrides.iter().filter_map(of).filter(|(_, variables)| !variables.is_empty()).collect(),
        rewritten: rewritten.collect(),
    }
}

/// The variables that decide what a task registers: the values of others may be secret.
fn variables(container: &ContainerOverride) -> BTreeMap<String, String> {
    let all = container.environment().iter().filter_map(|pair| Some((pair.name()?, pair.value()?)));
    let wanted = all.filter(|(name, _)| [CONFIG_VARIABLE, REGION_VARIABLE].contains(name));
    wanted.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The address of a running task.
fn address_of(task: &Task, subject: &str) -> Result<IpAddr, EcsError> {
    let (field, text) = address_text(task).ok_or_else(|| EcsError::NoAddress {
        task: task.task_arn().unwrap_or_default().to_owned(),
        launch_type: task.launch_type().map_or("unknown", LaunchType::as_str).to_owned(),
    })?;
    text.parse().map_err(|_| EcsError::malformed(subject)(InvalidField::new(field, text, "an IP address")))
}

fn ipv4_of(task: &Task) -> Option<Ipv4Addr> {
    address_text(task).and_then(|(_, text)| text.parse().ok())
}

/// The address of the task's first network interface, and the field that contains it. ECS describes the interface twice: as
/// an attachment, for which it documents no IPv6 address, and in each container.
fn address_text(task: &Task) -> Option<(&'static str, &str)> {
    let details = task.attachments().iter().flat_map(Attachment::details);
    let mut attached = details.filter(|detail| detail.name() == Some("privateIPv4Address"));
    let interfaces = || task.containers().iter().flat_map(Container::network_interfaces);
    let ipv4 = || interfaces().find_map(NetworkInterface::private_ipv4_address);
    let ipv6 = || interfaces().find_map(NetworkInterface::ipv6_address);
    let attached = attached.find_map(KeyValuePair::value).map(|text| ("privateIPv4Address", text));
    attached.or_else(|| Some(("privateIpv4Address", ipv4()?))).or_else(|| Some(("ipv6Address", ipv6()?)))
}

fn read_container_end(container: &Container) -> Option<ContainerEnd> {
    let (exit_code, reason) = (container.exit_code().map(i64::from), container.reason().map(str::to_owned));
    Some(ContainerEnd { name: container.name()?.to_owned(), exit_code, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arn(number: u8) -> String {
        format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{number:032x}")
    }

    fn requested(numbers: &[u8]) -> Vec<TaskArn> {
        numbers.iter().map(|number| arn(*number).parse().unwrap()).collect()
    }

    fn task(number: u8) -> DescribedTask {
        read_task(&Task::builder().task_arn(arn(number)).build()).unwrap()
    }

    fn failed(number: u8, reason: &str) -> Failure {
        Failure::builder().arn(arn(number)).reason(reason).build()
    }

    #[test]
    fn placement_has_the_availability_zone() {
        let placement = read_placement(&Task::builder().availability_zone("us-east-1a").build());
        assert_eq!(placement.zone.as_deref(), Some("us-east-1a"));
    }

    #[test]
    fn described_and_missing_tasks_are_covered() {
        assert_eq!(check_coverage(&requested(&[1, 2]), &[task(1)], &[failed(2, "MISSING")]), Ok(()));
        let short = Failure::builder().arn(arn(2).replace("task/prod/", "task/")).reason("MISSING").build();
        assert_eq!(check_coverage(&requested(&[1, 2]), &[task(1)], &[short]), Ok(()));
    }

    #[test]
    fn unmentioned_task_is_an_error() {
        let unnamed = Failure::builder().reason("MISSING").build();
        for failures in [vec![], vec![failed(1, "MISSING")], vec![unnamed]] {
            let reason = check_coverage(&requested(&[1, 2]), &[task(1)], &failures).unwrap_err();
            assert!(reason.contains(&format!("{:032x}", 2)), "{reason}");
        }
        assert!(check_coverage(&requested(&[1]), &[], &[]).is_err());
    }

    #[test]
    fn other_failures_are_errors() {
        assert_eq!(check_coverage(&requested(&[1]), &[], &[failed(1, "ACCESS")]), Err("ACCESS".to_owned()));
    }
}
