//! The errors of several things: of tasks, of the holders of tokens, or of messages.

use std::{collections::BTreeMap, sync::Arc};

use mesh::arn::TaskArn;
use observe::{ReadErrors, keep_retryable};

use crate::{error::ControllerError, outcome::Outcome};

/// The error of each thing that failed: see [`keep_retryable`].
#[derive(Debug)]
pub(crate) struct Failures<K = TaskArn>(BTreeMap<K, Arc<ControllerError>>);

impl<K: Ord> Failures<K> {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn add(&mut self, failed: K, error: Arc<ControllerError>) {
        keep_retryable(&mut self.0, failed, error, |known| known.needs_correction());
    }

    pub(crate) fn contains(&self, one: &K) -> bool {
        self.0.contains_key(one)
    }
}

impl Failures {
    /// The same error for each of `tasks`.
    pub(crate) fn of_all<'a>(tasks: impl IntoIterator<Item = &'a TaskArn>, error: ControllerError) -> Self {
        let error = Arc::new(error);
        tasks.into_iter().map(|task| (task.clone(), Arc::clone(&error))).collect()
    }

    /// The tasks that could not be read.
    pub(crate) fn of_unread(unread: ReadErrors) -> Self {
        unread.into_iter().map(|(task, error)| (task, ControllerError::shared(error))).collect()
    }

    /// The tasks whose actions failed.
    pub(crate) fn of_actions(outcomes: Vec<Outcome>) -> Self {
        let failed = outcomes.into_iter().filter_map(|outcome| Some((outcome.planned.tasks, outcome.result.err()?)));
        failed.flat_map(|(tasks, error)| tasks.into_iter().map(move |task| (task, Arc::clone(&error)))).collect()
    }
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Extend<(K, Arc<ControllerError>)> for Failures<K> {
    fn extend<I: IntoIterator<Item = (K, Arc<ControllerError>)>>(&mut self, failed: I) {
        for (failed, error) in failed {
            self.add(failed, error);
        }
    }
}

impl<K: Ord> FromIterator<(K, Arc<ControllerError>)> for Failures<K> {
    fn from_iter<I: IntoIterator<Item = (K, Arc<ControllerError>)>>(failed: I) -> Self {
        let mut all = Self::default();
        all.extend(failed);
        all
    }
}

impl<K> IntoIterator for Failures<K> {
    type Item = (K, Arc<ControllerError>);
    type IntoIter = std::collections::btree_map::IntoIter<K, Arc<ControllerError>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use mesh::names::InvalidField;
    use observe::{CallError, OutOfTime};

    use super::*;

    #[test]
    fn of_several_errors_it_keeps_one_that_a_retry_can_help() {
        let invalid = || Arc::new(ControllerError::from(InvalidField::new("name", "x", "a name")));
        let late = || ControllerError::shared(OutOfTime);
        for errors in [[invalid(), late()], [late(), invalid()]] {
            let kept: Vec<_> =
                errors.into_iter().map(|error| ((), error)).collect::<Failures<()>>().into_iter().collect();
            assert!(
                matches!(*kept[0].1, ControllerError::Call(CallError::OutOfTime(_))) && kept.len() == 1,
                "{kept:?}"
            );
        }
    }
}
