//! Findings that count, and ignored ones.

use crate::finding::Finding;
use audit_read::input::InputProblem;

/// Findings that count, and ignored ones.
#[derive(Debug, Default)]
pub struct Sorted {
    /// The findings that count.
    pub findings: Vec<Finding>,
    /// The ignored findings.
    pub ignored: Vec<Ignored>,
    /// Comments with errors.
    pub problems: Vec<InputProblem>,
    /// Comments and entries that ignore nothing and may be removed.
    pub unused: Vec<String>,
}

/// An ignored finding.
#[derive(Debug, Clone)]
pub struct Ignored {
    pub finding: Finding,
    /// What ignores it.
    pub by: IgnoredBy,
    pub reason: String,
}

/// What ignores a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoredBy {
    /// A comment in the file.
    Comment,
    /// The configuration file.
    Configuration,
}

impl IgnoredBy {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Configuration => "configuration",
        }
    }
}
