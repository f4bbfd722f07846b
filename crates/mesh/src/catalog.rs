//! Entries of tasks in Consul's catalog: with Consul Dataplane, on the synthetic node of the cluster; with client
//! agents, on the node of the agent in the task.

use std::net::IpAddr;

use crate::{
    arn::{ClusterArn, TaskArn, TaskId},
    names::words,
    tenancy::Tenancy,
};

/// A service instance, sidecar proxy or gateway with the ID of a task in its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceInstance {
    /// The catalog node: the cluster's ARN, or the name of a client agent.
    pub node: String,
    /// The instance's ID, for example `web-<task id>-sidecar-proxy`.
    pub id: String,
    /// The service's name: Consul 1.8 rejects a deregistration without it.
    pub name: String,
    /// `Kind`: empty for a service.
    pub kind: String,
    /// `Meta["task-id"]`: the task that registered it.
    pub task: TaskId,
    /// `Meta["task-arn"]`: the ARN of the task, which in the long format contains the cluster.
    pub task_arn: Option<TaskArn>,
    /// `Address`: where other proxies connect to; `None` for a host name, or without one.
    pub address: Option<IpAddr>,
    /// `ModifyIndex`, for check-and-set: a deletion applies only to the version that was read.
    pub modify_index: u64,
    pub tenancy: Tenancy,
}

/// The services on one catalog node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogNode {
    /// Its name, as Consul returns it: Consul finds a node by its name in any case.
    pub name: String,
    /// Whether `NodeMeta` says that it is a synthetic node.
    pub is_synthetic: bool,
    /// The services with a task's mark.
    pub instances: Vec<ServiceInstance>,
    /// The services without one, which the controller does not manage.
    pub others: Vec<OtherService>,
}

/// A service without a task's mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherService {
    pub id: String,
    pub name: String,
    /// `Kind`: empty for a service.
    pub kind: String,
    pub tenancy: Tenancy,
}

impl CatalogNode {
    /// Moves the instances of tasks of a cluster whose name differs only in case to the other services: its tasks register on
    /// the same node.
    pub fn set_namesakes_aside(&mut self, cluster: &ClusterArn) {
        let is_namesake = |task: &TaskArn| task.cluster().is_some_and(|of| of.is_namesake_of(cluster));
        let is_of_namesake = |it: &mut ServiceInstance| it.task_arn.as_ref().is_some_and(is_namesake);
        let others = self.instances.extract_if(.., is_of_namesake);
        self.others.extend(others.map(|ServiceInstance { id, name, kind, tenancy, .. }| OtherService {
            id,
            name,
            kind,
            tenancy,
        }));
    }

    /// Whether every service of `later` is also in this node. Services that were removed, or registered again by the
    /// same task, do not count.
    pub fn is_superset_of(&self, later: &Self) -> bool {
        let is_same = |seen: &ServiceInstance, now: &ServiceInstance| {
            (&seen.id, &seen.task, &seen.task_arn, &seen.tenancy) == (&now.id, &now.task, &now.task_arn, &now.tenancy)
        };
        (&self.name, self.is_synthetic) == (&later.name, later.is_synthetic)
            && later.others.iter().all(|other| self.others.contains(other))
            && later.instances.iter().all(|now| self.instances.iter().any(|seen| is_same(seen, now)))
    }
}

/// The status of an agent in the gossip pool: <https://developer.hashicorp.com/consul/api-docs/agent#list-members>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStatus {
    /// The agent is a live member.
    Alive,
    /// The agent stopped answering without leaving.
    Failed,
    /// The agent has left, or is leaving.
    Left,
}

/// A Consul agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its node's name.
    pub name: String,
    pub status: AgentStatus,
}

/// A Consul client agent, and the services on its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAgent {
    pub member: Member,
    pub node: CatalogNode,
    /// The partition whose gossip pool it is in.
    pub tenancy: Tenancy,
}

/// The synthetic node of a cluster that ECS has deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverNode {
    pub cluster: ClusterArn,
    pub node: CatalogNode,
    pub tenancy: Tenancy,
}

words! {
    /// The status of a health check. With a critical check, an instance receives no traffic.
    CheckStatus, "check status" {
        Passing = "passing",
        Warning = "warning",
        Critical = "critical",
    }
}

/// A health check of a service instance that a program reports to Consul, with all its fields, because Consul replaces
/// a check as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// The catalog node: the cluster's ARN.
    pub node: String,
    pub id: String,
    pub name: String,
    /// Its type, for example `consul-ecs-health-check`.
    pub kind: String,
    pub notes: String,
    /// The instance that it belongs to.
    pub service_id: String,
    /// That instance's service.
    pub service_name: String,
    pub status: CheckStatus,
    /// The text that explains its status.
    pub output: String,
    /// `ModifyIndex`: it changes with each write that changes the check. 0 for a check that is to be written.
    pub modify_index: u64,
    pub tenancy: Tenancy,
}

/// The prefix of the IDs of the checks with which Consul agents put services into maintenance mode.
const MAINTENANCE: &str = "_service_maintenance:";
/// The prefix of the IDs of the checks that drain because a host is gone. Only these drains end before their task, so that no other
/// drain may share a check with them: one would replace the other.
const HOST_MAINTENANCE: &str = "_host_maintenance:";

/// The instance that a check with this ID puts into maintenance mode.
pub fn instance_in_maintenance(check_id: &str) -> Option<&str> {
    check_id.strip_prefix(MAINTENANCE).or_else(|| check_id.strip_prefix(HOST_MAINTENANCE))
}

/// Why an instance is drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrainReason {
    /// ECS told its task to stop.
    Stopping,
    /// Its proxy has stopped: connections to it fail.
    ProxyStopped,
    /// EC2 says that the host of its task is gone, and ECS has lost contact with the agent on it.
    HostGone,
}

impl DrainReason {
    pub const ALL: [Self; 3] = [Self::Stopping, Self::ProxyStopped, Self::HostGone];

    /// The reason, as the output of the check says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopping => "ECS told the task to stop",
            Self::ProxyStopped => "the container consul-dataplane has stopped in the running task",
            Self::HostGone => "EC2 says that the host of the task is gone",
        }
    }
}

impl HealthCheck {
    /// The check that drains an instance: a critical check that no health sync updates. Consul agents use the same check
    /// for maintenance mode: <https://developer.hashicorp.com/consul/commands/maint>
    pub fn maintenance(instance: &ServiceInstance, reason: DrainReason) -> Self {
        let prefix = if reason == DrainReason::HostGone { HOST_MAINTENANCE } else { MAINTENANCE };
        Self {
            node: instance.node.clone(),
            id: format!("{prefix}{}", instance.id),
            name: "Service Maintenance Mode".to_owned(),
            kind: "maintenance".to_owned(),
            notes: reason.as_str().to_owned(),
            service_id: instance.id.clone(),
            service_name: instance.name.clone(),
            status: CheckStatus::Critical,
            output: reason.as_str().to_owned(),
            modify_index: 0,
            tenancy: instance.tenancy.clone(),
        }
    }

    /// Why the controller drains an instance with it; `None` for other checks, such as those with which people do.
    pub fn drain(&self) -> Option<DrainReason> {
        let is_in = |text: &str, reason: DrainReason| text.lines().any(|line| line.trim() == reason.as_str());
        let said = |reason: &DrainReason| is_in(&self.notes, *reason) || is_in(&self.output, *reason);
        instance_in_maintenance(&self.id).and_then(|_| DrainReason::ALL.into_iter().find(said))
    }

    /// Whether it drains an instance because the host of its task was gone.
    pub fn drains_for_gone_host(&self) -> bool {
        self.drain() == Some(DrainReason::HostGone)
    }

    /// Whether `other` has the ID, node, instance and tenancy of this check.
    pub fn is_same_as(&self, other: &Self) -> bool {
        (&self.node, &self.id, &self.service_id, &self.tenancy)
            == (&other.node, &other.id, &other.service_id, &other.tenancy)
    }
}
