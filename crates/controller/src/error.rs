//! Why something could not be done.

use std::{collections::BTreeMap, sync::Arc};

use aws::{ecs::EcsError, queue::QueueError, secrets::SecretsError};
use consul::ConsulError;
use mesh::{arn::TaskArn, field::InvalidField};

/// Why each task that failed did.
pub(crate) type Failures = BTreeMap<TaskArn, Arc<ControllerError>>;

/// The same reason for each of `tasks`.
pub(crate) fn fail_all<'a>(tasks: impl IntoIterator<Item = &'a TaskArn>, error: ControllerError) -> Failures {
    let error = Arc::new(error);
    tasks.into_iter().map(|task| (task.clone(), Arc::clone(&error))).collect()
}

/// Why a message's work is not done. The message goes back to the queue, and after too many tries to the
/// dead-letter queue.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// Something in the message or in a task's tags cannot be understood: trying again will not help.
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    /// Consul.
    #[error(transparent)]
    Consul(#[from] ConsulError),
    /// ECS.
    #[error(transparent)]
    Ecs(#[from] EcsError),
    /// Secrets Manager.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// SQS.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// ECS told of the task, but does not describe it yet: its answers lag behind its events.
    #[error("task {0}: ECS does not describe it yet, although its event is new; trying again")]
    NotDescribedYet(TaskArn),
    /// The task is gone, but Consul has not noticed yet that its client agent is.
    #[error("Consul client agent {0}: its task is stopped, but Consul still takes it for alive; looking again")]
    AgentStillAlive(String),
    /// One error that several things failed for.
    #[error(transparent)]
    Shared(#[from] Arc<ControllerError>),
    /// The invocation ended before the work did.
    #[error("time ran out before the work was done; trying again")]
    OutOfTime,
}

impl ControllerError {
    /// Whether trying again could help.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::Secrets(SecretsError::RolledBack { .. }) => true,
            Self::Shared(error) => error.is_permanent(),
            _ => false,
        }
    }

    /// The field that cannot be understood, if that is why.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid(invalid) | Self::Secrets(SecretsError::NotOurs(invalid)) => Some(invalid.field()),
            Self::Shared(error) => error.field(),
            _ => None,
        }
    }

    /// Whether it only says that what was seen has changed meanwhile.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Consul(ConsulError::Conflict { .. }))
    }

    /// Whether ECS has deleted the task definition that was asked for.
    pub(crate) fn is_unknown_definition(&self) -> bool {
        matches!(self, Self::Ecs(EcsError::UnknownTaskDefinition(_)))
    }

    /// A short label for metrics and log queries.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "invalid",
            Self::Consul(ConsulError::NotFound { .. }) => "consul_not_found",
            Self::Consul(ConsulError::CredentialRejected { .. }) => "consul_credential_rejected",
            Self::Consul(ConsulError::CredentialUnreadable { .. }) => "consul_credential_unreadable",
            Self::Consul(ConsulError::PermissionDenied { .. }) => "consul_permission_denied",
            Self::Consul(ConsulError::Conflict { .. }) => "consul_conflict",
            Self::Consul(ConsulError::Throttled { .. }) => "consul_throttled",
            Self::Consul(ConsulError::Unavailable { .. }) => "consul_unavailable",
            Self::Consul(ConsulError::Refused { .. }) => "consul_refused",
            Self::Consul(ConsulError::Malformed { .. }) => "consul_malformed",
            Self::Ecs(_) => "ecs",
            Self::Secrets(_) => "secrets",
            Self::Queue(_) => "queue",
            Self::NotDescribedYet(_) => "not_described_yet",
            Self::AgentStillAlive(_) => "agent_still_alive",
            Self::Shared(error) => error.label(),
            Self::OutOfTime => "out_of_time",
        }
    }
}
