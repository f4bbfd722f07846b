//! The causes that `why` names.

use serde::Serialize;

/// Why a task or a service is as it is. Programs get its name in kebab-case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
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
    /// EC2 took the capacity back.
    SpotInterruption,
    /// Its container instance was terminated.
    InstanceTerminated,
    /// A deployment of another revision replaced it.
    Deployment,
    /// Its ECS service stopped it.
    StoppedByItsService,
    /// A caller used `StopTask`.
    StoppedByHand,
    /// It stops or has stopped, and ECS says nothing else.
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
    /// Its configuration sets `task-id` to that of another task.
    AnotherTasksId,
    /// Its proxy has stopped, and it goes on.
    ProxyStopped,
    /// Its tokens are gone.
    TokenDeleted,
    /// It could not log in.
    LoginRefused,
    /// It is in maintenance mode.
    Drained,
    /// Consul has lost it.
    LostFromTheCatalog,
    /// A container is unhealthy.
    NeverHealthy,
    /// The program that reports its health has stopped, and it goes on.
    HealthSyncStopped,
    /// Consul does not have it for another reason.
    NotRegistered,
    /// A check of it does not pass for another reason.
    NotPassing,
    /// ECS has lost contact with its agent.
    Disconnected,
    /// It is not up yet.
    Starting,
    /// Consul could not be read, and ECS reports nothing wrong.
    ConsulNotRead,
    /// Its task definition could not be read.
    DefinitionNotRead,
    /// ECS has forgotten it, and the log does not say how it ended.
    Forgotten,
    /// Neither ECS, Consul nor the log knows the task.
    UnknownTask,
    /// Its ECS service wants no task.
    ScaledToZero,
    /// Its tasks are stopping, and it wants no others.
    Stopping,
    /// ECS cannot start its tasks.
    NotPlaced,
    /// As `status` says it.
    NotAsItShouldBe,
    /// Neither ECS nor Consul has the service any more.
    Gone,
    /// Neither ECS, Consul nor the log knows the service.
    UnknownService,
}
