//! Findings, and those that a comment or the configuration file ignores.

use crate::{finding::Finding, input::InputProblem};

/// Findings told apart by whether somebody decided to live with them.
#[derive(Debug, Default)]
pub struct Sorted {
    /// Those that count.
    pub findings: Vec<Finding>,
    /// Those that do not.
    pub ignored: Vec<Ignored>,
    /// Comments that cannot be meant as they are written.
    pub problems: Vec<InputProblem>,
    /// What ignores nothing, and might be taken away.
    pub unused: Vec<String>,
}

/// A finding that does not count.
#[derive(Debug, Clone)]
pub struct Ignored {
    /// The finding.
    pub finding: Finding,
    /// Who says so.
    pub by: IgnoredBy,
    /// Why.
    pub reason: String,
}

/// Who says that a finding does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredBy {
    /// A comment in the file.
    Comment,
    /// The configuration file.
    Configuration,
}

impl IgnoredBy {
    /// As reports write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Configuration => "configuration",
        }
    }
}
