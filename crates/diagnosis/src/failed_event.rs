//! What a message in the dead-letter queue is about.

use mesh::arn::TaskId;
use serde_json::Value;

/// What a message is about, or why it can never succeed. Why it failed is in the log of `task-events`.
pub fn said(body: &str) -> String {
    let Ok(event) = serde_json::from_str::<Value>(body) else {
        return "not JSON: it can never succeed".to_owned();
    };
    let text = |path: &str| event.pointer(path).and_then(Value::as_str);
    let Some(kind) = text("/detail-type") else {
        return "not an event: it can never succeed".to_owned();
    };
    let name = |path: &str| text(path).map(|arn| arn.rsplit('/').next().unwrap_or(arn));
    match (name("/detail/taskArn"), name("/detail/clusterArn"), text("/detail/service")) {
        (Some(task), Some(cluster), _) => {
            let status = text("/detail/lastStatus").unwrap_or("in an unknown status");
            let reason = text("/detail/stoppedReason").map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!("{kind}: task {task} of cluster {cluster} is {status}{reason}")
        }
        (_, _, Some(service)) => format!("{kind}: service {service}"),
        _ => match text("/detail/eventName") {
            Some(call) => format!("{kind}: {call}"),
            None => kind.to_owned(),
        },
    }
}

/// The ID of the task that a message is about, if it is about one.
pub(crate) fn task_of(body: &str) -> Option<TaskId> {
    let event: Value = serde_json::from_str(body).ok()?;
    let arn = event.pointer("/detail/taskArn")?.as_str()?;
    arn.rsplit('/').next().unwrap_or(arn).parse().ok()
}

/// Whether a message may be for the function `audit`: a registered task definition, or its schedule. No sweep does what it asks for.
pub(crate) fn may_be_for_audit(body: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(body) else { return false };
    event.pointer("/detail/eventName").and_then(Value::as_str) == Some("RegisterTaskDefinition")
        || event.get("scheduled").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_says_which_task_it_is_about() {
        let body = include_str!("../../../events/task-stopped-essential-container-exited.json");
        let said = said(body);
        assert!(
            said.starts_with("ECS Task State Change: task ") && said.contains("of cluster prod is STOPPED ("),
            "{said}"
        );
    }

    #[test]
    fn task_id_is_one_of_ecs() {
        let body = |arn: &str| format!(r#"{{ "detail": {{ "taskArn": "{arn}" }} }}"#);
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(task_of(&body(&format!("arn:aws:ecs:us-east-1:1:task/prod/{id}"))).unwrap().to_string(), id);
        assert_eq!(task_of(&body("x;reboot")), None);
    }

    #[test]
    fn message_for_audit_is_told_from_one_about_a_task() {
        assert!(may_be_for_audit(r#"{ "detail": { "eventName": "RegisterTaskDefinition" } }"#));
        assert!(may_be_for_audit(r#"{ "scheduled": true }"#));
        assert!(!may_be_for_audit(include_str!("../../../events/task-stopped-essential-container-exited.json")));
    }

    #[test]
    fn message_that_is_no_event_can_never_succeed() {
        assert_eq!(said("{"), "not JSON: it can never succeed");
        assert_eq!(said("[]"), "not an event: it can never succeed");
    }
}
