//! What could not be read or written.

use std::collections::BTreeMap;

use mesh::{arn::ClusterArn, quota::EntryOwner};

use crate::error::CallError;

/// What could not be read or written, of one thing or of everything.
pub struct Problem {
    pub cluster: Option<ClusterArn>,
    /// Whose mistake it may be, if the error itself does not say it.
    pub owner: Option<String>,
    pub error: CallError,
}

impl Problem {
    pub fn new(cluster: Option<&ClusterArn>, error: impl Into<CallError>) -> Self {
        Self { cluster: cluster.cloned(), owner: None, error: error.into() }
    }

    /// The problem of one owner: for example of `service web`.
    pub fn of(owner: impl Into<String>, error: impl Into<CallError>) -> Self {
        Self { owner: Some(owner.into()), ..Self::new(None, error) }
    }

    /// The owners whose rest waits because of their quota: `waiting` is how much of `what` each of them has left.
    pub fn over_quota(
        waiting: BTreeMap<EntryOwner, usize>,
        what: &str,
        most: usize,
        cluster: Option<&ClusterArn>,
    ) -> impl Iterator<Item = Self> {
        waiting.into_iter().map(move |(owner, waiting)| {
            let error = CallError::OverLimit { what: format!("{owner}: {what}"), most, waiting };
            Self { cluster: cluster.cloned(), ..Self::of(owner.to_string(), error) }
        })
    }

    pub fn report(&self) -> report::Problem {
        report::Problem { owner: self.owner.clone(), ..self.error.problem(self.cluster.as_ref()) }
    }

    /// The value of a read or write. A failure is added to `problems`.
    pub fn record<T>(
        result: Result<T, impl Into<CallError>>,
        cluster: Option<&ClusterArn>,
        problems: &mut Vec<Self>,
    ) -> Option<T> {
        result.map_err(|error| problems.push(Self::new(cluster, error))).ok()
    }
}
