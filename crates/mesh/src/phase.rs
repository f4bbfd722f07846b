//! The phases of the task lifecycle.
//!
//! Source: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html>

use super::field::InvalidField;

/// The phase of a task, by its `lastStatus` and `desiredStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskPhase {
    /// Starting or running, with desired status `RUNNING`.
    Active,
    /// Stopping: containers may still run, so that it keeps its tokens, and traffic drains.
    Stopping,
    /// Stopped. A stopped task never starts again.
    Stopped,
}

impl TaskPhase {
    /// The phase for the two statuses.
    ///
    /// # Errors
    /// A status that ECS does not document.
    pub fn from_statuses(last_status: &str, desired_status: &str) -> Result<Self, InvalidField> {
        let is_stopping = match desired_status {
            "PENDING" | "RUNNING" => false,
            "STOPPED" => true,
            other => {
                return Err(InvalidField::new("desiredStatus", other, "PENDING, RUNNING or STOPPED"));
            }
        };
        match last_status {
            "PROVISIONING" | "PENDING" | "ACTIVATING" | "RUNNING" if is_stopping => Ok(Self::Stopping),
            "PROVISIONING" | "PENDING" | "ACTIVATING" | "RUNNING" => Ok(Self::Active),
            "DEACTIVATING" | "STOPPING" | "DEPROVISIONING" => Ok(Self::Stopping),
            "STOPPED" | "DELETED" => Ok(Self::Stopped),
            other => Err(InvalidField::new(
                "lastStatus",
                other,
                "PROVISIONING, PENDING, ACTIVATING, RUNNING, DEACTIVATING, STOPPING, DEPROVISIONING, STOPPED or DELETED",
            )),
        }
    }

    /// Whether the task is not stopped: active or stopping.
    pub fn is_living(self) -> bool {
        self != Self::Stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_map_to_phases() {
        let phase = |last, desired| TaskPhase::from_statuses(last, desired).unwrap();
        assert_eq!(phase("PROVISIONING", "RUNNING"), TaskPhase::Active);
        assert_eq!(phase("RUNNING", "RUNNING"), TaskPhase::Active);
        assert_eq!(phase("RUNNING", "STOPPED"), TaskPhase::Stopping);
        assert_eq!(phase("DEPROVISIONING", "STOPPED"), TaskPhase::Stopping);
        assert_eq!(phase("STOPPED", "STOPPED"), TaskPhase::Stopped);
    }

    #[test]
    fn unknown_status_is_an_error() {
        assert_eq!(TaskPhase::from_statuses("DANCING", "RUNNING").unwrap_err().field(), "lastStatus");
        assert_eq!(TaskPhase::from_statuses("RUNNING", "").unwrap_err().field(), "desiredStatus");
    }
}
