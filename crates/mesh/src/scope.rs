//! The scope of one deployment of the controller: its clusters, and the settings for them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
    time::Duration,
};

use crate::{
    arn::ClusterArn,
    cluster_selection::{ClusterPattern, ClusterSelection},
    consul_ecs::PARTITION_TAG,
    definition::{Classification, Losses, TaskDefinition},
    guard::MaxDeletePercent,
    names::InvalidField,
    secret::Trigger,
    secret_name::SecretNames,
    settings::{Mode, PlanSettings, RepairMode, TokenMode, TokenSettings},
    task::{DescribedTask, TaskPhase},
    tenancy::{Tenancy, TenancyName},
    time::{Bounds, GracePeriod},
};
use jiff::Timestamp;

/// The clusters that the controller manages, and the settings for them.
#[derive(Debug, Clone)]
pub struct Scope {
    pub clusters: ClusterSelection,
    /// Whether anything outside of the stack is changed.
    pub mode: Mode,
    /// How tasks get their tokens.
    pub token_mode: TokenMode,
    pub names: SecretNames,
    /// How long an idle service keeps its token.
    pub grace: GracePeriod,
    pub bounds: Bounds,
    /// How long a pre-provisioned token waits for the first task of its service.
    pub unused_for: Duration,
    /// The largest share of the tasks that ECS does not know that one sweep removes, and of the services that lose their token.
    pub max_delete: MaxDeletePercent,
    /// The tenancy of tasks without Enterprise tags.
    pub default_tenancy: Tenancy,
    /// The same for clusters with their own partitions. Of several partitions of a cluster, it is the first one.
    pub cluster_partitions: Vec<(ClusterPattern, Tenancy)>,
    pub bootstrap: BootstrapScope,
    /// The hosts of Consul, in lower case; none if they are ECS tasks.
    pub consul_hosts: BTreeSet<String>,
    /// Whether the entries of running tasks are repaired.
    pub repair: RepairMode,
    /// Whether the events that belong to the end of every task are sent.
    pub announces_routine: bool,
    /// How often sweeps are scheduled.
    pub sweep_interval: Duration,
}

impl Scope {
    /// Whether the controller's token requires [`mesh::permissions::OPERATOR`]: Consul has partitions, or there are client
    /// agents for certain.
    pub fn needs_operator(&self) -> bool {
        let has_agents = self.bootstrap.extent == BootstrapExtent::Full || self.token_mode == TokenMode::SecretsManager;
        has_agents || self.tenancies().keys().any(|tenancy| tenancy.partition().is_some())
    }

    /// Whether the bootstrap creates the auth methods and the binding rules of tasks that log in.
    pub fn sets_up_logins(&self) -> bool {
        self.token_mode != TokenMode::SecretsManager && self.bootstrap.extent != BootstrapExtent::None
    }

    /// The tenancy of tasks of `cluster` without Enterprise tags.
    pub fn tenancy_of(&self, cluster: &ClusterArn) -> &Tenancy {
        self.own_tenancies(cluster).next().unwrap_or(&self.default_tenancy)
    }

    /// The tenancies that are set up for `cluster`: one for each of its partitions.
    pub fn tenancies_of(&self, cluster: &ClusterArn) -> BTreeSet<&Tenancy> {
        let own: BTreeSet<&Tenancy> = self.own_tenancies(cluster).collect();
        if own.is_empty() { BTreeSet::from([&self.default_tenancy]) } else { own }
    }

    fn own_tenancies(&self, cluster: &ClusterArn) -> impl Iterator<Item = &Tenancy> {
        let own = self.cluster_partitions.iter().filter(|(pattern, _)| pattern.matches(cluster.name()));
        own.map(|(_, tenancy)| tenancy)
    }

    /// Every tenancy that the deployment sets up, with the clusters in it.
    pub fn tenancies(&self) -> BTreeMap<&Tenancy, Vec<ClusterPattern>> {
        let mut tenancies: BTreeMap<&Tenancy, Vec<ClusterPattern>> = BTreeMap::new();
        for (pattern, tenancy) in &self.cluster_partitions {
            tenancies.entry(tenancy).or_default().push(pattern.clone());
        }
        let has_own = |pattern: &ClusterPattern| self.cluster_partitions.iter().any(|(own, _)| own.covers(pattern));
        for pattern in self.clusters.patterns().iter().filter(|pattern| !has_own(pattern)) {
            tenancies.entry(&self.default_tenancy).or_default().push(pattern.clone());
        }
        tenancies
    }

    /// Whether Consul is Enterprise, so that every object is in a partition and a namespace.
    pub fn is_enterprise(&self) -> bool {
        self.tenancies().keys().any(|tenancy| tenancy.partition().is_some())
    }

    /// The losses of a task that count: what ECS reports of a disconnected task is old, and nothing is done for a task
    /// unless the settings want repairs.
    pub fn counted(&self, losses: Losses, is_disconnected: bool) -> Losses {
        if self.repair == RepairMode::On && !is_disconnected { losses } else { Losses::default() }
    }

    /// What a task has lost that counts.
    pub fn losses(&self, task: &DescribedTask, definition: &TaskDefinition) -> Losses {
        self.counted(task.losses(definition), task.placement.is_disconnected)
    }

    /// Whether the partition belongs to the deployment or to one of its clusters.
    fn has_partition(&self, name: &TenancyName) -> bool {
        let all = self.cluster_partitions.iter().map(|(_, tenancy)| tenancy).chain([&self.default_tenancy]);
        all.filter_map(Tenancy::partition).any(|partition| partition == name)
    }

    /// An active task in a partition that the settings do not name is invalid, so that nothing is created for it. What it has left is
    /// removed when it stops.
    pub fn in_named_partition(&self, classified: Classification, phase: TaskPhase) -> Classification {
        match classified {
            Classification::Member(identity) if phase == TaskPhase::Active => {
                match self.check_partition(&identity.service.tenancy) {
                    Ok(()) => Classification::Member(identity),
                    Err(reason) => Classification::Invalid(reason),
                }
            }
            other => other,
        }
    }

    /// Refuses a tenancy that tags choose in a partition that the settings do not name.
    pub fn check_partition(&self, tenancy: &Tenancy) -> Result<(), InvalidField> {
        match tenancy.partition() {
            Some(name) if !self.has_partition(name) => Err(InvalidField::new(
                PARTITION_TAG,
                name.as_str(),
                "a partition in CONSUL_PARTITION or CLUSTER_PARTITIONS",
            )),
            _ => Ok(()),
        }
    }

    /// What decides which tokens a task requires.
    pub fn tokens(&self) -> TokenSettings<'_> {
        TokenSettings { mode: self.token_mode, names: &self.names }
    }

    /// The settings of a plan for events, at `now`.
    pub fn plan_settings(&self, now: Timestamp) -> PlanSettings<'_> {
        PlanSettings {
            mode: self.token_mode,
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

/// Which objects the bootstrap creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BootstrapExtent {
    /// All objects.
    Full,
    /// All but the auth method of client agents, which Consul Dataplane does not use.
    #[default]
    Dataplane,
    /// No objects: Consul is set up by other means.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootstrapScope {
    /// Which objects it creates.
    pub extent: BootstrapExtent,
    /// The path of the tasks' IAM roles.
    pub iam_role_path: IamRolePath,
}

/// The path of IAM roles that may log in.
///
/// Source: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IamRolePath(String);

impl IamRolePath {
    /// The ARN pattern of all roles with the path, in the account of `clusters`.
    pub fn principals(&self, clusters: &ClusterSelection) -> String {
        format!("arn:{}:iam::{}:role{}*", clusters.aws_partition(), clusters.account(), self.0)
    }
}

impl Default for IamRolePath {
    /// The path that the Terraform modules of Consul on ECS use.
    fn default() -> Self {
        Self("/consul-ecs/".to_owned())
    }
}

impl FromStr for IamRolePath {
    type Err = InvalidField;

    fn from_str(path: &str) -> Result<Self, InvalidField> {
        // IAM allows a star in a path, but here it would match roles with other paths.
        let legal = path.bytes().all(|b| b.is_ascii_graphic() && b != b'*');
        if legal && path.len() <= 512 && path.starts_with('/') && path.ends_with('/') {
            Ok(Self(path.to_owned()))
        } else {
            Err(InvalidField::new("IAM role path", path, "a path that begins and ends with '/', such as /consul-ecs/"))
        }
    }
}

impl fmt::Display for IamRolePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
