//! Why a call to Consul or AWS failed, or why its answer cannot be used.

use aws::{ec2::Ec2Error, ecs::EcsError, iam::IamError, queue::QueueError, sdk::denied_action, secrets::SecretsError};
use consul::ConsulError;
use mesh::{
    arn::{ClusterArn, TaskArn},
    names::InvalidField,
};
use report::{Cause, ErrorLabel};

use crate::clock::{OutOfTime, Timed};

/// Why something is not known: a call failed, its answer cannot be used, or it was not made.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// A tag or a name is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error(transparent)]
    Consul(#[from] ConsulError),
    #[error(transparent)]
    Ecs(#[from] EcsError),
    #[error(transparent)]
    Ec2(#[from] Ec2Error),
    #[error(transparent)]
    Iam(#[from] IamError),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// ECS sent an event of the task, but does not describe it yet: its answers lag behind its events.
    #[error("task {0}: ECS sent an event but does not describe the task yet; trying again")]
    NotDescribedYet(TaskArn),
    /// One owner has more of something than is handled at once.
    #[error("{what}: {waiting} wait, because at most {most} are handled at once")]
    OverLimit { what: String, most: usize, waiting: usize },
    #[error(transparent)]
    OutOfTime(#[from] OutOfTime),
}

macro_rules! timed {
    ($($error:ty),+) => {
        $(impl Timed for $error {
            type Error = CallError;
        })+
    };
}

timed!(CallError, ConsulError, EcsError, Ec2Error, IamError, SecretsError, QueueError);

/// How far an error reaches. docs/reference/errors.md has the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// No credential, no Consul, no permission, wrong settings or no time: nothing else would succeed either.
    Everything,
    /// One token, secret, definition, task, service, cluster or namespace. Everything else goes on without it.
    Thing,
}

impl CallError {
    /// The error in a report; of a cluster, if it concerns one.
    pub fn problem(&self, cluster: Option<&ClusterArn>) -> report::Problem {
        let unknown = if let Self::Ecs(EcsError::UnknownCluster(unknown)) = self { Some(unknown) } else { None };
        report::Problem { cause: self.cause(), ..report::Problem::new(unknown.or(cluster), self.label(), self) }
    }

    /// The cause, where what helps follows from it.
    pub fn cause(&self) -> Option<Cause> {
        let permission = match self {
            Self::Consul(error @ ConsulError::PermissionDenied { .. }) => error.missing_permission().map(str::to_owned),
            Self::Ecs(EcsError::Refused { reason, .. }) | Self::Secrets(SecretsError::Denied { reason, .. }) => {
                denied_action(reason).map(str::to_owned)
            }
            Self::Ec2(Ec2Error::Refused { action, .. }) => Some(format!("ec2:{action}")),
            Self::Iam(IamError::Refused { .. }) => Some("iam:GetRole".to_owned()),
            Self::Ecs(EcsError::UnknownCluster(_)) => return Some(Cause::UnknownCluster),
            Self::Consul(ConsulError::CredentialRejected { .. }) => return Some(Cause::UnknownToken),
            Self::Consul(ConsulError::CredentialUnreadable { .. }) => return Some(Cause::UnusableToken),
            Self::Consul(ConsulError::Unavailable { reason, .. }) => {
                return Some(Cause::NoAnswer { reason: reason.clone() });
            }
            Self::Consul(ConsulError::Malformed { subject, reason }) => {
                return Some(Cause::MalformedAnswer { reason: format!("{subject}: {reason}") });
            }
            _ => return None,
        };
        Some(Cause::Denied { permission })
    }

    /// How far it reaches. A call without an answer or a permission reaches everything, because the next one would have none either.
    pub fn reach(&self) -> Reach {
        match self {
            Self::Invalid(_)
            | Self::Consul(
                ConsulError::NotFound { .. }
                | ConsulError::Conflict { .. }
                | ConsulError::Refused { status: ..=499, .. },
            )
            | Self::Ecs(
                EcsError::UnknownTaskDefinition(_)
                | EcsError::UnknownCluster(_)
                | EcsError::NotDescribed(_)
                | EcsError::NoAddress { .. }
                | EcsError::Malformed { .. },
            )
            | Self::Iam(IamError::Refused { .. } | IamError::Malformed { .. })
            | Self::Secrets(
                SecretsError::NotOurs(_)
                | SecretsError::RolledBack { .. }
                | SecretsError::Unusable { .. }
                | SecretsError::Exhausted { .. }
                | SecretsError::Changed { .. }
                | SecretsError::MarkedForDeletion { .. }
                | SecretsError::Unknown { .. },
            )
            // The hosts that ECS has lost contact with.
            | Self::Ec2(_)
            | Self::NotDescribedYet(_)
            | Self::OverLimit { .. } => Reach::Thing,
            Self::Consul(
                ConsulError::CredentialRejected { .. }
                | ConsulError::CredentialUnreadable { .. }
                | ConsulError::AclsDisabled { .. }
                | ConsulError::PermissionDenied { .. }
                | ConsulError::Throttled { .. }
                | ConsulError::Unavailable { .. }
                | ConsulError::Refused { .. }
                | ConsulError::Malformed { .. }
                | ConsulError::TooLarge { .. },
            )
            | Self::Ecs(EcsError::Failed { .. } | EcsError::Refused { .. })
            | Self::Iam(IamError::Failed { .. })
            | Self::Secrets(SecretsError::Failed { .. } | SecretsError::Denied { .. } | SecretsError::Refused { .. })
            | Self::Queue(_)
            | Self::OutOfTime(_) => Reach::Everything,
        }
    }

    /// Whether only an author can correct it, of a task definition or of a secret. A retry cannot help; sweeps report it until then.
    pub fn needs_correction(&self) -> bool {
        use SecretsError::{Exhausted, MarkedForDeletion, NotOurs, RolledBack, Unusable};
        match self {
            Self::Invalid(_) => true,
            Self::Secrets(error) => matches!(
                error,
                Exhausted { .. } | MarkedForDeletion { .. } | NotOurs(_) | RolledBack { .. } | Unusable { .. }
            ),
            _ => false,
        }
    }

    /// The invalid field, if there is one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid(invalid) | Self::Secrets(SecretsError::NotOurs(invalid)) => Some(invalid.field()),
            _ => None,
        }
    }

    /// Whether an object has changed since it was read.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Consul(ConsulError::Conflict { .. }))
    }

    /// Whether ECS does not know the task definition, because it was deleted.
    pub(crate) fn is_unknown_definition(&self) -> bool {
        matches!(self, Self::Ecs(EcsError::UnknownTaskDefinition(_)))
    }

    /// A short label for metrics and log queries.
    pub fn label(&self) -> ErrorLabel {
        match self {
            Self::Invalid(_) => ErrorLabel::Invalid,
            Self::Consul(ConsulError::NotFound { .. }) => ErrorLabel::ConsulNotFound,
            Self::Consul(ConsulError::AclsDisabled { .. }) => ErrorLabel::ConsulAclsDisabled,
            Self::Consul(ConsulError::CredentialRejected { .. }) => ErrorLabel::ConsulCredentialRejected,
            Self::Consul(ConsulError::CredentialUnreadable { .. }) => ErrorLabel::ConsulCredentialUnreadable,
            Self::Consul(ConsulError::PermissionDenied { .. }) => ErrorLabel::ConsulPermissionDenied,
            Self::Consul(ConsulError::Conflict { .. }) => ErrorLabel::ConsulConflict,
            Self::Consul(ConsulError::Throttled { .. }) => ErrorLabel::ConsulThrottled,
            Self::Consul(ConsulError::Unavailable { .. }) => ErrorLabel::ConsulUnavailable,
            Self::Consul(ConsulError::Refused { .. }) => ErrorLabel::ConsulRefused,
            Self::Consul(ConsulError::Malformed { .. } | ConsulError::TooLarge { .. }) => ErrorLabel::ConsulMalformed,
            Self::Ecs(EcsError::Refused { .. })
            | Self::Ec2(Ec2Error::Refused { .. })
            | Self::Iam(IamError::Refused { .. })
            | Self::Secrets(SecretsError::Denied { .. }) => ErrorLabel::AwsRefused,
            Self::Ecs(_) => ErrorLabel::Ecs,
            Self::Ec2(_) => ErrorLabel::Ec2,
            Self::Iam(_) => ErrorLabel::Iam,
            Self::Secrets(_) => ErrorLabel::Secrets,
            Self::Queue(_) => ErrorLabel::Queue,
            Self::NotDescribedYet(_) => ErrorLabel::NotDescribedYet,
            Self::OverLimit { .. } => ErrorLabel::OverLimit,
            Self::OutOfTime(_) => ErrorLabel::OutOfTime,
        }
    }
}
