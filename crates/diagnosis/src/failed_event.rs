//! What a message in the dead-letter queue is about.

use aws::ecs::{API_CALL_DETAIL_TYPE, ApiCall, DETAIL_TYPE, parse_api_call, parse_task_change};
use mesh::{arn::TaskId, field::InvalidField, phase::TaskPhase, task::TaskChange};
use report::{Envelope, ReconcileOrder};
use serde_json::Value;

/// What a message is about, or why it can never succeed. Why it failed is in the log of `task-events`.
pub fn summarize(body: &str) -> String {
    let never = "it can never succeed";
    let event = match serde_json::from_str::<Envelope>(body) {
        Ok(event) => event,
        Err(error) if error.is_data() => return format!("not an event: {never}"),
        Err(_) => return format!("not JSON: {never}"),
    };
    let Some(kind) = &event.detail_type else { return format!("not an event: {never}") };
    let invalid = |invalid: InvalidField| format!("{kind}: {invalid}: {never}");
    match kind.as_str() {
        DETAIL_TYPE => task_change(&event).map_or_else(invalid, |change| {
            let (task, cluster) = (change.arn.id(), change.cluster.name());
            let reason = change.end.and_then(|end| end.reason).map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!("{kind}: task {task} of cluster {cluster} is {}{reason}", status(change.phase))
        }),
        API_CALL_DETAIL_TYPE => parse_api_call(&event.detail).map_or_else(invalid, |call| match call {
            Some(ApiCall::DefinitionInUse { definition, cluster: None }) => {
                format!("{kind}: {definition} was registered")
            }
            Some(ApiCall::DefinitionInUse { definition, .. }) => format!("{kind}: a service uses {definition}"),
            Some(ApiCall::ClusterDeleted(cluster)) => format!("{kind}: {cluster} was deleted"),
            None => kind.clone(),
        }),
        _ => match event.detail.get("service").and_then(Value::as_str) {
            Some(service) => format!("{kind}: service {service}"),
            None => kind.clone(),
        },
    }
}

fn task_change(event: &Envelope) -> Result<TaskChange, InvalidField> {
    parse_task_change(event.time.as_deref(), &event.detail)
}

fn status(phase: TaskPhase) -> &'static str {
    match phase {
        TaskPhase::Active => "starting or RUNNING",
        TaskPhase::Stopping => "stopping",
        TaskPhase::Stopped => "STOPPED",
    }
}

/// The task that a message is about.
pub(crate) fn task_of(body: &str) -> Option<TaskId> {
    let event: Envelope = serde_json::from_str(body).ok()?;
    Some(task_change(&event).ok()?.arn.id().clone())
}

/// Whether a message may be for the function `audit`: a registered task definition, or its schedule. No sweep does what it asks for.
pub(crate) fn may_be_for_audit(body: &str) -> bool {
    let is_scheduled = serde_json::from_str(body).is_ok_and(|order: ReconcileOrder| order.scheduled);
    let call = serde_json::from_str::<Envelope>(body).map(|event| parse_api_call(&event.detail));
    is_scheduled || matches!(call, Ok(Ok(Some(ApiCall::DefinitionInUse { cluster: None, .. })) | Err(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_says_which_task_it_is_about() {
        let body = include_str!("../../../events/task-stopped-essential-container-exited.json");
        let summary = summarize(body);
        assert!(
            summary.starts_with("ECS Task State Change: task ") && summary.contains("of cluster prod is STOPPED ("),
            "{summary}"
        );
    }

    #[test]
    fn task_of_a_valid_event_is_named() {
        let body = include_str!("../../../events/task-stopped-essential-container-exited.json");
        assert_eq!(task_of(body).unwrap().to_string().len(), 32);
        assert_eq!(
            task_of(
                r#"{ "source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": { "taskArn": "x;reboot" } }"#
            ),
            None
        );
    }

    #[test]
    fn invalid_event_says_which_field_is_wrong() {
        let summary = summarize(r#"{ "source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": {} }"#);
        assert!(summary.contains("detail.taskArn") && summary.ends_with("it can never succeed"), "{summary}");
    }

    #[test]
    fn message_for_audit_is_told_from_one_about_a_task() {
        assert!(may_be_for_audit(include_str!("../../../events/api-call-register-task-definition.json")));
        assert!(may_be_for_audit(r#"{ "scheduled": true }"#));
        assert!(!may_be_for_audit(include_str!("../../../events/task-stopped-essential-container-exited.json")));
    }

    #[test]
    fn message_that_is_no_event_can_never_succeed() {
        assert_eq!(summarize("{"), "not JSON: it can never succeed");
        assert_eq!(summarize("[]"), "not an event: it can never succeed");
    }
}
