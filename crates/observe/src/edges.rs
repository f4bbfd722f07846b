//! What is read, behind traits: the simulation implements its own. None of them can write.

use std::sync::Arc;

use aws::{
    ec2::Ec2,
    ecs::{Clusters, ContainerInstances, EcsServices, TaskDefinitions, Tasks},
    iam::IamRoles,
    secrets::SecretReads,
};
use consul::{AgentReads, CatalogReads, Logins, ObjectReads, Permissions, ServerVersion, TokenReads};

use crate::clock::Clock;

/// Consul: tokens, catalog, agents, what decides about logins, the objects of the bootstrap, the controller's own permissions, and the
/// release.
pub trait ConsulReads:
    TokenReads + CatalogReads + AgentReads + Logins + ObjectReads + Permissions + ServerVersion
{
}

impl<T: TokenReads + CatalogReads + AgentReads + Logins + ObjectReads + Permissions + ServerVersion> ConsulReads for T {}

/// ECS: task definitions, clusters, services, tasks and container instances.
pub trait EcsReads: TaskDefinitions + Clusters + EcsServices + Tasks + ContainerInstances {}

impl<T: TaskDefinitions + Clusters + EcsServices + Tasks + ContainerInstances> EcsReads for T {}

#[derive(Clone)]
pub struct Reads {
    pub consul: Arc<dyn ConsulReads>,
    pub ecs: Arc<dyn EcsReads>,
    pub ec2: Arc<dyn Ec2>,
    pub iam: Arc<dyn IamRoles>,
    pub secrets: Arc<dyn SecretReads>,
    pub clock: Arc<dyn Clock>,
}
