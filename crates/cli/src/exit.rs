//! How a command ends.

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Nothing to complain about.
    Clean,
    /// Findings at or above the threshold.
    Findings,
    /// Input that could not be read, or a command line that makes no sense.
    Unusable,
}

impl Exit {
    /// As the shell sees it.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Unusable => 2,
        }
    }
}

/// Why a command gave up.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Who reads our output has gone: nobody is left to tell anything to.
    Closed,
    /// What to tell.
    Message(String),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Message(error.to_string()),
        }
    }
}
