//! ECS tasks.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    time::Duration,
};

use jiff::Timestamp;

use super::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    catalog::DrainReason,
    definition::{Losses, TaskDefinition},
    identity::MeshIdentity,
    phase::TaskPhase,
    tags::Tags,
    task_end::TaskEnd,
    tenancy::Tenancy,
    time::elapsed,
};

/// A task in a task state change event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChange {
    /// The task.
    pub arn: TaskArn,
    /// Its cluster.
    pub cluster: ClusterArn,
    /// The revision that it runs.
    pub definition: TaskDefinitionArn,
    /// Its phase when the event was created.
    pub phase: TaskPhase,
    /// Increases with every change of the task: an equal version is a duplicate, a lower one is stale.
    pub version: u64,
    /// When the event was created.
    pub time: Timestamp,
    /// The names of its containers that have stopped. A container that its `restartPolicy` restarts is not among them.
    pub stopped_containers: Vec<String>,
    /// Whether ECS has lost contact with the agent of its container instance.
    pub is_disconnected: bool,
    /// How it has stopped, if it has.
    pub end: Option<TaskEnd>,
}

/// A task as ECS describes it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedTask {
    /// The task.
    pub arn: TaskArn,
    /// The revision that it runs.
    pub definition: TaskDefinitionArn,
    /// Its phase.
    pub phase: TaskPhase,
    /// Whether `DescribeClusters` counts it: `lastStatus` is `RUNNING` or `PENDING`.
    pub is_counted: bool,
    /// Its own tags.
    pub tags: Tags,
    /// When it stopped, if it has.
    pub stopped_at: Option<Timestamp>,
    /// Its containers.
    pub containers: Vec<TaskContainer>,
    /// Where and how it runs.
    pub placement: Placement,
}

impl DescribedTask {
    /// Its container with this name.
    pub fn container(&self, name: &str) -> Option<&TaskContainer> {
        self.containers.iter().find(|container| container.name == name)
    }

    /// What it has lost, with this definition.
    pub fn losses(&self, definition: &TaskDefinition) -> Losses {
        let stopped = self.containers.iter().filter(|container| container.is_stopped);
        let stopped: Vec<String> = stopped.map(|container| container.name.clone()).collect();
        definition.losses(&stopped)
    }
}

/// Where and how a task runs:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Whether `lastStatus` is `RUNNING`.
    pub is_running: bool,
    /// Whether ECS has lost contact with the agent of its container instance: what it reports of the task is old.
    pub is_disconnected: bool,
    /// The IPv4 address of its network interface; `None` without one (other network modes than `awsvpc`, IPv6 only).
    pub address: Option<Ipv4Addr>,
    /// Its availability zone.
    pub zone: Option<String>,
    /// Whether it runs on Fargate, which sets `AWS_REGION` in each container.
    pub is_on_fargate: bool,
    /// The ECS service that started it.
    pub service: Option<String>,
    /// When ECS created it.
    pub created_at: Option<Timestamp>,
    /// When its containers had started.
    pub started_at: Option<Timestamp>,
    /// The IAM role of its containers, if it replaces that of the definition.
    pub role: Option<String>,
    /// Its own values of environment variables, by container and name: they replace those of the definition.
    pub overrides: BTreeMap<String, BTreeMap<String, String>>,
    /// The containers whose command or environment files it replaces.
    pub rewritten: BTreeSet<String>,
}

/// How long after the creation of a task its images are pulled, and it is registered.
const TIME_TO_REGISTER: Duration = Duration::from_mins(15);

impl Placement {
    /// Whether ECS created the task 15 minutes before `now` or earlier: by then it is registered.
    pub fn has_had_time_to_register(&self, now: Timestamp) -> bool {
        self.created_at.is_some_and(|at| elapsed(at, now) >= TIME_TO_REGISTER)
    }
}

/// A container of a task as ECS describes it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContainer {
    /// Its name in the task definition.
    pub name: String,
    /// Its health status in ECS.
    pub health: ContainerHealth,
    /// Whether its last status is `STOPPED`. In a task that runs, it does not start again.
    pub is_stopped: bool,
    /// Its exit code, if it has stopped.
    pub exit_code: Option<i32>,
}

/// The health status of a container in ECS:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Container.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerHealth {
    /// Its health check passes.
    Healthy,
    /// Its health check fails.
    Unhealthy,
    /// There is no result yet, or no health check.
    Unknown,
}

impl ContainerHealth {
    /// The status as in the API of ECS.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "HEALTHY",
            Self::Unhealthy => "UNHEALTHY",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// A task of the mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshTask {
    /// The task.
    pub arn: TaskArn,
    /// Its cluster.
    pub cluster: ClusterArn,
    /// Its phase.
    pub phase: TaskPhase,
    /// The tenancy of its entries in Consul.
    pub tenancy: Tenancy,
    /// Its identity. `None` for a stopped task whose definition or tags are gone: its entries in Consul are found by
    /// its ID.
    pub identity: Option<MeshIdentity>,
    /// Whether it runs a Consul client agent.
    pub runs_client_agent: bool,
    /// What it has lost.
    pub losses: Losses,
}

impl MeshTask {
    /// Why its instances are to be drained, if they are.
    pub fn drain_reason(&self) -> Option<DrainReason> {
        match self.phase {
            TaskPhase::Active => self.losses.proxy.then_some(DrainReason::ProxyStopped),
            TaskPhase::Stopping => Some(DrainReason::Stopping),
            TaskPhase::Stopped => None,
        }
    }
}
