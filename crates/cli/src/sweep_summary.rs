//! The summary of a sweep, as the function `reconcile` answers it.

use std::collections::BTreeMap;

use aws::stack::Invoked;
use serde::Deserialize;
use serde_json::Value;

use crate::{exit::Failure, planned_action::deletes};

/// The summary.
#[derive(Debug, Deserialize)]
pub(super) struct Summary {
    /// `act` or `observe`.
    #[serde(default)]
    pub(super) mode: String,
    /// `done`, `observed`, `dry_run`, `guard_tripped` or `incomplete`.
    pub(super) outcome: String,
    pub(super) clusters: Vec<ClusterSummary>,
    pub(super) problems: Vec<Problem>,
}

/// What was found and done in a cluster, or is planned.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterSummary {
    pub(super) cluster_arn: String,
    pub(super) status: String,
    pub(super) created: BTreeMap<String, usize>,
    pub(super) hidden: usize,
    pub(super) deleted: BTreeMap<String, usize>,
    pub(super) drained: usize,
    pub(super) repaired: usize,
    pub(super) corrected: usize,
    pub(super) left: usize,
    /// Why deletions are held back.
    pub(super) guard: Option<String>,
    #[serde(default)]
    pub(super) planned: Vec<Value>,
    #[serde(default)]
    pub(super) waiting: Vec<Value>,
    #[serde(default)]
    pub(super) blocked: Vec<Value>,
    #[serde(default)]
    pub(super) skipped: Vec<Skipped>,
}

/// What was left as it is, and why.
#[derive(Debug, Deserialize)]
pub(super) struct Skipped {
    pub(super) what: String,
    pub(super) why: String,
}

/// What could not be read or written.
#[derive(Debug, Deserialize)]
pub(super) struct Problem {
    pub(super) reason: String,
}

impl Summary {
    /// The summary in an answer, and its JSON. An incomplete sweep ends with an error that has the reasons on its first
    /// line, and then the summary.
    pub(super) fn read(answer: Invoked) -> Result<(Self, Value), Failure> {
        let (value, message) = match answer {
            Invoked::Answer(value) => (value, None),
            Invoked::Error(message) => {
                let summary = message.split_once('\n').and_then(|(_, summary)| serde_json::from_str(summary).ok());
                (summary.unwrap_or_default(), Some(message))
            }
        };
        let unreadable = |reason: String| Failure::Message(format!("the function reconcile: {reason}"));
        match (Self::deserialize(&value), message) {
            (Ok(summary), _) => Ok((summary, value)),
            (Err(_), Some(message)) => Err(unreadable(message)),
            (Err(error), None) => Err(unreadable(format!("its answer is not the summary of a sweep: {error}"))),
        }
    }

    /// Whether anything is planned.
    pub(super) fn has_actions(&self) -> bool {
        self.clusters.iter().any(|cluster| !cluster.planned.is_empty())
    }

    /// Whether anything was changed, or could not be.
    pub(super) fn has_changes(&self) -> bool {
        let changes = |it: &ClusterSummary| {
            let counts: usize = it.created.values().chain(it.deleted.values()).sum();
            counts + it.hidden + it.drained + it.repaired + it.corrected + it.left
        };
        !self.problems.is_empty() || self.clusters.iter().any(|cluster| changes(cluster) > 0)
    }

    /// Whether the stack changes nothing: its `Mode` is `observe`.
    pub(super) fn only_observes(&self) -> bool {
        self.mode == "observe"
    }

    /// The number of deletions that a sweep would make.
    pub(super) fn deletions(&self) -> usize {
        self.clusters.iter().flat_map(|cluster| &cluster.planned).filter(|planned| deletes(planned)).count()
    }

    /// Whether deletions are held back.
    pub(super) fn is_held_back(&self) -> bool {
        self.clusters.iter().any(|cluster| cluster.guard.is_some())
    }
}

impl ClusterSummary {
    /// The name of the cluster.
    pub(super) fn name(&self) -> &str {
        self.cluster_arn.rsplit('/').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str =
        r#"{"outcome":"incomplete","clusters":[],"problems":[{"label":"x","reason":"Consul is down"}]}"#;

    #[test]
    fn summary_of_an_incomplete_sweep_is_in_its_error() {
        let (summary, _) = Summary::read(Invoked::Error(format!("Consul is down\n{SUMMARY}"))).unwrap();
        assert_eq!((summary.outcome.as_str(), summary.problems.len()), ("incomplete", 1));
    }

    #[test]
    fn other_errors_are_the_function_s() {
        let refused = Summary::read(Invoked::Error("CONSUL_HTTP_ADDR: got \"\"".to_owned()));
        let Err(Failure::Message(message)) = refused else { panic!("{refused:?}") };
        assert_eq!(message, "the function reconcile: CONSUL_HTTP_ADDR: got \"\"");
    }
}
