//! The controller: observes what ECS and Consul hold, plans, and applies the plan.
//!
//! ```text
//! events ─▶ message ─▶ observe ─▶ mesh::plan ─▶ apply ─▶ tokens · drain · clear
//!                                                  └──▶ idle check, later ─▶ tokens
//! deployment ─▶ preflight ─▶ bootstrap
//! ```

mod apply;
mod batch;
mod bootstrap;
mod cleanup;
mod clock;
mod cluster_tasks;
mod dead_nodes;
mod deadline;
mod demand;
mod entropy;
mod error;
mod health_sync;
mod idle_check;
mod message;
mod observe;
mod pre_provision;
mod preflight;
mod remembered;
pub mod settings;
mod sweep;
mod tokens;
mod variables;
mod work;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use jiff::SignedDuration;

pub use self::{
    batch::{BatchReport, Delivery, Failure},
    bootstrap::{BootstrapError, BootstrapFailure, BootstrapReport},
    cleanup::CleanupReport,
    clock::{Clock, SystemClock},
    deadline::Deadline,
    entropy::{Entropy, SystemEntropy},
    error::ControllerError,
    health_sync::HealthReport,
    preflight::{Lack, PreflightError},
    sweep::{ClusterReport, Counts, ProblemReport, SweepOrder, SweepOutcome, SweepReport},
};
use self::{bootstrap::SetUp, remembered::Remembered};
use crate::{
    consul::{Consul, ConsulBootstrap},
    ecs::Ecs,
    queue::Queue,
    secrets::SecretStore,
};
use mesh::{
    arn::ClusterArn,
    bootstrap::BootstrapScope,
    bounds::Bounds,
    guard::MaxDeletePercent,
    identity::MeshService,
    idleness::GracePeriod,
    plan::{Rules, TokenMode},
    secret::Trigger,
    secret_name::SecretNames,
    tenancy::Tenancy,
    token::TokenHolder,
};

/// How many tasks one `DescribeTasks` takes.
const DESCRIBED_AT_ONCE: usize = 100;
/// How many calls to one service are under way at once.
const CONCURRENCY: usize = 8;

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
    pub unused_for: SignedDuration,
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
}

/// Everything outside the process.
#[derive(Clone)]
pub struct Edges {
    /// Consul.
    pub consul: Arc<dyn Consul>,
    /// Consul, as it is set up.
    pub bootstrap: Arc<dyn ConsulBootstrap>,
    /// ECS.
    pub ecs: Arc<dyn Ecs>,
    /// Secrets Manager.
    pub secrets: Arc<dyn SecretStore>,
    /// The function's own queue.
    pub queue: Arc<dyn Queue>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// The controller of one deployment, in one environment.
pub struct Controller {
    scope: Scope,
    edges: Edges,
    /// Until when the holder's token needs no look: see [`Bounds::without_a_look_until`].
    relied: Remembered<TokenHolder>,
    /// When a look at each service was last asked for, so that a deployment of thousands of tasks asks for few: each look lists
    /// every task of every cluster.
    asked: Remembered<MeshService>,
    /// When this environment last set Consul up, and for which clusters.
    set_up: Mutex<Option<SetUp>>,
}

impl Controller {
    /// A controller that relies on nothing yet.
    #[must_use]
    pub fn new(scope: Scope, edges: Edges) -> Self {
        Self { scope, edges, relied: Remembered::new(), asked: Remembered::new(), set_up: Mutex::default() }
    }

    /// Whether `cluster` is one of the configured ones.
    #[must_use]
    pub fn looks_after(&self, cluster: &ClusterArn) -> bool {
        self.scope.clusters.contains(cluster)
    }

    fn rules(&self) -> Rules<'_> {
        Rules {
            mode: self.scope.mode,
            clusters: &self.scope.clusters,
            names: &self.scope.names,
            grace: self.scope.grace,
            bounds: &self.scope.bounds,
            unused_for: self.scope.unused_for,
            trigger: Trigger::Event,
            now: self.edges.clock.now(),
        }
    }
}
