//! What `compare` reports.

use jiff::Timestamp;
use serde::Serialize;

/// A kind of thing that the controller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Instances of stopped tasks are deregistered.
    InstancesDeregistered,
    /// Login tokens of stopped tasks are deleted.
    LoginTokensDeleted,
    /// Tokens of services are created.
    TokensCreated,
    /// Tokens of idle services are hidden, and then deleted.
    TokensDeleted,
    /// Running tasks that Consul has forgotten are registered again.
    TasksRepaired,
    /// Checks that contradict ECS are corrected.
    TasksCorrected,
    /// Instances are drained.
    InstancesDrained,
}

impl Kind {
    /// The kind of an action in the log.
    pub(super) fn of(action: &str) -> Option<Self> {
        Some(match action {
            "deregister" => Self::InstancesDeregistered,
            "delete_login_token" => Self::LoginTokensDeleted,
            "create_token" => Self::TokensCreated,
            "hide_token" => Self::TokensDeleted,
            "repair" => Self::TasksRepaired,
            "correct_health" => Self::TasksCorrected,
            "mark_critical" => Self::InstancesDrained,
            _ => return None,
        })
    }

    /// It, in a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InstancesDeregistered => "deregister instances",
            Self::LoginTokensDeleted => "delete login tokens",
            Self::TokensCreated => "create tokens of services",
            Self::TokensDeleted => "delete tokens of services",
            Self::TasksRepaired => "register tasks again",
            Self::TasksCorrected => "correct checks",
            Self::InstancesDrained => "drain instances",
        }
    }
}

/// How long it took until somebody else had done something: the slowest of a kind, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Slowest {
    /// It took at least so long: it was reported until then.
    pub at_least_seconds: u64,
    /// It took at most so long: the next sweep did not report it any more.
    pub at_most_seconds: u64,
}

/// What was planned of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindReport {
    /// The kind.
    pub kind: Kind,
    /// How many were planned.
    pub planned: usize,
    /// How many somebody else has done since, or are not needed any more.
    pub done_by_others: usize,
    /// How many are still to do.
    pub still_to_do: usize,
    /// How many could not be compared.
    pub unknown: usize,
    /// How long those took that others did; `None` if there are none.
    pub slowest: Option<Slowest>,
}

/// Something that is still to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    /// The kind.
    pub kind: Kind,
    /// What it is about: the ID of an instance, a token, a task, or the name of a service.
    pub subject: String,
    /// The ARN of its cluster, if the log names it.
    pub cluster: Option<String>,
    /// Since when it has been reported.
    pub first_seen: Timestamp,
    /// When it was reported for the last time.
    pub last_seen: Timestamp,
}

/// The comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompareReport {
    /// When Consul and ECS were read.
    pub read_at: Timestamp,
    /// Since when the log was read.
    pub since: Timestamp,
    /// How many sweeps have observed since then.
    pub sweeps: usize,
    /// What was planned, by kind.
    pub kinds: Vec<KindReport>,
    /// What is still to do, oldest first.
    pub still_to_do: Vec<Left>,
    /// One sentence.
    pub conclusion: String,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

impl CompareReport {
    /// Whether nothing was observed: then there is nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.sweeps == 0
    }
}
