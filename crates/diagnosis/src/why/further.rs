//! What was read beside the clusters.

use jiff::Timestamp;

use super::moment::moment;
use crate::{
    history::History,
    observed::{Observed, ObservedCluster},
    tokens::Tokens,
};

/// An error that the audit finds in a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditError {
    /// The rule.
    pub rule: String,
    /// What is wrong.
    pub message: String,
}

/// What was read beside the clusters.
#[derive(Debug, Default)]
pub struct Further {
    /// The history of the controller.
    pub history: History,
    /// The name of the stack whose history it is.
    pub stack: String,
    /// Since when the history was read.
    pub since: Timestamp,
    /// The tokens of the task or the service in Consul; `None` if they could not be read.
    pub tokens: Option<Tokens>,
    /// The errors that the audit finds in the revision.
    pub audit: Vec<AuditError>,
    /// The names of the clusters that were searched.
    pub searched: Vec<String>,
}

impl Further {
    /// What could not be read, and why.
    pub(super) fn problems(&self, observed: &Observed) -> Vec<String> {
        observed.problems.iter().chain(&self.history.problems).cloned().collect()
    }

    /// What was searched, in words, and whether all of it could be read.
    pub(super) fn searched_in(&self, read: &[ObservedCluster]) -> (String, bool) {
        let is_whole = |cluster: &ObservedCluster| cluster.catalog.is_some() && cluster.unsorted.is_empty();
        let is_read =
            |name: &&String| read.iter().any(|cluster| cluster.arn.name() == name.as_str() && is_whole(cluster));
        let unread = self.searched.iter().filter(|name| !is_read(name)).map(String::as_str);
        let unread: Vec<&str> = unread.collect();
        let clusters = match self.searched.as_slice() {
            [] => "no cluster".to_owned(),
            [one] => format!("cluster {one}"),
            several => format!("clusters {}", several.join(", ")),
        };
        let not = if unread.is_empty() {
            String::new()
        } else {
            format!(", of which {} could not be read in full", unread.join(", "))
        };
        let log = if self.history.is_complete {
            format!("the log of the stack {} since {}", self.stack, moment(self.since))
        } else {
            "the log could not be read".to_owned()
        };
        (format!("searched: {clusters}{not}; {log}"), unread.is_empty() && self.history.is_complete)
    }
}
