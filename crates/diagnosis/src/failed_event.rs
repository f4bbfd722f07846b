//! What a message in the dead-letter queue is about.

use serde_json::Value;

/// What a message is about, or why it can never succeed. Why it failed is in the log of `task-events`.
#[must_use]
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
pub(crate) fn task_of(body: &str) -> Option<String> {
    let event: Value = serde_json::from_str(body).ok()?;
    let arn = event.pointer("/detail/taskArn")?.as_str()?;
    Some(arn.rsplit('/').next().unwrap_or(arn).to_owned())
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
    fn message_that_is_no_event_can_never_succeed() {
        assert_eq!(said("{"), "not JSON: it can never succeed");
        assert_eq!(said("[]"), "not an event: it can never succeed");
    }
}
