//! The errors of the controller.

use std::sync::Arc;

use aws::{ec2::Ec2Error, ecs::EcsError, iam::IamError, queue::QueueError, secrets::SecretsError};
use consul::ConsulError;
use mesh::{arn::ClusterArn, names::InvalidField, token::AccessorId};
use observe::{CallError, OutOfTime, Reach, Timed};
use report::ErrorLabel;

/// Why the work of a message failed. The message returns to the queue, and after `maxReceiveCount` receives moves to
/// the dead-letter queue, unless [only an author can correct it](Self::needs_correction).
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// A call failed, or its answer cannot be used.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The message cannot be parsed.
    #[error(transparent)]
    Unreadable(InvalidField),
    /// The task is stopped, but Consul still reports its client agent as alive.
    #[error("Consul client agent {0}: its task is stopped, but Consul still reports it as alive; trying again")]
    AgentStillAlive(String),
    /// The token in a secret was deleted in Consul, and another creator wrote the secret: anyone who may write the secret could
    /// otherwise have Consul create a token of their choice.
    #[error(
        "secret {secret}: Consul does not have its token {accessor}, and the controller has not written the secret, so it does not \
         create the token again. Set the secret to {{}}: then the controller creates another token"
    )]
    NotRestored { secret: String, accessor: AccessorId },
    /// A sweep that the controller ordered itself could not read or do everything.
    #[error("{what} is incomplete: {reasons}")]
    NotSwept { what: &'static str, reasons: String },
    /// An object that a task needs could not be created in Consul.
    #[error("{0}")]
    NotSetUp(String),
    /// Consul refused to register a task, or to create its namespace: its configuration or its tags are not valid there.
    #[error("{0}; correct the task's configuration or tags")]
    RefusedByConsul(#[source] ConsulError),
    /// A defect of the controller.
    #[error("the controller panicked. This is a defect: report the line \"panicked at\" before this one")]
    Panicked,
}

macro_rules! calls {
    ($($error:ty),+) => {
        $(impl From<$error> for ControllerError {
            fn from(error: $error) -> Self {
                Self::Call(error.into())
            }
        })+
    };
}

calls!(ConsulError, EcsError, Ec2Error, IamError, SecretsError, QueueError, InvalidField, OutOfTime);

impl Timed for ControllerError {
    type Error = Self;
}

impl ControllerError {
    /// The error, for several tasks or messages.
    pub(crate) fn shared(error: impl Into<Self>) -> Arc<Self> {
        Arc::new(error.into())
    }

    /// The error in a report; of a cluster, if it concerns one.
    pub(crate) fn problem(&self, cluster: Option<&ClusterArn>) -> report::Problem {
        match self {
            Self::Call(error) => error.problem(cluster),
            other => report::Problem::new(cluster, other.label(), other),
        }
    }

    /// How far it reaches.
    pub fn reach(&self) -> Reach {
        match self {
            Self::Call(error) => error.reach(),
            Self::Unreadable(_)
            | Self::NotRestored { .. }
            // Consul answers with status 500 to a registration that is not valid.
            | Self::RefusedByConsul(_)
            | Self::NotSetUp(_)
            | Self::AgentStillAlive(_) => Reach::Thing,
            Self::NotSwept { .. } | Self::Panicked => Reach::Everything,
        }
    }

    /// Whether only an author can correct it, of a task definition or of a secret. A retry cannot help; sweeps report it until then.
    pub(crate) fn needs_correction(&self) -> bool {
        match self {
            Self::Call(error) => error.needs_correction(),
            Self::NotRestored { .. } | Self::RefusedByConsul(_) => true,
            _ => false,
        }
    }

    /// Whether the message has to wait for another version of the controller.
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::Panicked)
    }

    /// The invalid field, if there is one.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Unreadable(invalid) => Some(invalid.field()),
            Self::Call(error) => error.field(),
            _ => None,
        }
    }

    /// Whether an object has changed since it was read.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_conflict())
    }

    /// A short label for metrics and log queries.
    pub fn label(&self) -> ErrorLabel {
        match self {
            Self::Call(error) => error.label(),
            Self::Unreadable(_) => ErrorLabel::Invalid,
            Self::RefusedByConsul(_) => ErrorLabel::ConsulRefused,
            Self::NotRestored { .. } => ErrorLabel::Secrets,
            Self::NotSetUp(_) => ErrorLabel::Bootstrap,
            Self::AgentStillAlive(_) => ErrorLabel::AgentStillAlive,
            Self::NotSwept { .. } => ErrorLabel::NotSwept,
            Self::Panicked => ErrorLabel::Panicked,
        }
    }
}

#[cfg(test)]
mod tests {
    use aws::{ec2::Ec2Error, ecs::EcsError, secrets::SecretsError};
    use mesh::arn::TaskArn;
    use observe::TokenOwner;

    use super::*;

    const PAGE: &str = include_str!("../../../docs/reference/errors.md");

    /// The labels and reaches in the page's table.
    fn rows() -> Vec<(String, Reach)> {
        let (_, table) = PAGE.split_once("| fault | label | reaches |").expect("the table");
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<&str>>());
        let row = |cells: Vec<&str>| {
            assert!(cells.len() == 7 && cells.iter().skip(1).take(5).all(|cell| !cell.is_empty()), "{cells:?}");
            let reach = if cells[3] == "everything" { Reach::Everything } else { Reach::Thing };
            cells[2].split(", ").map(move |label| (label.trim_matches('`').to_owned(), reach)).collect::<Vec<_>>()
        };
        cells.flat_map(row).collect()
    }

    fn examples() -> Vec<ControllerError> {
        let text = || "x".to_owned();
        let invalid = || InvalidField::new("name", "x", "a name");
        let consul: [ConsulError; 12] = [
            ConsulError::NotFound { subject: text() },
            ConsulError::CredentialRejected { subject: text(), token: TokenOwner::Controller },
            ConsulError::AclsDisabled { subject: text() },
            ConsulError::PermissionDenied { subject: text(), token: TokenOwner::Controller, reason: text() },
            ConsulError::Conflict { subject: text(), reason: text() },
            ConsulError::Throttled { subject: text(), retry_after: None },
            ConsulError::Unavailable { subject: text(), reason: text(), had_no_effect: true },
            ConsulError::Refused { subject: text(), status: 400, reason: text() },
            ConsulError::Refused { subject: text(), status: 500, reason: text() },
            ConsulError::Malformed { subject: text(), reason: text() },
            ConsulError::TooLarge { subject: text(), limit: 32 },
            ConsulError::CredentialUnreadable { token: TokenOwner::Controller, reason: text(), is_denied: false },
        ];
        let cluster: ClusterArn = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap();
        let task = TaskArn::in_cluster(&cluster, &"0123456789abcdef0123456789abcdef".parse().unwrap());
        let definition = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7".parse().unwrap();
        let mut all: Vec<ControllerError> = consul.into_iter().map(ControllerError::from).collect();
        all.extend([
            invalid().into(),
            ControllerError::Unreadable(invalid()),
            EcsError::UnknownTaskDefinition(definition).into(),
            EcsError::UnknownCluster(cluster).into(),
            EcsError::NotDescribed(task.clone()).into(),
            EcsError::Failed { subject: text(), reason: text() }.into(),
            EcsError::Refused { subject: text(), reason: text() }.into(),
            SecretsError::NotOurs(invalid()).into(),
            SecretsError::RolledBack { name: text() }.into(),
            SecretsError::MarkedForDeletion { name: text() }.into(),
            SecretsError::Exhausted { name: text() }.into(),
            SecretsError::Unusable { name: text(), reason: text() }.into(),
            SecretsError::Failed { name: text(), reason: text() }.into(),
            SecretsError::Denied { name: text(), reason: text() }.into(),
            Ec2Error::Refused { action: "DescribeInstances", reason: text() }.into(),
            Ec2Error::Failed { action: "DescribeInstances", reason: text() }.into(),
            ControllerError::RefusedByConsul(ConsulError::Refused { subject: text(), status: 500, reason: text() }),
            ControllerError::NotRestored { secret: text(), accessor: AccessorId::new(uuid::Uuid::nil()) },
            ControllerError::NotSetUp(text()),
            CallError::NotDescribedYet(task).into(),
            CallError::OverLimit { what: text(), most: 1, waiting: 1 }.into(),
            ControllerError::AgentStillAlive(text()),
            ControllerError::NotSwept { what: "a recheck", reasons: text() },
            OutOfTime.into(),
            ControllerError::Panicked,
        ]);
        all
    }

    #[test]
    fn the_page_says_how_far_each_error_reaches() {
        let rows = rows();
        for error in examples() {
            let row = (error.label().as_str().to_owned(), error.reach());
            assert!(rows.contains(&row), "no row says that {row:?}: {error}");
        }
        // A label has one row for each reach that its errors have.
        let (_, labels) = PAGE.split_once("\n## Labels\n").expect("the labels");
        let labels = labels.split("\n## ").next().unwrap().lines().filter_map(|line| line.strip_prefix("| `"));
        for label in labels.flat_map(|line| line.split(" | ").next().unwrap().split(", ")) {
            let label = label.trim_matches('`');
            assert!(rows.iter().any(|(known, _)| known == label), "no row for {label}");
        }
    }
}
