//! The answer to `why`.

use jiff::Timestamp;
use serde::Serialize;

use super::cause::Cause;

/// Who did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The audit of the task definition.
    Audit,
    /// Amazon ECS.
    Ecs,
    /// The controller.
    Controller,
    /// Consul.
    Consul,
}

impl Who {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Ecs => "ECS",
            Self::Controller => "controller",
            Self::Consul => "Consul",
        }
    }
}

/// Something that has happened, or that is so now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// When it was.
    pub at: Timestamp,
    /// Who did it, or says it.
    pub who: Who,
    /// What it was.
    pub what: String,
    /// How often it was, if the same was repeated.
    pub times: usize,
    /// When it was repeated for the last time.
    pub last_at: Timestamp,
}

/// Whether something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// All is as it should be.
    Healthy,
    /// It ended, or is ending, as somebody wanted it.
    Ended,
    /// It is not up yet.
    Starting,
    /// Something is wrong.
    Faulty,
    /// Nothing is known of it, or too little could be read.
    Unknown,
}

/// What is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conclusion {
    pub(crate) condition: Condition,
    pub(crate) cause: Cause,
    /// One sentence.
    pub(crate) sentence: String,
}

impl Conclusion {
    pub(super) fn faulty(cause: Cause, sentence: impl Into<String>) -> Self {
        Self { condition: Condition::Faulty, cause, sentence: sentence.into() }
    }

    pub(super) fn ended(cause: Cause, sentence: impl Into<String>) -> Self {
        Self { condition: Condition::Ended, cause, sentence: sentence.into() }
    }

    pub(super) fn starting(cause: Cause, sentence: impl Into<String>) -> Self {
        Self { condition: Condition::Starting, cause, sentence: sentence.into() }
    }

    pub(super) fn unknown(cause: Cause, sentence: impl Into<String>) -> Self {
        Self { condition: Condition::Unknown, cause, sentence: sentence.into() }
    }

    pub(super) fn healthy() -> Self {
        Self { condition: Condition::Healthy, cause: Cause::Healthy, sentence: "healthy".to_owned() }
    }
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The ID of the task; null if the question is about a service.
    pub task: Option<String>,
    /// The service in Consul, if it is known.
    pub service: Option<String>,
    /// The ARN of the cluster, if it is known.
    pub cluster: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WhyReport {
    /// When it was read.
    pub read_at: Timestamp,
    /// Since when the log was read.
    pub since: Timestamp,
    /// What it is about.
    pub subject: Subject,
    /// What has happened, oldest first; last, what is so now.
    pub timeline: Vec<Event>,
    /// Whether something is wrong.
    pub condition: Condition,
    /// The cause.
    pub cause: Cause,
    /// What is wrong and what to do, in one sentence.
    pub conclusion: String,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}
