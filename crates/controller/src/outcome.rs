//! Where a plan comes from, and what its actions came to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use mesh::{arn::TaskArn, holder::TokenHolder, plan::Planned, secret::StoredSecret, task::TaskChange};
use observe::Reach;

use crate::error::ControllerError;

/// The changes in a batch, by task.
pub(crate) type Changes = BTreeMap<TaskArn, TaskChange>;

#[derive(Clone, Copy)]
pub(crate) enum PlanSource<'a> {
    /// Events, which may be stale.
    Events(&'a Changes),
    /// The world of whole clusters, with the secrets as they were read.
    World(&'a BTreeMap<TokenHolder, StoredSecret>),
}

/// The effect of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// Nothing had to change.
    Unchanged,
    /// Consul refused it, because an optional permission is missing.
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
