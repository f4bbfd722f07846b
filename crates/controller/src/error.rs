//! The errors of the controller, and what planned actions came to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::{ec2::Ec2Error, ecs::EcsError, iam::IamError, queue::QueueError, secrets::SecretsError};
use consul::ConsulError;
use futures::{StreamExt, stream};
use mesh::{
    arn::{ClusterArn, TaskArn},
    names::InvalidField,
    plan::Planned,
    secret::StoredSecret,
    task::TaskChange,
    token::{AccessorId, TokenHolder},
};
use report::ErrorLabel;

/// Why the work of a message failed. The message returns to the queue, and after `maxReceiveCount` receives moves to
/// the dead-letter queue, unless [only an author can correct it](Self::needs_correction).
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// A tag or a name is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    /// The message cannot be parsed.
    #[error(transparent)]
    Unreadable(InvalidField),
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
    /// A second look at tasks that ECS did not know could not read or remove everything.
    #[error("the second look at unknown tasks failed: {0}")]
    NotLookedAgain(String),
    /// An object that a task needs could not be created in Consul.
    #[error("{0}")]
    NotSetUp(String),
    /// One owner has more of something than is handled at once.
    #[error("{what}: {waiting} wait, because at most {most} are handled at once")]
    OverLimit { what: String, most: usize, waiting: usize },
    /// Consul refused to register a task, or to create its namespace: its configuration or its tags are not valid there.
    #[error("{0}; correct the task's configuration or tags")]
    NotRegistered(#[source] ConsulError),
    /// An error that several tasks or messages share.
    #[error(transparent)]
    Shared(#[from] Arc<ControllerError>),
    /// Time ran out before the work was done.
    #[error("time ran out before the work was done; trying again")]
    OutOfTime,
    /// A defect of the controller.
    #[error("the controller panicked. This is a defect: report the line \"panicked at\" before this one")]
    Panicked,
}

/// How far an error reaches. docs/reference/errors.md has the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// No credential, no Consul, no permission, wrong settings or no time: nothing else would succeed either.
    Everything,
    /// One token, secret, definition, task, service, cluster or namespace. Everything else goes on without it.
    Thing,
}

impl ControllerError {
    /// The error in a report; of a cluster, if it concerns one.
    pub(crate) fn problem(&self, cluster: Option<&ClusterArn>) -> report::Problem {
        let (label, reason) = (self.label(), self.to_string());
        report::Problem { cluster_arn: cluster.map(ToString::to_string), owner: None, label, reason }
    }

    /// How far it reaches. A call without an answer or a permission reaches everything, because the next one would have none either.
    pub fn reach(&self) -> Reach {
        match self {
            Self::Shared(error) => error.reach(),
            Self::Invalid(_)
            | Self::Unreadable(_)
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
            | Self::Iam(IamError::Malformed { .. })
            | Self::Secrets(
                SecretsError::NotOurs(_)
                | SecretsError::RolledBack { .. }
                | SecretsError::Unusable { .. }
                | SecretsError::Exhausted { .. }
                | SecretsError::Changed { .. }
                | SecretsError::MarkedForDeletion { .. }
                | SecretsError::Unknown { .. },
            )
            | Self::NotRestored { .. }
            // The hosts that ECS has lost contact with.
            | Self::Ec2(_)
            // Consul answers with status 500 to a registration that is not valid.
            | Self::NotRegistered(_)
            | Self::NotDescribedYet(_)
            | Self::NotSetUp(_)
            | Self::OverLimit { .. }
            | Self::AgentStillAlive(_) => Reach::Thing,
            Self::Consul(
                ConsulError::CredentialRejected { .. }
                | ConsulError::CredentialUnreadable { .. }
                | ConsulError::AclsDisabled { .. }
                | ConsulError::PermissionDenied { .. }
                | ConsulError::Throttled { .. }
                | ConsulError::Unavailable { .. }
                | ConsulError::Refused { .. }
                | ConsulError::Malformed { .. },
            )
            | Self::Ecs(EcsError::Failed { .. })
            | Self::Iam(IamError::Failed { .. })
            | Self::Secrets(SecretsError::Failed { .. } | SecretsError::Denied { .. } | SecretsError::Refused { .. })
            | Self::Queue(_)
            | Self::NotLookedAgain(_)
            | Self::OutOfTime
            | Self::Panicked => Reach::Everything,
        }
    }

    /// Whether only an author can correct it, of a task definition or of a secret. A retry cannot help; sweeps report it until then.
    pub(crate) fn needs_correction(&self) -> bool {
        use SecretsError::{Exhausted, MarkedForDeletion, NotOurs, RolledBack, Unusable};
        match self {
            Self::Invalid(_) | Self::NotRestored { .. } | Self::NotRegistered(_) => true,
            Self::Secrets(error) => {
                matches!(
                    error,
                    Exhausted { .. } | MarkedForDeletion { .. } | NotOurs(_) | RolledBack { .. } | Unusable { .. }
                )
            }
            Self::Shared(error) => error.needs_correction(),
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
            Self::Invalid(invalid) | Self::Unreadable(invalid) | Self::Secrets(SecretsError::NotOurs(invalid)) => {
                Some(invalid.field())
            }
            Self::Shared(error) => error.field(),
            _ => None,
        }
    }

    /// Whether an object has changed since it was read.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Consul(ConsulError::Conflict { .. }))
    }

    /// Whether ECS does not know the task definition, because it was deleted.
    pub(crate) fn is_unknown_definition(&self) -> bool {
        matches!(self, Self::Ecs(EcsError::UnknownTaskDefinition(_)))
    }

    /// A short label for metrics and log queries.
    pub fn label(&self) -> ErrorLabel {
        match self {
            Self::Invalid(_) | Self::Unreadable(_) => ErrorLabel::Invalid,
            Self::Consul(ConsulError::NotFound { .. }) => ErrorLabel::ConsulNotFound,
            Self::Consul(ConsulError::AclsDisabled { .. }) => ErrorLabel::ConsulAclsDisabled,
            Self::Consul(ConsulError::CredentialRejected { .. }) => ErrorLabel::ConsulCredentialRejected,
            Self::Consul(ConsulError::CredentialUnreadable { .. }) => ErrorLabel::ConsulCredentialUnreadable,
            Self::Consul(ConsulError::PermissionDenied { .. }) => ErrorLabel::ConsulPermissionDenied,
            Self::Consul(ConsulError::Conflict { .. }) => ErrorLabel::ConsulConflict,
            Self::Consul(ConsulError::Throttled { .. }) => ErrorLabel::ConsulThrottled,
            Self::Consul(ConsulError::Unavailable { .. }) => ErrorLabel::ConsulUnavailable,
            Self::Consul(ConsulError::Refused { .. }) | Self::NotRegistered(_) => ErrorLabel::ConsulRefused,
            Self::Consul(ConsulError::Malformed { .. }) => ErrorLabel::ConsulMalformed,
            Self::Ecs(_) => ErrorLabel::Ecs,
            Self::Ec2(_) => ErrorLabel::Ec2,
            Self::Iam(_) => ErrorLabel::Iam,
            Self::Secrets(_) | Self::NotRestored { .. } => ErrorLabel::Secrets,
            Self::Queue(_) => ErrorLabel::Queue,
            Self::NotDescribedYet(_) => ErrorLabel::NotDescribedYet,
            Self::NotSetUp(_) => ErrorLabel::Bootstrap,
            Self::OverLimit { .. } => ErrorLabel::OverLimit,
            Self::AgentStillAlive(_) => ErrorLabel::AgentStillAlive,
            Self::NotLookedAgain(_) => ErrorLabel::NotLookedAgain,
            Self::Shared(error) => error.label(),
            Self::OutOfTime => ErrorLabel::OutOfTime,
            Self::Panicked => ErrorLabel::Panicked,
        }
    }
}

/// The most concurrent calls to one service.
pub(crate) const CONCURRENCY: usize = 8;

/// The changes in a batch, by task.
pub(crate) type Changes = BTreeMap<TaskArn, TaskChange>;

/// The source of a plan.
#[derive(Clone, Copy)]
pub(crate) enum PlanSource<'a> {
    /// Events, which may be stale.
    Events(&'a Changes),
    /// A survey of whole clusters, with the secrets as they were read.
    Survey(&'a BTreeMap<TokenHolder, StoredSecret>),
}

/// The effect of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// Nothing had to change.
    Unchanged,
    /// Consul refused it, for want of an optional permission.
    Refused,
    /// It changed something; in a dry run, it would.
    Done,
}

/// A planned action and its result.
pub(crate) struct Outcome {
    pub(crate) planned: Planned,
    pub(crate) result: Result<Effect, Arc<ControllerError>>,
}

impl Outcome {
    /// Whether an object has changed since it was read, so that the action is planned again.
    pub(crate) fn is_conflict(&self) -> bool {
        self.result.as_ref().is_err_and(|error| error.is_conflict())
    }

    /// Whether it failed because of one thing.
    pub(crate) fn concerns_one_thing(&self) -> bool {
        self.result.as_ref().is_err_and(|error| error.reach() == Reach::Thing)
    }
}

/// The tasks for which something was changed.
pub(crate) fn tasks_done(outcomes: &[Outcome]) -> BTreeSet<TaskArn> {
    let done = outcomes.iter().filter(|outcome| matches!(outcome.result, Ok(Effect::Done)));
    done.flat_map(|outcome| outcome.planned.tasks.iter().cloned()).collect()
}

/// Runs work concurrently, up to [`CONCURRENCY`]; the results are in the order of the work.
pub(crate) async fn concurrently_in_order<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffered(CONCURRENCY).collect().await
}

/// Runs work concurrently, up to [`CONCURRENCY`]; the results are in the order in which they come.
pub(crate) async fn concurrently<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffer_unordered(CONCURRENCY).collect().await
}

#[cfg(test)]
mod tests {
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
        let consul: [ConsulError; 11] = [
            ConsulError::NotFound { subject: text() },
            ConsulError::CredentialRejected { subject: text() },
            ConsulError::AclsDisabled { subject: text() },
            ConsulError::PermissionDenied { subject: text(), reason: text() },
            ConsulError::Conflict { subject: text(), reason: text() },
            ConsulError::Throttled { subject: text(), retry_after: None },
            ConsulError::Unavailable { subject: text(), reason: text(), had_no_effect: true },
            ConsulError::Refused { subject: text(), status: 400, reason: text() },
            ConsulError::Refused { subject: text(), status: 500, reason: text() },
            ConsulError::Malformed { subject: text(), reason: text() },
            ConsulError::CredentialUnreadable { reason: text() },
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
            SecretsError::NotOurs(invalid()).into(),
            SecretsError::RolledBack { name: text() }.into(),
            SecretsError::MarkedForDeletion { name: text() }.into(),
            SecretsError::Exhausted { name: text() }.into(),
            SecretsError::Unusable { name: text(), reason: text() }.into(),
            SecretsError::Failed { name: text(), reason: text() }.into(),
            SecretsError::Denied { name: text(), reason: text() }.into(),
            Ec2Error::Refused(text()).into(),
            ControllerError::NotRegistered(ConsulError::Refused { subject: text(), status: 500, reason: text() }),
            ControllerError::NotRestored { secret: text(), accessor: AccessorId::new(uuid::Uuid::nil()) },
            ControllerError::NotSetUp(text()),
            ControllerError::NotDescribedYet(task),
            ControllerError::OverLimit { what: text(), most: 1, waiting: 1 },
            ControllerError::AgentStillAlive(text()),
            ControllerError::NotLookedAgain(text()),
            ControllerError::OutOfTime,
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

    #[test]
    fn a_shared_error_reaches_as_far_as_its_cause() {
        let shared = |error: ControllerError| ControllerError::Shared(Arc::new(error)).reach();
        assert_eq!(shared(ControllerError::OutOfTime), Reach::Everything);
        assert_eq!(shared(SecretsError::RolledBack { name: "web".to_owned() }.into()), Reach::Thing);
    }
}
