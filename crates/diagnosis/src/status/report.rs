//! What `status` answers, as it is printed and as programs read it.

use jiff::Timestamp;
use serde::Serialize;

use super::UntraceableLogins;
use crate::{inventory::Versions, tokens::TokenSource};

/// Whether something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All is as it should be.
    Healthy,
    /// The desired count is 0, and no task runs.
    ScaledToZero,
    /// Tasks are starting.
    Starting,
    /// Its tasks are stopping.
    Stopping,
    /// Consul could not be read.
    Unknown,
    /// Something is wrong.
    Faulty,
}

impl State {
    /// Whether no action or wait is needed.
    pub fn is_fine(self) -> bool {
        matches!(self, Self::Healthy | Self::ScaledToZero | Self::Stopping)
    }
}

/// What was last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A task was started.
    TaskStarted,
    /// A task has stopped.
    TaskStopped,
    /// The deployment of the ECS service changed.
    Deployment,
}

/// A change, and when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastChange {
    /// When it was.
    pub at: Timestamp,
    /// The kind of change.
    pub what: ChangeKind,
}

/// A deployment: several revisions run beside each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStatus {
    /// `blue/green`, `canary` or `linear`; null if it is a rolling one, or not of one ECS service.
    pub strategy: Option<String>,
    /// How many minutes both revisions run after the load balancer has shifted all requests.
    pub bake_minutes: Option<usize>,
    /// The revisions with running tasks, newest first.
    pub revisions: Vec<RevisionStatus>,
}

/// The running tasks of a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevisionStatus {
    /// `family:revision`.
    pub revision: String,
    /// How many tasks run.
    pub running_tasks: usize,
    /// How many of them are registered and pass all checks, so that they get requests; null if Consul could not be read.
    pub passing_tasks: Option<usize>,
}

/// A task, or an instance in Consul without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// Its ID.
    pub id: String,
    /// Its revision, `family:revision`; null if ECS does not know the task.
    pub revision: Option<String>,
    /// Its last status in ECS; null if ECS does not know the task.
    pub last_status: Option<String>,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// Whether Consul has an instance of it; null if Consul could not be read.
    pub is_registered: Option<bool>,
    /// Why no login token proves that Consul has admitted it as this service, if it is registered.
    pub unproven: Option<String>,
    /// Whether something is wrong.
    pub state: State,
    /// What is wrong, or `healthy`.
    pub verdict: String,
}

/// A service in Consul, in one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServiceStatus {
    /// The ARN of the cluster.
    pub cluster: String,
    /// The service in Consul.
    pub service: String,
    /// Its admin partition (Enterprise).
    pub partition: Option<String>,
    /// Its namespace (Enterprise).
    pub namespace: Option<String>,
    /// The ECS services that run its tasks.
    pub ecs_services: Vec<String>,
    /// The desired count of these ECS services; null if no ECS service runs the tasks.
    pub desired_tasks: Option<usize>,
    /// How many tasks run.
    pub running_tasks: usize,
    /// How many tasks of the cluster may be its too: ECS does not describe them, or their definition could not be read.
    pub unsorted_tasks: usize,
    /// How many of its instances Consul has; null if Consul could not be read.
    pub instances: Option<usize>,
    /// How many of these pass all checks.
    pub passing_instances: Option<usize>,
    /// The releases that its tasks run.
    pub versions: Versions,
    /// How its tasks get their tokens; several during a migration.
    pub tokens: Vec<TokenSource>,
    /// What was last changed.
    pub last_change: Option<LastChange>,
    /// The deployment in progress, if several revisions run.
    pub deployment: Option<DeploymentStatus>,
    /// Whether something is wrong.
    pub state: State,
    /// What is wrong, in one sentence, or `healthy`.
    pub verdict: String,
    /// All that is wrong, worst first.
    pub faults: Vec<String>,
    /// What is no fault, and differs from what its definitions say.
    pub notes: Vec<String>,
    /// Its tasks, and its instances in Consul without one.
    pub tasks: Vec<TaskStatus>,
}

impl ServiceStatus {
    /// What rows are sorted by.
    pub(super) fn place(&self) -> (&str, Option<&str>, Option<&str>, &str) {
        (&self.cluster, self.partition.as_deref(), self.namespace.as_deref(), &self.service)
    }

    pub fn cluster_name(&self) -> &str {
        self.cluster.rsplit('/').next().unwrap_or_default()
    }
}

/// The status of all services.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// When it was read.
    pub read_at: Timestamp,
    /// A row for each service and cluster.
    pub services: Vec<ServiceStatus>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
    /// Why the admission of the registered tasks is unknown.
    pub admission_unknown: Option<String>,
    /// The login tokens that name no task of the stack's clusters, by service; empty if only some clusters were asked for.
    pub untraceable_logins: Vec<UntraceableLogins>,
}

impl StatusReport {
    /// Whether every service is as it should be.
    pub fn is_fine(&self) -> bool {
        self.services.iter().all(|service| service.state.is_fine())
    }
}
