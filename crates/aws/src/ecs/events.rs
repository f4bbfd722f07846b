//! The events of ECS on `EventBridge`. Unknown fields are ignored, because AWS adds fields without notice.
//!
//! Sources: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html> and
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/logging-using-cloudtrail.html>

use std::str::FromStr;

use jiff::Timestamp;
use report::Envelope;
use serde::Deserialize;
use serde_json::Value;

use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    names::InvalidField,
    task::{ContainerEnd, TaskChange, TaskEnd, TaskPhase},
};

/// The `source` of ECS's events.
pub const SOURCE: &str = "aws.ecs";
/// The `detail-type` of task state change events.
pub const DETAIL_TYPE: &str = "ECS Task State Change";
/// The `detail-type` of API calls. `EventBridge` gets them only with a trail of `CloudTrail` in the region.
pub const API_CALL_DETAIL_TYPE: &str = "AWS API Call via CloudTrail";

/// The cluster of a task state change event. It is read first, so that events of other clusters need not be valid.
///
/// # Errors
/// The field is missing, or is no ARN of a cluster.
pub fn cluster_of_task_change(detail: &Value) -> Result<ClusterArn, InvalidField> {
    parsed(detail, "/clusterArn")
}

/// Parses the event's `time` and `detail`. `None`: the task has another kind of definition than the mesh's tasks, or none.
///
/// # Errors
/// A field is missing, has another type, or is invalid; the error names it.
pub fn parse_task_change(time: Option<&str>, detail: &Value) -> Result<Option<TaskChange>, InvalidField> {
    let cluster = cluster_of_task_change(detail)?;
    let Some(definition) = definition_at(detail, "/taskDefinitionArn")? else { return Ok(None) };
    let arn: TaskArn = parsed(detail, "/taskArn")?;
    if !arn.is_in(&cluster) {
        return Err(InvalidField::new("detail.taskArn", arn.as_str(), "a task of the cluster in detail.clusterArn"));
    }
    let status = |path: &str| field(detail, path, Value::as_str, "a string");
    let phase = TaskPhase::from_statuses(status("/lastStatus")?, status("/desiredStatus")?);
    let version = field(detail, "/version", Value::as_u64, "the task's version number")?;
    if !definition.is_beside(&cluster) {
        let expected = "a definition in the account and region of detail.clusterArn";
        return Err(InvalidField::new("detail.taskDefinitionArn", definition.as_str(), expected));
    }
    let time = time.ok_or_else(|| InvalidField::new("time", "", "an ISO 8601 time"))?;
    let time: Timestamp = time.parse().map_err(|_| InvalidField::new("time", time, "an ISO 8601 time"))?;
    let is_disconnected = detail.get("connectivity").and_then(Value::as_str) == Some("DISCONNECTED");
    let is_stopped = |container: &&Value| container.get("lastStatus").and_then(Value::as_str) == Some("STOPPED");
    let stopped_containers = containers(detail).filter(is_stopped).filter_map(|it| optional_text(it, "name")).collect();
    let end = (phase == TaskPhase::Stopped).then(|| end(detail));
    Ok(Some(TaskChange { arn, cluster, definition, phase, version, time, stopped_containers, is_disconnected, end }))
}

/// What the event says about how the task stopped. It decides nothing.
fn end(detail: &Value) -> TaskEnd {
    let container = |container: &Value| {
        Some(ContainerEnd {
            name: optional_text(container, "name")?,
            exit_code: container.get("exitCode").and_then(Value::as_i64),
            reason: optional_text(container, "reason"),
        })
    };
    let time = |name: &str| optional_text(detail, name)?.parse().ok();
    TaskEnd {
        code: optional_text(detail, "stopCode"),
        reason: optional_text(detail, "stoppedReason"),
        containers: containers(detail).filter_map(container).collect(),
        created_at: time("createdAt"),
        started_at: time("startedAt"),
        stopped_at: time("stoppedAt"),
    }
}

fn containers(detail: &Value) -> impl Iterator<Item = &Value> {
    detail.get("containers").and_then(Value::as_array).into_iter().flatten()
}

fn optional_text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

/// A successful call to ECS that affects the mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiCall {
    /// Tasks of this definition may start soon; in this cluster, if an ECS service uses it.
    DefinitionInUse {
        definition: TaskDefinitionArn,
        cluster: Option<ClusterArn>,
    },
    ClusterDeleted(ClusterArn),
}

/// Parses the payload of an invocation. The outer `None`: it is not an event about a call of an API; the inner one: the event
/// does not affect the mesh.
pub fn parse_api_call_event(payload: &Value) -> Option<Result<Option<ApiCall>, InvalidField>> {
    let event = Envelope::deserialize(payload).ok()?;
    let is_call = event.detail_type.as_deref() == Some(API_CALL_DETAIL_TYPE);
    let is_of_ecs = event.source.as_deref() == Some(SOURCE);
    is_call.then(|| if is_of_ecs { parse_api_call(&event.detail) } else { Ok(None) })
}

/// The cluster that a call is about, if it is about one.
pub fn cluster_of_api_call(detail: &Value) -> Option<ClusterArn> {
    let response = detail.get("responseElements")?;
    let clusters = ["/service/clusterArn", "/cluster/clusterArn"].map(|path| response.pointer(path));
    clusters.into_iter().flatten().find_map(Value::as_str)?.parse().ok()
}

/// Parses the event's `detail`. `None`: the call failed, or does not affect the mesh. `CloudTrail` redacts environment values,
/// so that only ARNs are read.
///
/// # Errors
/// The ARN is missing or invalid; the error names the field.
pub fn parse_api_call(detail: &Value) -> Result<Option<ApiCall>, InvalidField> {
    let text = |path: &str| detail.pointer(path).and_then(Value::as_str);
    let succeeded = detail.get("errorCode").is_none_or(Value::is_null);
    if !succeeded || text("/eventSource") != Some("ecs.amazonaws.com") {
        return Ok(None);
    }
    Ok(match text("/eventName") {
        Some("RegisterTaskDefinition") => {
            let definition = parsed(detail, "/responseElements/taskDefinition/taskDefinitionArn")?;
            Some(ApiCall::DefinitionInUse { definition, cluster: None })
        }
        // A service with an external deployment controller has no task definition.
        Some("CreateService" | "UpdateService") => {
            match definition_at(detail, "/responseElements/service/taskDefinition")? {
                Some(definition) => {
                    let cluster = Some(parsed(detail, "/responseElements/service/clusterArn")?);
                    Some(ApiCall::DefinitionInUse { definition, cluster })
                }
                None => None,
            }
        }
        Some("DeleteCluster") => Some(ApiCall::ClusterDeleted(parsed(detail, "/responseElements/cluster/clusterArn")?)),
        _ => None,
    })
}

/// A field of `detail`, by its JSON pointer.
fn field<'a, T>(
    detail: &'a Value,
    path: &str,
    read: impl Fn(&'a Value) -> Option<T>,
    expected: &'static str,
) -> Result<T, InvalidField> {
    let value = detail.pointer(path);
    value.and_then(read).ok_or_else(|| {
        let shown = value.map(Value::to_string).unwrap_or_default();
        InvalidField::new(name(path), &shown, expected)
    })
}

/// A task definition; `None` if the field is absent or names another kind of resource.
fn definition_at(detail: &Value, path: &str) -> Result<Option<TaskDefinitionArn>, InvalidField> {
    if detail.pointer(path).is_none_or(Value::is_null) {
        return Ok(None);
    }
    let arn = field(detail, path, Value::as_str, "an ARN")?;
    TaskDefinitionArn::of_task(arn).map_err(|e| e.in_field(name(path)))
}

fn parsed<T: FromStr<Err = InvalidField>>(detail: &Value, path: &str) -> Result<T, InvalidField> {
    field(detail, path, Value::as_str, "an ARN")?.parse::<T>().map_err(|e| e.in_field(name(path)))
}

/// The name of a field in errors.
fn name(path: &str) -> String {
    format!("detail{}", path.replace('/', "."))
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

    fn parsed_change(detail: &Value) -> TaskChange {
        parse_task_change(TIME, detail).unwrap().expect("a task of a task definition")
    }

    #[test]
    fn event_is_parsed() {
        let change = parsed_change(&detail());
        assert_eq!((change.phase, change.version), (TaskPhase::Stopping, 5));
        assert_eq!(change.cluster.name(), "prod");
        assert_eq!(change.definition.family().as_str(), "web");
        assert_eq!((change.stopped_containers, change.is_disconnected), (vec!["consul-dataplane".to_owned()], false));
        let mut lost = detail();
        lost["connectivity"] = json!("DISCONNECTED");
        lost["containers"] = json!("none");
        let change = parsed_change(&lost);
        assert_eq!((change.stopped_containers, change.is_disconnected), (Vec::new(), true));
    }

    #[test]
    fn end_of_a_stopped_task_is_told() {
        assert_eq!(parsed_change(&detail()).end, None);
        let text = include_str!("../../../../events/task-stopped-essential-container-exited.json");
        let event: Value = serde_json::from_str(text).unwrap();
        let end = parsed_change(&event["detail"]).end.unwrap();
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
        let end = parsed_change(&detail).end.unwrap();
        let containers: Vec<String> = end.containers.iter().map(ToString::to_string).collect();
        assert_eq!(containers, ["web exited with 137 (OutOfMemoryError)", "app did not run"]);
        assert_eq!((end.code, end.stopped_at), (None, None));
    }

    #[test]
    fn missing_field_is_named() {
        for field in ["taskArn", "clusterArn", "lastStatus", "desiredStatus", "version"] {
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
            ("taskDefinitionArn", "arn:aws:ecs:us-east-1:123456789012:task-definition/web"),
            ("taskDefinitionArn", "nonsense"),
        ] {
            let mut detail = detail();
            detail[field] = json!(value);
            let error = parse_task_change(TIME, &detail).unwrap_err();
            assert_eq!(error.field(), format!("detail.{field}"));
            assert!(error.to_string().contains(value), "{error}");
        }
    }

    #[test]
    fn event_of_a_task_without_a_task_definition_is_no_change_even_if_malformed() {
        let daemon = json!("arn:aws:ecs:us-east-1:123456789012:daemon-task-definition/agent:3");
        for definition in [daemon, Value::Null] {
            let detail = json!({ "clusterArn": CLUSTER, "taskDefinitionArn": definition, "lastStatus": 7 });
            assert_eq!(parse_task_change(None, &detail), Ok(None));
        }
        let mut without = detail();
        without.as_object_mut().unwrap().remove("taskDefinitionArn");
        assert_eq!(parse_task_change(TIME, &without), Ok(None));
    }

    #[test]
    fn unknown_status_is_a_phase() {
        for field in ["lastStatus", "desiredStatus"] {
            let mut detail = detail();
            detail[field] = json!("HIBERNATING");
            let change = parsed_change(&detail);
            assert_eq!((change.phase, change.end), (TaskPhase::Unknown, None));
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

    const DEFINITION: &str = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7";
    const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";

    fn call(name: &str, response: &Value) -> Value {
        json!({ "eventSource": "ecs.amazonaws.com", "eventName": name, "responseElements": response })
    }

    #[test]
    fn registered_definition_has_no_cluster() {
        let response = json!({ "taskDefinition": { "taskDefinitionArn": DEFINITION } });
        let parsed = parse_api_call(&call("RegisterTaskDefinition", &response)).unwrap();
        assert_eq!(parsed, Some(ApiCall::DefinitionInUse { definition: DEFINITION.parse().unwrap(), cluster: None }));
    }

    #[test]
    fn service_has_a_cluster() {
        let response = json!({ "service": { "taskDefinition": DEFINITION, "clusterArn": CLUSTER } });
        for name in ["CreateService", "UpdateService"] {
            let Some(ApiCall::DefinitionInUse { cluster, .. }) = parse_api_call(&call(name, &response)).unwrap() else {
                panic!("{name} uses a definition");
            };
            assert_eq!(cluster, Some(CLUSTER.parse().unwrap()));
        }
        let external = json!({ "service": { "clusterArn": CLUSTER } });
        assert_eq!(parse_api_call(&call("CreateService", &external)), Ok(None));
        let daemon = DEFINITION.replace(":task-definition/", ":daemon-task-definition/");
        let of_another_kind = json!({ "service": { "taskDefinition": daemon, "clusterArn": CLUSTER } });
        assert_eq!(parse_api_call(&call("CreateService", &of_another_kind)), Ok(None));
    }

    #[test]
    fn cluster_of_a_call_is_read_by_itself() {
        let of = |response: Value| cluster_of_api_call(&call("UpdateService", &response));
        let broken = json!({ "service": { "taskDefinition": 7, "clusterArn": CLUSTER } });
        assert_eq!(of(broken), CLUSTER.parse().ok());
        assert_eq!(of(json!({ "cluster": { "clusterArn": CLUSTER } })), CLUSTER.parse().ok());
        assert_eq!(of(json!({ "service": { "clusterArn": 7 } })), None);
    }

    #[test]
    fn failed_and_other_calls_are_ignored() {
        let mut failed = call("RegisterTaskDefinition", &Value::Null);
        failed["errorCode"] = json!("ClientException");
        assert_eq!(parse_api_call(&failed), Ok(None));
        assert_eq!(parse_api_call(&call("ListTasks", &Value::Null)), Ok(None));
        let mut other = call("DeleteCluster", &json!({ "cluster": { "clusterArn": CLUSTER } }));
        other["eventSource"] = json!("eks.amazonaws.com");
        assert_eq!(parse_api_call(&other), Ok(None));
    }

    #[test]
    fn missing_arn_is_named() {
        let error = parse_api_call(&call("DeleteCluster", &Value::Null)).unwrap_err();
        assert_eq!(error.field(), "detail.responseElements.cluster.clusterArn");
    }

    proptest! {
        #[test]
        fn parsing_a_call_never_panics(arn in "\\PC*") {
            let _ = parse_api_call(&call("DeleteCluster", &json!({ "cluster": { "clusterArn": arn } })));
        }
    }
}
