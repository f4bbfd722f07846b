//! Which findings fail a run.

use crate::finding::Severity;

/// The lowest severity that fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// This severity and higher ones.
    From(Severity),
    /// None.
    Never,
}

impl Threshold {
    /// The names of all thresholds.
    pub const NAMES: [&'static str; 4] = ["error", "warning", "info", "never"];

    /// The threshold called `name`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "error" => Some(Self::From(Severity::Error)),
            "warning" => Some(Self::From(Severity::Warning)),
            "info" => Some(Self::From(Severity::Info)),
            "never" => Some(Self::Never),
            _ => None,
        }
    }

    /// The threshold called `name`; errors, if there is no such threshold.
    pub fn wanted(name: Option<&str>) -> Self {
        name.and_then(Self::named).unwrap_or(Self::From(Severity::Error))
    }

    /// Whether findings of `severity` fail the run.
    pub fn includes(self, severity: Severity) -> bool {
        matches!(self, Self::From(lowest) if severity >= lowest)
    }
}
