//! What `CloudFormation` is doing with the stack, as the stack's own events say.
//!
//! Deleting a stack and rolling back its creation send the same request. Only the events tell them apart:
//!
//! ```text
//!  CREATE_IN_PROGRESS ─▶ … ─▶ CREATE_COMPLETE ─▶ DELETE_IN_PROGRESS ─▶ CleanupRequested DELETE_COMPLETE ─▶ MeshSetup: clean up
//!                   └─▶ ROLLBACK_IN_PROGRESS ─────────────────────────────────────────────────────────▶ MeshSetup: leave alone
//! ```

use aws::stack::StackEvent;

/// The resource of the template that proves two things. It depends on all others, so a stack has it only if everything was created
/// before, and it exists only with `CleanupOnDelete=true`.
pub const PROOF: &str = "CleanupRequested";

/// What `CloudFormation` is doing with the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It creates or updates the stack.
    Forward,
    /// It returns the stack to the version before an update.
    UpdateRollback,
    /// It deletes a stack that was created and asked for the clean-up.
    Cleanup,
    /// It rolls a creation back, deletes what did not ask for the clean-up, or has ended.
    Other,
}

/// The phase of a stack, and its status, for example `ROLLBACK_IN_PROGRESS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) phase: Phase,
    pub(super) status: String,
}

/// Whether an event is of the stack itself and older than its deletion: the events before it do not matter.
pub(super) fn is_before_deletion(event: &StackEvent) -> bool {
    event.resource.is_none() && !event.status.starts_with("DELETE_")
}

impl Progress {
    /// The progress by the stack's events, newest first; `None` without any of the stack itself. A deletion may have failed and
    /// begun again.
    pub(super) fn of(events: &[StackEvent]) -> Option<Self> {
        let status = events.iter().find(|event| event.resource.is_none())?.status.as_str();
        let phase = match status {
            "CREATE_IN_PROGRESS" | "UPDATE_IN_PROGRESS" => Phase::Forward,
            "UPDATE_ROLLBACK_IN_PROGRESS" => Phase::UpdateRollback,
            "DELETE_IN_PROGRESS" if has_proof(events) => Phase::Cleanup,
            _ => Phase::Other,
        };
        Some(Self { phase, status: status.to_owned() })
    }
}

/// Whether the stack had [`PROOF`] when its deletion began, and the last creation or update had ended. `CloudFormation` keeps
/// events for 90 days: a stack without an older event has not changed since.
fn has_proof(events: &[StackEvent]) -> bool {
    let is_proof = |event: &StackEvent| event.resource.as_deref() == Some(PROOF) && event.status == "DELETE_COMPLETE";
    let mut is_found = false;
    let before = events.iter().find(|event| {
        is_found |= is_proof(event);
        is_before_deletion(event)
    });
    let is_settled = |status: &str| status.ends_with("_COMPLETE") && status != "ROLLBACK_COMPLETE";
    is_found && before.is_none_or(|event| is_settled(&event.status))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events, oldest first: `resource STATUS`, or `STATUS` of the stack.
    fn phase(events: &[&str]) -> Phase {
        let event = |text: &&str| match text.split_once(' ') {
            Some((resource, status)) => StackEvent { resource: Some(resource.to_owned()), status: status.to_owned() },
            None => StackEvent { resource: None, status: (*text).to_owned() },
        };
        Progress::of(&events.iter().rev().map(event).collect::<Vec<_>>()).unwrap().phase
    }

    const DELETED: [&str; 3] =
        ["DELETE_IN_PROGRESS", "CleanupRequested DELETE_COMPLETE", "MeshSetup DELETE_IN_PROGRESS"];

    fn deleted_after(before: &[&str]) -> Phase {
        phase(&[before, &DELETED].concat())
    }

    #[test]
    fn only_the_deletion_of_a_complete_stack_that_asked_cleans_up() {
        for before in ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"] {
            assert_eq!(deleted_after(&[before]), Phase::Cleanup, "{before}");
        }
        // Its older events have expired
        assert_eq!(deleted_after(&[]), Phase::Cleanup);
        let unsettled = [
            "CREATE_IN_PROGRESS",
            "CREATE_FAILED",
            "ROLLBACK_IN_PROGRESS",
            "ROLLBACK_FAILED",
            "ROLLBACK_COMPLETE",
            "UPDATE_FAILED",
            "UPDATE_ROLLBACK_FAILED",
            "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
        ];
        for before in unsettled {
            assert_eq!(deleted_after(&[before]), Phase::Other, "{before}");
        }
    }

    #[test]
    fn clean_up_that_an_update_withdrew_is_not_asked_for() {
        let withdrawn = [
            "CREATE_COMPLETE",
            "UPDATE_IN_PROGRESS",
            "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
            "CleanupRequested DELETE_COMPLETE",
            "UPDATE_COMPLETE",
            "DELETE_IN_PROGRESS",
            "MeshSetup DELETE_IN_PROGRESS",
        ];
        assert_eq!(phase(&withdrawn), Phase::Other);
    }

    #[test]
    fn deletion_that_failed_goes_on() {
        let again = ["DELETE_FAILED", "DELETE_IN_PROGRESS", "MeshSetup DELETE_IN_PROGRESS"];
        assert_eq!(phase(&[&["CREATE_COMPLETE"], &DELETED[..], &again].concat()), Phase::Cleanup);
        assert_eq!(phase(&[&["ROLLBACK_FAILED"], &DELETED[..], &again].concat()), Phase::Other);
    }

    #[test]
    fn rollback_is_no_deletion() {
        let rolled_back = [
            "CREATE_IN_PROGRESS",
            "ROLLBACK_IN_PROGRESS",
            "CleanupRequested DELETE_COMPLETE",
            "MeshSetup DELETE_IN_PROGRESS",
        ];
        assert_eq!(phase(&rolled_back), Phase::Other);
        assert_eq!(phase(&["UPDATE_IN_PROGRESS", "UPDATE_ROLLBACK_IN_PROGRESS"]), Phase::UpdateRollback);
        assert_eq!(phase(&["CREATE_COMPLETE", "UPDATE_IN_PROGRESS"]), Phase::Forward);
        assert_eq!(Progress::of(&[]), None);
    }
}
