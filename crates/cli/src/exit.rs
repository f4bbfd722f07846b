//! Exit codes and failures of commands.

use std::{fmt::Display, path::Path};

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// No findings at or above the threshold; every service is healthy.
    Clean,
    /// Findings at or above the threshold; a service is not healthy, or deletions are held back.
    Findings,
    /// Input that could not be read, or an invalid command line.
    Unusable,
    /// Nothing to check was found.
    Nothing,
}

impl Exit {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Unusable => 2,
            Self::Nothing => 3,
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has closed it.
    Closed,
    /// A message for standard error.
    Message(String),
}

impl Failure {
    /// What failed about a file or directory.
    pub(crate) fn of(path: &Path, error: impl Display) -> Self {
        Self::Message(format!("{}: {error}", path.display()))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Message(error.to_string()),
        }
    }
}
