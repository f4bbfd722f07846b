//! What came of planned actions.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};
use mesh::{action::Planned, arn::TaskArn, secret::StoredSecret, task::TaskChange, token::TokenHolder};

use crate::error::{ControllerError, Failures};

/// How many calls to one service are under way at once.
pub(crate) const CONCURRENCY: usize = 8;

/// The changes that a plan was made from, by task.
pub(crate) type Changes = BTreeMap<TaskArn, TaskChange>;

/// What a plan rests on.
#[derive(Clone, Copy)]
pub(crate) enum Basis<'a> {
    /// Events, which may be old.
    Events(&'a Changes),
    /// What ECS has just said of whole clusters, and what the secrets held then.
    Survey(&'a BTreeMap<TokenHolder, StoredSecret>),
}

/// What came of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// There was nothing to change.
    Unchanged,
    /// It changed something.
    Done,
}

/// A planned action, and what came of it.
pub(crate) struct Outcome {
    pub(crate) planned: Planned,
    pub(crate) result: Result<Effect, Arc<ControllerError>>,
}

impl Outcome {
    /// Whether it failed only because what was seen has changed meanwhile: then it is worth a second look at once.
    pub(crate) fn is_conflict(&self) -> bool {
        self.result.as_ref().is_err_and(|error| error.is_conflict())
    }
}

/// The tasks whose work is not done, and why.
pub(crate) fn failures(outcomes: Vec<Outcome>) -> Failures {
    let failed = outcomes.into_iter().filter_map(|outcome| Some((outcome.planned.tasks, outcome.result.err()?)));
    failed.flat_map(|(tasks, error)| tasks.into_iter().map(move |task| (task, Arc::clone(&error)))).collect()
}

/// Does work side by side, as much at once as one service takes.
pub(crate) async fn concurrently<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffer_unordered(CONCURRENCY).collect().await
}
