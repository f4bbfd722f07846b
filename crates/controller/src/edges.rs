//! The external services, behind traits.

use std::sync::Arc;

use aws::{
    ecs::{Clusters, EcsServices, TaskDefinitions, Tasks},
    events::EventPublisher,
    iam::IamRoles,
    queue::{MessageSender, MessageVisibility},
    secrets::{OwnSecrets, SecretStore},
};
use consul::{Acl, Agents, Catalog, ConsulBootstrap, Logins, Permissions, Release};

use crate::{clock::Clock, entropy::Entropy};

/// Consul: tokens, catalog, agents, and what decides about logins.
pub trait Consul: Acl + Catalog + Agents + Logins {}

impl<T: Acl + Catalog + Agents + Logins> Consul for T {}

/// ECS: task definitions, clusters, services and tasks.
pub trait Ecs: TaskDefinitions + Clusters + EcsServices + Tasks {}

impl<T: TaskDefinitions + Clusters + EcsServices + Tasks> Ecs for T {}

/// Consul: what the bootstrap writes, what the controller's own token may do, and which release it is.
pub trait Setup: ConsulBootstrap + Permissions + Release {}

impl<T: ConsulBootstrap + Permissions + Release> Setup for T {}

/// Secrets Manager: the secrets with tokens.
pub trait Secrets: SecretStore + OwnSecrets {}

impl<T: SecretStore + OwnSecrets> Secrets for T {}

/// The function's own queue.
pub trait Queue: MessageSender + MessageVisibility {}

impl<T: MessageSender + MessageVisibility> Queue for T {}

/// The external services, behind traits.
#[derive(Clone)]
pub struct Edges {
    /// Consul.
    pub consul: Arc<dyn Consul>,
    /// Consul, for the bootstrap and the checks before it.
    pub bootstrap: Arc<dyn Setup>,
    /// ECS.
    pub ecs: Arc<dyn Ecs>,
    /// IAM.
    pub iam: Arc<dyn IamRoles>,
    /// Secrets Manager.
    pub secrets: Arc<dyn Secrets>,
    /// The function's own queue.
    pub queue: Arc<dyn Queue>,
    /// The event bus.
    pub events: Arc<dyn EventPublisher>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}
