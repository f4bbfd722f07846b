//! Where a task stands in its life.
//!
//! Source: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html>

use super::field::InvalidField;

/// What matters to the mesh about a task's `lastStatus` and `desiredStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskPhase {
    /// On its way up, or running, and meant to run.
    Active,
    /// Told to stop, but something of it may still run: it keeps its tokens, traffic should drain.
    Stopping,
    /// Gone for good: a stopped task never comes back.
    Stopped,
}

impl TaskPhase {
    /// The phase that ECS's two statuses describe.
    ///
    /// # Errors
    /// A status that ECS does not document: acting on a guess could hurt a living task.
    pub fn from_statuses(last_status: &str, desired_status: &str) -> Result<Self, InvalidField> {
        let told_to_stop = match desired_status {
            "PENDING" | "RUNNING" => false,
            "STOPPED" => true,
            other => {
                return Err(InvalidField::new("desiredStatus", other, "PENDING, RUNNING or STOPPED"));
            }
        };
        match last_status {
            "PROVISIONING" | "PENDING" | "ACTIVATING" | "RUNNING" if told_to_stop => Ok(Self::Stopping),
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

    /// Whether ECS still calls the task active, that is: not stopped for good.
    #[must_use]
    pub fn is_living(self) -> bool {
        self != Self::Stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_from_provisioning_to_stopped() {
        let phase = |last, desired| TaskPhase::from_statuses(last, desired).unwrap();
        assert_eq!(phase("PROVISIONING", "RUNNING"), TaskPhase::Active);
        assert_eq!(phase("RUNNING", "RUNNING"), TaskPhase::Active);
        assert_eq!(phase("RUNNING", "STOPPED"), TaskPhase::Stopping);
        assert_eq!(phase("DEPROVISIONING", "STOPPED"), TaskPhase::Stopping);
        assert_eq!(phase("STOPPED", "STOPPED"), TaskPhase::Stopped);
    }

    #[test]
    fn an_unknown_status_is_an_error_not_a_guess() {
        assert_eq!(TaskPhase::from_statuses("DANCING", "RUNNING").unwrap_err().field(), "lastStatus");
        assert_eq!(TaskPhase::from_statuses("RUNNING", "").unwrap_err().field(), "desiredStatus");
    }
}
