//! The results of planned actions.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};
use mesh::{arn::TaskArn, plan::Planned, secret::StoredSecret, task::TaskChange, token::TokenHolder};

use crate::error::{ControllerError, Failures};

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
}

/// The tasks whose actions failed, with the error.
pub(crate) fn failures(outcomes: Vec<Outcome>) -> Failures {
    let failed = outcomes.into_iter().filter_map(|outcome| Some((outcome.planned.tasks, outcome.result.err()?)));
    failed.flat_map(|(tasks, error)| tasks.into_iter().map(move |task| (task, Arc::clone(&error)))).collect()
}

/// Runs work concurrently, up to [`CONCURRENCY`]; the results are in the order of the work.
pub(crate) async fn concurrently_in_order<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffered(CONCURRENCY).collect().await
}

/// Runs work concurrently, up to [`CONCURRENCY`]; the results are in the order in which they come.
pub(crate) async fn concurrently<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffer_unordered(CONCURRENCY).collect().await
}
