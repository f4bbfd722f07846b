//! What one process writes and another reads: the function `reconcile` writes these values as JSON, into its answer and its log, and
//! `ecs-mesh` reads them. A command line may be older or newer than its function, so fields that came later have a default, and
//! the enums that it reads have a variant for what they do not know.
//!
//! ```text
//!  ReconcileOrder, AuditOrder                                                   what invokes reconcile, and audit
//!  SweepReport ─▶ ClusterReport ─▶ PlannedAction, Waiting, Blocked, Skipped     {"dryRun": true} and others
//!  CheckReport ─▶ TokenReport, SetUpReport                                      {"check": true}
//!       └──────────┴─▶ Problem
//!  LogLine ─▶ LogAction, LogOutcome, ErrorLabel                                 the log that why and compare read
//!  Envelope ─▶ IdleCheckOrder, SecondLookOrder, LostNodeOrder                   a message in a queue
//!  Event ─▶ InMode ─▶ Healing, TaskEntries and others; AuditFinding             the default event bus
//! ```

mod action;
mod event;
mod log;
mod message;
mod names;
mod reconcile;
#[cfg(test)]
mod reference;
mod sweep;

use std::fmt;

use mesh::arn::ClusterArn;

use serde::{Deserialize, Serialize};

pub use self::{
    action::{Blocked, CheckStatus, PlannedAction, Waiting},
    event::{AuditFinding, CreatedToken, DrainedTask, Event, Healing, InMode, RevokedToken, TaskEntries, TrippedGuard},
    log::{LogLine, service_of_holder},
    message::{Envelope, IdleCheckOrder, LostNodeOrder, OWN_SOURCE, SecondLookOrder},
    names::{ErrorLabel, LogAction, LogOutcome},
    reconcile::{AuditOrder, AuditScope, CheckReport, ReconcileOrder, SetUpReport, TokenReport},
    sweep::{ClusterReport, Counts, Skipped, SweepOutcome, SweepReport, SweptStatus},
};

/// What could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The ARN of the cluster, if the problem concerns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_arn: Option<String>,
    /// Whose mistake it may be: for example `service web`, and the task definition that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub label: ErrorLabel,
    /// The cause, where what helps follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The reason, in one sentence.
    pub reason: String,
}

/// Why a call failed, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    /// AWS or Consul denied the call.
    Denied {
        /// The permission that is missing, if the answer names it: for example `ecs:ListTasks`, or `acl:read` of Consul.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permission: Option<String>,
    },
    /// ECS does not know the cluster of the problem.
    UnknownCluster,
    /// Consul does not know the token.
    UnknownToken,
    /// The token cannot be read or sent.
    UnusableToken,
    /// No server of Consul answers.
    NoAnswer {
        /// The address, and what happened there. It is the same for everything that was asked.
        reason: String,
    },
    /// The answer is not what Consul's API documents.
    MalformedAnswer {
        /// What was asked, and where parsing stopped.
        reason: String,
    },
    /// A cause of a newer function.
    #[serde(other)]
    Other,
}

impl Problem {
    /// A problem without an owner and a cause, optionally about one cluster.
    pub fn new(cluster: Option<&ClusterArn>, label: ErrorLabel, reason: &impl ToString) -> Self {
        Self {
            cluster_arn: cluster.map(ToString::to_string),
            owner: None,
            label,
            cause: None,
            reason: reason.to_string(),
        }
    }
}

/// The reason, after the owner if it is known: `service web: secret …`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.owner {
            Some(owner) => write!(f, "{owner}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_of_a_problem_may_be_unknown_to_its_reader() {
        let read = |cause: &str| {
            let json = format!(r#"{{"label":"ecs","reason":"x"{cause}}}"#);
            serde_json::from_str::<Problem>(&json).unwrap().cause
        };
        assert_eq!(read(""), None, "an older function");
        let denied = Cause::Denied { permission: Some("ecs:ListTasks".to_owned()) };
        assert_eq!(read(r#","cause":{"kind":"denied","permission":"ecs:ListTasks"}"#), Some(denied));
        assert_eq!(read(r#","cause":{"kind":"denied"}"#), Some(Cause::Denied { permission: None }));
        let silent = Cause::NoAnswer { reason: "refused".to_owned() };
        assert_eq!(read(r#","cause":{"kind":"no_answer","reason":"refused"}"#), Some(silent));
        assert_eq!(read(r#","cause":{"kind":"unknown_token"}"#), Some(Cause::UnknownToken));
        assert_eq!(read(r#","cause":{"kind":"moonlight","phase":3}"#), Some(Cause::Other), "a newer function");
    }
}
