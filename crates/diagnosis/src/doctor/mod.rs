//! Whether an installation works, or can be made: a list of checks, each with what was seen and the commands that mend it.
//!
//! ```text
//!  Doctor::installed, Doctor::before_install ─▶ readings ─▶ one function for each check ─▶ DoctorReport
//!        AWS, Consul, the functions              values            pure
//! ```

mod account;
mod commands;
mod consul_from_here;
mod delivery;
mod functions;
mod others;
mod stack;
mod surroundings;

use jiff::Timestamp;
use serde::Serialize;

pub use self::{
    commands::Commands,
    surroundings::{Doctor, Sources},
};

/// What was read, or why it could not be.
type Read<T> = Result<T, String>;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CheckOutcome {
    /// All is as it should be.
    Ok,
    /// It works, with a restriction.
    Warning,
    /// Something does not work.
    Failed,
    /// It could not be checked.
    Unknown,
}

/// A check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Its name.
    pub check: &'static str,
    /// How it ended.
    pub outcome: CheckOutcome,
    /// What was seen.
    pub seen: String,
    /// The commands that correct it, or that show more.
    #[serde(rename = "mend")]
    pub commands: Vec<String>,
}

impl Check {
    fn new(check: &'static str, outcome: CheckOutcome, seen: impl Into<String>) -> Self {
        Self { check, outcome, seen: seen.into(), commands: Vec::new() }
    }

    pub(super) fn ok(check: &'static str, seen: impl Into<String>) -> Self {
        Self::new(check, CheckOutcome::Ok, seen)
    }

    pub(super) fn warning(check: &'static str, seen: impl Into<String>) -> Self {
        Self::new(check, CheckOutcome::Warning, seen)
    }

    pub(super) fn failed(check: &'static str, seen: impl Into<String>) -> Self {
        Self::new(check, CheckOutcome::Failed, seen)
    }

    /// What could not be read, and why.
    pub(super) fn unknown(check: &'static str, why: impl Into<String>) -> Self {
        Self::new(check, CheckOutcome::Unknown, why)
    }

    /// The commands that correct it.
    pub(super) fn with_commands(self, commands: impl IntoIterator<Item = String>) -> Self {
        Self { commands: commands.into_iter().collect(), ..self }
    }
}

/// All checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DoctorReport {
    /// When they were made.
    pub read_at: Timestamp,
    /// The checks, each after those that it depends on.
    pub checks: Vec<Check>,
}

impl DoctorReport {
    /// How many checks ended so.
    pub fn count(&self, outcome: CheckOutcome) -> usize {
        self.checks.iter().filter(|check| check.outcome == outcome).count()
    }
}
