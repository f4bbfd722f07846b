//! What one deployment of the controller is responsible for.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    bounds::Bounds,
    grace::GracePeriod,
    guard::MaxDeletePercent,
    rules::{Rules, TokenMode},
    secret::Trigger,
    secret_name::SecretNames,
    tenancy::Tenancy,
};

use crate::bootstrap::BootstrapScope;

/// What the controller is responsible for, and how.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The clusters whose tasks it looks after: never empty.
    pub clusters: Vec<ClusterArn>,
    /// Who makes tokens.
    pub mode: TokenMode,
    /// How secrets are named.
    pub names: SecretNames,
    /// How long an idle service keeps its token.
    pub grace: GracePeriod,
    /// What is assumed of time.
    pub bounds: Bounds,
    /// How long a token that was made ahead waits for its service's first task.
    pub unused_for: Duration,
    /// The largest share of a cluster's tokens or services that one sweep deletes.
    pub max_delete: MaxDeletePercent,
    /// Where in Consul tasks without Enterprise tags live.
    pub default_tenancy: Tenancy,
    /// The same for clusters that have a partition of their own.
    pub cluster_tenancies: BTreeMap<ClusterArn, Tenancy>,
    /// What is set up in Consul.
    pub bootstrap: BootstrapScope,
}

impl Scope {
    /// Where in Consul a task of `cluster` lives that has no Enterprise tags.
    #[must_use]
    pub fn tenancy_of(&self, cluster: &ClusterArn) -> &Tenancy {
        self.cluster_tenancies.get(cluster).unwrap_or(&self.default_tenancy)
    }

    /// The configured cluster that a task is of.
    #[must_use]
    pub fn cluster_of(&self, task: &TaskArn) -> Option<&ClusterArn> {
        self.clusters.iter().find(|cluster| task.is_in(cluster))
    }

    /// The rules of a plan that an event asks for at `now`.
    #[must_use]
    pub fn rules(&self, now: Timestamp) -> Rules<'_> {
        Rules {
            mode: self.mode,
            clusters: &self.clusters,
            names: &self.names,
            grace: self.grace,
            bounds: &self.bounds,
            unused_for: self.unused_for,
            trigger: Trigger::Event,
            now,
        }
    }
}
