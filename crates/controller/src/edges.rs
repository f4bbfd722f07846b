//! The external services, the clock and randomness, behind traits: the simulation implements its own.

use std::sync::Arc;

use aws::{
    ec2::Ec2,
    ecs::{Clusters, ContainerInstances, EcsServices, TaskDefinitions, Tasks},
    events::EventPublisher,
    iam::IamRoles,
    queue::{MessageSender, MessageVisibility},
    secrets::SecretStore,
};
use consul::{Acl, Agents, Catalog, ConsulBootstrap, Logins, Permissions, Release};
use secrecy::SecretString;
use uuid::Uuid;

use crate::clock::Clock;

/// Consul: tokens, catalog, agents, and what decides about logins.
pub trait Consul: Acl + Catalog + Agents + Logins {}

impl<T: Acl + Catalog + Agents + Logins> Consul for T {}

/// ECS: task definitions, clusters, services, tasks and container instances.
pub trait Ecs: TaskDefinitions + Clusters + EcsServices + Tasks + ContainerInstances {}

impl<T: TaskDefinitions + Clusters + EcsServices + Tasks + ContainerInstances> Ecs for T {}

/// Consul: what the bootstrap writes, what the controller's own token may do, and which release it is.
pub trait Setup: ConsulBootstrap + Permissions + Release {}

impl<T: ConsulBootstrap + Permissions + Release> Setup for T {}

pub trait Queue: MessageSender + MessageVisibility {}

impl<T: MessageSender + MessageVisibility> Queue for T {}

#[derive(Clone)]
pub struct Edges {
    pub consul: Arc<dyn Consul>,
    /// Consul, for the bootstrap and the checks before it.
    pub bootstrap: Arc<dyn Setup>,
    pub ecs: Arc<dyn Ecs>,
    pub ec2: Arc<dyn Ec2>,
    pub iam: Arc<dyn IamRoles>,
    pub secrets: Arc<dyn SecretStore>,
    pub queue: Arc<dyn Queue>,
    pub events: Arc<dyn EventPublisher>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

/// A source of unpredictable values.
pub trait Entropy: Send + Sync {
    /// The secret ID of a new token: a random UUID, the format that Consul requires.
    fn secret(&self) -> SecretString;

    /// A random UUID: the accessor ID of a new token.
    fn uuid(&self) -> Uuid;

    /// A uniformly distributed number below `limit`, which must not be zero.
    fn below(&self, limit: usize) -> usize;
}

/// The operating system's source of randomness.
#[derive(Debug, Clone, Copy)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn secret(&self) -> SecretString {
        SecretString::from(Uuid::new_v4().to_string())
    }

    fn uuid(&self) -> Uuid {
        Uuid::new_v4()
    }

    fn below(&self, limit: usize) -> usize {
        fastrand::usize(..limit)
    }
}
