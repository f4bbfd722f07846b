//! Tasks as the controller sees them.

use jiff::Timestamp;

use super::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    identity::MeshIdentity,
    phase::TaskPhase,
    tags::Tags,
    tenancy::Tenancy,
};

/// A task in a state change event: what changed, and how new the news is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChange {
    /// The task.
    pub arn: TaskArn,
    /// Its cluster.
    pub cluster: ClusterArn,
    /// The revision that it runs.
    pub definition: TaskDefinitionArn,
    /// Where it stood when the event was made.
    pub phase: TaskPhase,
    /// Grows with every change of this task: the same version is a duplicate, a lower one is stale.
    pub version: u64,
    /// When the event was made.
    pub time: Timestamp,
}

/// A task as ECS describes it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedTask {
    /// The task.
    pub arn: TaskArn,
    /// The revision that it runs.
    pub definition: TaskDefinitionArn,
    /// Where it stands.
    pub phase: TaskPhase,
    /// Its own tags.
    pub tags: Tags,
    /// When it stopped for good.
    pub stopped_at: Option<Timestamp>,
    /// Its containers.
    pub containers: Vec<TaskContainer>,
}

/// A container of a task as ECS describes it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContainer {
    /// Its name in the task definition.
    pub name: String,
    /// What its ECS health check says.
    pub health: ContainerHealth,
}

/// What ECS says of a container's health. Source:
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

/// A task of the mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshTask {
    /// The task.
    pub arn: TaskArn,
    /// Its cluster.
    pub cluster: ClusterArn,
    /// Where it stands.
    pub phase: TaskPhase,
    /// Where in Consul to look for what is left of it.
    pub tenancy: Tenancy,
    /// Who it is. `None` for a stopped task whose definition or tags are gone: what it left is found by its ID all the
    /// same.
    pub identity: Option<MeshIdentity>,
    /// Whether it runs a Consul client agent of its own.
    pub runs_client_agent: bool,
}
