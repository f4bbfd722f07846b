//! Which findings fail a run.

use crate::finding::Severity;

/// From which severity on findings fail a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// From this one on.
    From(Severity),
    /// No finding does.
    Never,
}

impl Threshold {
    /// Every one, by name.
    pub const NAMES: [&'static str; 4] = ["error", "warning", "info", "never"];

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "error" => Some(Self::From(Severity::Error)),
            "warning" => Some(Self::From(Severity::Warning)),
            "info" => Some(Self::From(Severity::Info)),
            "never" => Some(Self::Never),
            _ => None,
        }
    }

    /// The one that somebody asked for, if they did; errors otherwise.
    #[must_use]
    pub fn wanted(name: Option<&str>) -> Self {
        name.and_then(Self::named).unwrap_or(Self::From(Severity::Error))
    }

    /// Whether findings of `severity` fail the run.
    #[must_use]
    pub fn includes(self, severity: Severity) -> bool {
        matches!(self, Self::From(lowest) if severity >= lowest)
    }
}
