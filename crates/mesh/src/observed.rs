//! What a plan is made from.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    catalog::{ClientAgent, HealthCheck, LeftoverNode, ServiceInstance},
    idleness::TaskListing,
    secret::StoredSecret,
    task::MeshTask,
    token::{ListedToken, TokenHolder},
};

/// What was seen of one scope: the same shape for a batch of events and for whole clusters.
#[derive(Debug, Default, Clone)]
pub struct Observed {
    /// The mesh tasks of the scope.
    pub tasks: Vec<MeshTask>,
    /// Consul's tokens, where it was worth listing them.
    pub tokens: Vec<ListedToken>,
    /// Service instances of stopping and stopped tasks on synthetic nodes; in a sweep, of all tasks.
    pub instances: Vec<ServiceInstance>,
    /// Health checks of stopping tasks' instances.
    pub checks: Vec<HealthCheck>,
    /// Consul client agents that may have belonged to stopped tasks.
    pub agents: Vec<ClientAgent>,
    /// Synthetic nodes of clusters that ECS has deleted.
    pub leftover_nodes: Vec<LeftoverNode>,
    /// Holders whose tokens are known to be good.
    pub provisioned: BTreeSet<TokenHolder>,
    /// In a sweep, the secrets of the services that need a token or have one.
    pub secrets: BTreeMap<TokenHolder, StoredSecret>,
    /// How far the look reached.
    pub extent: Extent,
}

/// How far a look reached.
#[derive(Debug, Default, Clone)]
pub enum Extent {
    /// To the tasks of a batch of events: whether a service is idle takes a later look.
    #[default]
    Events,
    /// To whole clusters. The listing is that of every cluster of the deployment, and `None` if they could not all be
    /// read: only who has seen all of them may call a service idle.
    Clusters(Option<TaskListing>),
}
