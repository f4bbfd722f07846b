//! What is read, behind traits: the simulation implements its own. None of them can write.

use std::sync::Arc;

use aws::{
    ec2::Ec2,
    ecs::{Clusters, ContainerInstances, EcsServices, TaskDefinitions, Tasks},
    iam::IamRoles,
    secrets::SecretReads,
};
use consul::{AgentReads, CatalogReads, Logins, ObjectReads, Permissions, Release, TokenReads};

use crate::clock::Clock;

/// Consul: tokens, catalog, agents, what decides about logins, the objects of the bootstrap, the controller's own permissions, and the
/// release.
pub trait Consul: TokenReads + CatalogReads + AgentReads + Logins + ObjectReads + Permissions + Release {}

impl<T: TokenReads + CatalogReads + AgentReads + Logins + ObjectReads + Permissions + Release> Consul for T {}

/// ECS: task definitions, clusters, services, tasks and container instances.
pub trait Ecs: TaskDefinitions + Clusters + EcsServices + Tasks + ContainerInstances {}

impl<T: TaskDefinitions + Clusters + EcsServices + Tasks + ContainerInstances> Ecs for T {}

#[derive(Clone)]
pub struct Reads {
    pub consul: Arc<dyn Consul>,
    pub ecs: Arc<dyn Ecs>,
    pub ec2: Arc<dyn Ec2>,
    pub iam: Arc<dyn IamRoles>,
    pub secrets: Arc<dyn SecretReads>,
    pub clock: Arc<dyn Clock>,
}
