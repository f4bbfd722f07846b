//! The input of a plan.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    arn::{ClusterArn, TaskArn},
    catalog::{ClientAgent, HealthCheck, LeftoverNode, ServiceInstance},
    guard::limits::TaskCounts,
    idleness::TaskListing,
    secret::StoredSecret,
    task::MeshTask,
    token::{ListedToken, TokenHolder},
};

/// The observed state of one scope: the tasks of a batch of events, or whole clusters.
#[derive(Debug, Default, Clone)]
pub struct Observed {
    /// The mesh tasks of the scope.
    pub tasks: Vec<MeshTask>,
    /// In a sweep, the stopped ones among them that ECS does not describe. It may describe a young task later.
    pub unknown: BTreeSet<TaskArn>,
    /// In a sweep, how many tasks of each existing cluster ECS counts and lists.
    pub counts: BTreeMap<ClusterArn, TaskCounts>,
    /// ACL tokens; for events, listed only if a task has stopped.
    pub tokens: Vec<ListedToken>,
    /// Service instances of stopping and stopped tasks on synthetic nodes; in a sweep, of all tasks.
    pub instances: Vec<ServiceInstance>,
    /// Health checks of the instances of stopping tasks.
    pub checks: Vec<HealthCheck>,
    /// Consul client agents that may have run in stopped tasks.
    pub agents: Vec<ClientAgent>,
    /// Synthetic nodes of clusters that ECS has deleted.
    pub leftover_nodes: Vec<LeftoverNode>,
    /// Holders whose tokens are known to be valid.
    pub provisioned: BTreeSet<TokenHolder>,
    /// In a sweep, the secrets of the holders that require a token or have one.
    pub secrets: BTreeMap<TokenHolder, StoredSecret>,
    /// What was read.
    pub extent: Extent,
}

/// Which tasks were read.
#[derive(Debug, Default, Clone)]
pub enum Extent {
    /// The tasks of a batch of events. Whether a service is idle is decided by a later idle check.
    #[default]
    Events,
    /// Whole clusters. The listing covers every cluster of the deployment; `None` if one of them could not be read:
    /// then no service is considered idle.
    Clusters(Option<TaskListing>),
}
