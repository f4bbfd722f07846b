//! How tasks have stopped.

use std::fmt;

use jiff::Timestamp;

/// How a task has stopped, as its event says:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEnd {
    /// `stopCode`, for example `EssentialContainerExited`.
    pub code: Option<String>,
    /// `stoppedReason`.
    pub reason: Option<String>,
    /// Its containers, in their order.
    pub containers: Vec<ContainerEnd>,
    /// When ECS created the task.
    pub created_at: Option<Timestamp>,
    /// When its containers had started; `None` if they never had.
    pub started_at: Option<Timestamp>,
    /// When its last container had stopped.
    pub stopped_at: Option<Timestamp>,
}

/// How a container of a task has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEnd {
    /// Its name in the task definition.
    pub name: String,
    /// Its exit code; `None` if it never ran.
    pub exit_code: Option<i64>,
    /// Why ECS stopped it or could not start it.
    pub reason: Option<String>,
}

/// For example `web exited with 137 (OutOfMemoryError: Container killed due to memory usage)`.
impl fmt::Display for ContainerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exit_code {
            Some(code) => write!(f, "{} exited with {code}", self.name)?,
            None => write!(f, "{} did not run", self.name)?,
        }
        match &self.reason {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}
