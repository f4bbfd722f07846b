//! The causes that `why` names.

use serde::Serialize;

/// Why a task or a service is as it is. Programs get its name in kebab-case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// All is as it should be.
    Healthy,
    /// It is not one of the mesh.
    NotInTheMesh,
    /// It has stopped, and Consul still has its instances.
    LeftInConsul,
    /// It is still in Consul, and the guard held back deletions or corrections in its cluster.
    HeldBackByTheGuard,
    /// So, because the controller only observes.
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
    /// Somebody called `StopTask`.
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
    /// Nobody knows the task.
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
    /// Nobody knows the service.
    UnknownService,
}
