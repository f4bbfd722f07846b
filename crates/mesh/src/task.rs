//! ECS tasks.

use jiff::Timestamp;

use super::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    identity::MeshIdentity,
    phase::TaskPhase,
    tags::Tags,
    tenancy::Tenancy,
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
    /// Its own tags.
    pub tags: Tags,
    /// When it stopped, if it has.
    pub stopped_at: Option<Timestamp>,
    /// Its containers.
    pub containers: Vec<TaskContainer>,
}

/// A container of a task as ECS describes it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContainer {
    /// Its name in the task definition.
    pub name: String,
    /// Its health status in ECS.
    pub health: ContainerHealth,
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
}
