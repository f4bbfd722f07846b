//! The answer to `why`, and the causes that it names.

use jiff::Timestamp;
use serde::Serialize;

use super::log::ContainerLog;

/// Who did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The audit of the task definition.
    Audit,
    /// Amazon ECS.
    Ecs,
    /// The controller.
    Controller,
    /// Consul.
    Consul,
}

impl Who {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Ecs => "ECS",
            Self::Controller => "controller",
            Self::Consul => "Consul",
        }
    }
}

/// Something that happened, or the current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PastEvent {
    /// When it was.
    pub at: Timestamp,
    /// The actor, or the source of the statement.
    pub who: Who,
    /// What happened.
    pub what: String,
    /// How often it happened.
    pub times: usize,
    /// When it last happened.
    pub last_at: Timestamp,
}

/// Whether something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// All is as it should be.
    Healthy,
    /// It ended, or is ending, normally.
    Ended,
    /// It is still starting.
    Starting,
    /// Something is wrong.
    Faulty,
    /// No events were found, or too little could be read.
    Unknown,
}

/// What is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conclusion {
    pub(crate) condition: Condition,
    pub(crate) cause: WhyCause,
    /// One sentence.
    pub(crate) sentence: String,
    /// The log that explains it.
    pub(crate) log: Option<ContainerLog>,
}

impl Conclusion {
    pub(super) fn faulty(cause: WhyCause, sentence: impl Into<String>) -> Self {
        Self { condition: Condition::Faulty, cause, sentence: sentence.into(), log: None }
    }

    pub(super) fn ended(cause: WhyCause, sentence: impl Into<String>) -> Self {
        Self { condition: Condition::Ended, cause, sentence: sentence.into(), log: None }
    }

    pub(super) fn starting(cause: WhyCause, sentence: impl Into<String>) -> Self {
        Self { condition: Condition::Starting, cause, sentence: sentence.into(), log: None }
    }

    pub(super) fn unknown(cause: WhyCause, sentence: impl Into<String>) -> Self {
        Self { condition: Condition::Unknown, cause, sentence: sentence.into(), log: None }
    }

    /// The same, with the log that explains it.
    pub(super) fn with_log(self, log: impl Into<Option<ContainerLog>>) -> Self {
        Self { log: log.into(), ..self }
    }

    pub(super) fn healthy() -> Self {
        Self { condition: Condition::Healthy, cause: WhyCause::Healthy, sentence: "healthy".to_owned(), log: None }
    }
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WhySubject {
    /// The ID of the task; null if the question is about a service.
    pub task: Option<String>,
    /// The service in Consul, if it is known.
    pub service: Option<String>,
    /// The ARN of the cluster, if it is known.
    pub cluster: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WhyReport {
    /// When it was read.
    pub read_at: Timestamp,
    /// Since when the log was read.
    pub since: Timestamp,
    /// What it is about.
    pub subject: WhySubject,
    /// What happened, oldest first, and at the end the current state.
    pub timeline: Vec<PastEvent>,
    /// Whether something is wrong.
    pub condition: Condition,
    /// The cause.
    pub cause: WhyCause,
    /// What is wrong and what to do, in one sentence.
    pub conclusion: String,
    /// The log of the container that the conclusion names; null if it names none.
    pub log: Option<ContainerLog>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// The cause of a task's or service's state. Programs get its name in kebab-case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WhyCause {
    /// Nothing is wrong.
    Healthy,
    /// The task or the service is not in the mesh.
    NotInTheMesh,
    /// The task has stopped, and Consul still has its instances.
    LeftInConsul,
    /// Still in Consul because the guard is holding back deletions or corrections in the cluster.
    HeldBackByTheGuard,
    /// The controller is in mode `observe` and changes nothing.
    OnlyObserved,
    /// The controller's work for it failed.
    ControllerFailed,
    /// EC2 reclaimed the capacity.
    SpotInterruption,
    /// Its container instance was terminated, or drained.
    InstanceTerminated,
    /// A deployment of another revision replaced it.
    Deployment,
    /// Its ECS service stopped it.
    StoppedByItsService,
    /// A caller used `StopTask`.
    StoppedByHand,
    /// It stops or has stopped, and ECS gives no cause.
    Stopped,
    /// The program that registers it failed.
    MeshInitFailed,
    /// An image could not be pulled.
    ImagePullFailed,
    /// A secret could not be read, or something else that it needs before its start.
    SecretNotReadable,
    /// A container used too much memory.
    OutOfMemory,
    /// A health check failed, and its service replaced it.
    HealthCheckFailed,
    /// An essential container exited.
    EssentialContainerExited,
    /// ECS could not start it for another reason.
    FailedToStart,
    /// Its configuration sets `task-id` to the ID of another task.
    AnotherTasksId,
    /// Its proxy has stopped, while the task still runs.
    ProxyStopped,
    /// Its tokens are gone.
    TokenDeleted,
    /// It could not log in.
    LoginRefused,
    /// It is in maintenance mode.
    Drained,
    /// Consul has lost it.
    LostFromTheCatalog,
    /// Its sidecar proxy has a check of another program, with which health-sync does not start.
    ForeignCheck,
    /// It is registered at 127.0.0.1, where no other task finds it.
    RegisteredAtLoopback,
    /// A container is unhealthy.
    NeverHealthy,
    /// The program that reports its health has stopped, while the task still runs.
    HealthSyncStopped,
    /// Consul does not have it for another reason.
    NotRegistered,
    /// One of its checks fails for another reason.
    NotPassing,
    /// ECS has lost contact with its agent.
    Disconnected,
    /// It is still starting.
    Starting,
    /// Consul could not be read, and ECS reports nothing wrong.
    ConsulNotRead,
    /// Its task definition could not be read.
    DefinitionNotRead,
    /// ECS reports a status of it that this version does not know.
    StatusUnknown,
    /// ECS no longer knows it, and the log does not say how it ended.
    Forgotten,
    /// Neither ECS, Consul nor the log knows the task.
    UnknownTask,
    /// The desired count of its ECS service is 0.
    ScaledToZero,
    /// Its tasks are stopping, and ECS starts no others.
    Stopping,
    /// ECS cannot start its tasks.
    NotPlaced,
    /// As `status` says it.
    NotAsItShouldBe,
    /// Neither ECS nor Consul knows the service any longer.
    Gone,
    /// Neither ECS, Consul nor the log knows the service.
    UnknownService,
}
