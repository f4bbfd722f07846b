//! What could not be read.

use std::fmt;

use crate::audit::document::Position;

/// A file, or a part of one, that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputProblem {
    /// The file.
    pub file: String,
    /// Where in it.
    pub position: Option<Position>,
    /// What is wrong.
    pub reason: String,
}

impl InputProblem {
    /// A problem with a file as a whole.
    pub fn of_file(file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { file: file.into(), position: None, reason: reason.into() }
    }
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(Position { line, column }) => write!(f, "{}:{line}:{column}: {}", self.file, self.reason),
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}
