//! The scope of one deployment of the controller: its clusters, and the settings for them.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    bounds::Bounds,
    grace::GracePeriod,
    guard::MaxDeletePercent,
    required::TokenRules,
    rules::Rules,
    secret::Trigger,
    secret_name::SecretNames,
    tenancy::{Tenancy, TenancyName},
    token_mode::TokenMode,
};

use crate::bootstrap::BootstrapScope;

/// The clusters that the controller manages, and the settings for them.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The clusters: never empty.
    pub clusters: Vec<ClusterArn>,
    /// How tasks get their tokens.
    pub mode: TokenMode,
    /// How secrets are named.
    pub names: SecretNames,
    /// How long an idle service keeps its token.
    pub grace: GracePeriod,
    /// The time bounds.
    pub bounds: Bounds,
    /// How long a pre-provisioned token waits for the first task of its service.
    pub unused_for: Duration,
    /// The largest share of a cluster's tokens or services that one sweep deletes.
    pub max_delete: MaxDeletePercent,
    /// The tenancy of tasks without Enterprise tags.
    pub default_tenancy: Tenancy,
    /// The same for clusters with their own partition.
    pub cluster_tenancies: BTreeMap<ClusterArn, Tenancy>,
    /// The settings of the bootstrap.
    pub bootstrap: BootstrapScope,
}

impl Scope {
    /// The tenancy of tasks of `cluster` without Enterprise tags.
    #[must_use]
    pub fn tenancy_of(&self, cluster: &ClusterArn) -> &Tenancy {
        self.cluster_tenancies.get(cluster).unwrap_or(&self.default_tenancy)
    }

    /// Whether the partition is that of the deployment or of one of its clusters.
    #[must_use]
    pub fn has_partition(&self, name: &TenancyName) -> bool {
        let all = self.cluster_tenancies.values().chain([&self.default_tenancy]);
        all.filter_map(Tenancy::partition).any(|partition| partition == name)
    }

    /// The configured cluster of a task.
    #[must_use]
    pub fn cluster_of(&self, task: &TaskArn) -> Option<&ClusterArn> {
        self.clusters.iter().find(|cluster| task.is_in(cluster))
    }

    /// What decides which tokens a task requires.
    #[must_use]
    pub fn tokens(&self) -> TokenRules<'_> {
        TokenRules { mode: self.mode, names: &self.names }
    }

    /// The rules of a plan for events, at `now`.
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
