//! `ECS Task State Change` events of `EventBridge`.
//!
//! Fields: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html>. Unknown fields are
//! ignored, because AWS adds fields without notice.

use std::str::FromStr;

use jiff::Timestamp;
use serde_json::Value;

use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    field::InvalidField,
    phase::TaskPhase,
    task::TaskChange,
    task_end::{ContainerEnd, TaskEnd},
};

/// The `source` of ECS's events.
pub const SOURCE: &str = "aws.ecs";
/// The `detail-type` of task state change events.
pub const DETAIL_TYPE: &str = "ECS Task State Change";

/// Parses the event's `time` and `detail`.
///
/// # Errors
/// A field is missing, has another type, or is invalid; the error names it.
pub fn parse_task_change(time: Option<&str>, detail: &Value) -> Result<TaskChange, InvalidField> {
    let detail = Detail(detail);
    let arn: TaskArn = detail.parsed("taskArn")?;
    let cluster: ClusterArn = detail.parsed("clusterArn")?;
    if !arn.is_in(&cluster) {
        return Err(InvalidField::new("detail.taskArn", arn.as_str(), "a task of the cluster in detail.clusterArn"));
    }
    let phase = TaskPhase::from_statuses(detail.text("lastStatus")?, detail.text("desiredStatus")?).map_err(|e| {
        let field = format!("detail.{}", e.field());
        e.in_field(field)
    })?;
    let version = detail.field("version", Value::as_u64, "the task's version number")?;
    let definition: TaskDefinitionArn = detail.parsed("taskDefinitionArn")?;
    if !definition.is_beside(&cluster) {
        let expected = "a definition in the account and region of detail.clusterArn";
        return Err(InvalidField::new("detail.taskDefinitionArn", definition.as_str(), expected));
    }
    let time = time.ok_or_else(|| InvalidField::new("time", "", "an ISO 8601 time"))?;
    let time: Timestamp = time.parse().map_err(|_| InvalidField::new("time", time, "an ISO 8601 time"))?;
    let is_disconnected = detail.0.get("connectivity").and_then(Value::as_str) == Some("DISCONNECTED");
    let stopped_containers = detail.stopped_containers();
    let end = (phase == TaskPhase::Stopped).then(|| detail.end());
    Ok(TaskChange { arn, cluster, definition, phase, version, time, stopped_containers, is_disconnected, end })
}

struct Detail<'a>(&'a Value);

impl<'a> Detail<'a> {
    fn field<T>(
        &self,
        name: &str,
        read: impl Fn(&'a Value) -> Option<T>,
        expected: &'static str,
    ) -> Result<T, InvalidField> {
        let value = self.0.get(name);
        value.and_then(read).ok_or_else(|| {
            let shown = value.map(Value::to_string).unwrap_or_default();
            InvalidField::new(format!("detail.{name}"), &shown, expected)
        })
    }

    fn text(&self, name: &str) -> Result<&'a str, InvalidField> {
        self.field(name, Value::as_str, "a string")
    }

    fn containers(&self) -> impl Iterator<Item = &'a Value> {
        self.0.get("containers").and_then(Value::as_array).into_iter().flatten()
    }

    /// The names of the containers whose last status is `STOPPED`.
    fn stopped_containers(&self) -> Vec<String> {
        let stopped = self
            .containers()
            .filter(|container| container.get("lastStatus").and_then(Value::as_str) == Some("STOPPED"));
        stopped.filter_map(|container| optional_text(container, "name")).collect()
    }

    /// How the task has stopped, as far as the event says it: nothing is decided by it.
    fn end(&self) -> TaskEnd {
        let container = |container: &Value| {
            Some(ContainerEnd {
                name: optional_text(container, "name")?,
                exit_code: container.get("exitCode").and_then(Value::as_i64),
                reason: optional_text(container, "reason"),
            })
        };
        let time = |name: &str| optional_text(self.0, name)?.parse().ok();
        TaskEnd {
            code: optional_text(self.0, "stopCode"),
            reason: optional_text(self.0, "stoppedReason"),
            containers: self.containers().filter_map(container).collect(),
            created_at: time("createdAt"),
            started_at: time("startedAt"),
            stopped_at: time("stoppedAt"),
        }
    }

    fn parsed<T: FromStr<Err = InvalidField>>(&self, name: &str) -> Result<T, InvalidField> {
        self.text(name)?.parse::<T>().map_err(|e| e.in_field(format!("detail.{name}")))
    }
}

fn optional_text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn detail() -> Value {
        json!({
            "taskArn": "arn:aws:ecs:us-east-1:123456789012:task/prod/0123456789abcdef0123456789abcdef",
            "taskDefinitionArn": "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7",
            "clusterArn": "arn:aws:ecs:us-east-1:123456789012:cluster/prod",
            "lastStatus": "RUNNING",
            "desiredStatus": "STOPPED",
            "version": 5,
            "containers": [{ "name": "app", "lastStatus": "RUNNING" }, { "name": "consul-dataplane", "lastStatus": "STOPPED" }],
            "aFieldOfNextYear": { "x": [] },
        })
    }

    const TIME: Option<&str> = Some("2026-11-20T10:00:00Z");

    #[test]
    fn event_is_parsed() {
        let change = parse_task_change(TIME, &detail()).unwrap();
        assert_eq!((change.phase, change.version), (TaskPhase::Stopping, 5));
        assert_eq!(change.cluster.name(), "prod");
        assert_eq!(change.definition.family().as_str(), "web");
        assert_eq!((change.stopped_containers, change.is_disconnected), (vec!["consul-dataplane".to_owned()], false));
        let mut lost = detail();
        lost["connectivity"] = json!("DISCONNECTED");
        lost["containers"] = json!("none");
        let change = parse_task_change(TIME, &lost).unwrap();
        assert_eq!((change.stopped_containers, change.is_disconnected), (Vec::new(), true));
    }

    #[test]
    fn end_of_a_stopped_task_is_told() {
        assert_eq!(parse_task_change(TIME, &detail()).unwrap().end, None);
        let text = include_str!("../../../../events/task-stopped-essential-container-exited.json");
        let event: Value = serde_json::from_str(text).unwrap();
        let end = parse_task_change(TIME, &event["detail"]).unwrap().end.unwrap();
        assert_eq!(end.code.as_deref(), Some("EssentialContainerExited"));
        assert_eq!(end.reason.as_deref(), Some("Essential container in task exited"));
        assert_eq!(end.containers[3].to_string(), "web exited with 1");
        assert_eq!(end.stopped_at, "2026-11-20T11:30:41.903Z".parse().ok());
        let killed = json!({
            "lastStatus": "STOPPED", "stoppedAt": "never",
            "containers": [{ "name": "web", "exitCode": 137, "reason": "OutOfMemoryError" }, { "name": "app" }, {}],
        });
        let mut detail = detail();
        detail.as_object_mut().unwrap().extend(killed.as_object().unwrap().clone());
        let end = parse_task_change(TIME, &detail).unwrap().end.unwrap();
        let containers: Vec<String> = end.containers.iter().map(ToString::to_string).collect();
        assert_eq!(containers, ["web exited with 137 (OutOfMemoryError)", "app did not run"]);
        assert_eq!((end.code, end.stopped_at), (None, None));
    }

    #[test]
    fn missing_field_is_named() {
        for field in ["taskArn", "taskDefinitionArn", "clusterArn", "lastStatus", "desiredStatus", "version"] {
            let mut detail = detail();
            detail.as_object_mut().unwrap().remove(field);
            assert_eq!(parse_task_change(TIME, &detail).unwrap_err().field(), format!("detail.{field}"));
        }
        assert_eq!(parse_task_change(None, &detail()).unwrap_err().field(), "time");
    }

    #[test]
    fn field_of_a_wrong_type_is_named() {
        for (field, value) in [("version", json!("5")), ("version", json!(-1)), ("lastStatus", json!(3))] {
            let mut detail = detail();
            detail[field] = value;
            assert_eq!(parse_task_change(TIME, &detail).unwrap_err().field(), format!("detail.{field}"));
        }
    }

    #[test]
    fn field_with_an_invalid_value_is_named() {
        for (field, value) in [
            ("taskArn", "nonsense"),
            ("taskArn", "arn:aws:ecs:us-east-1:123456789012:task/other/0123456789abcdef0123456789abcdef"),
            ("taskDefinitionArn", "arn:aws:ecs:us-east-1:999999999999:task-definition/web:7"),
            ("lastStatus", "DANCING"),
            ("desiredStatus", "MAYBE"),
        ] {
            let mut detail = detail();
            detail[field] = json!(value);
            let error = parse_task_change(TIME, &detail).unwrap_err();
            assert_eq!(error.field(), format!("detail.{field}"));
            assert!(error.to_string().contains(value), "{error}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(last in "\\PC*", desired in "\\PC*", version in any::<u64>()) {
            let mut detail = detail();
            detail["lastStatus"] = json!(last);
            detail["desiredStatus"] = json!(desired);
            detail["version"] = json!(version);
            let _ = parse_task_change(TIME, &detail);
        }
    }
}
