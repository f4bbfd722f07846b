//! `AWS API Call via CloudTrail` events of ECS. They require a trail in the region.
//!
//! `CloudTrail` redacts environment values, so that only ARNs are read. Source:
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/logging-using-cloudtrail.html>

use serde_json::Value;

use mesh::{
    arn::{ClusterArn, TaskDefinitionArn},
    field::InvalidField,
};

/// The `detail-type` of events of API calls.
pub const API_CALL_DETAIL_TYPE: &str = "AWS API Call via CloudTrail";
/// The `eventSource` of calls to ECS.
const EVENT_SOURCE: &str = "ecs.amazonaws.com";

/// A successful call to ECS that affects the mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiCall {
    /// Tasks of this definition may start soon, in this cluster if it is known.
    DefinitionInUse {
        /// The revision.
        definition: TaskDefinitionArn,
        /// The cluster of the ECS service that uses it.
        cluster: Option<ClusterArn>,
    },
    /// The cluster was deleted.
    ClusterDeleted(ClusterArn),
}

/// Parses the event's `detail`. `None`: the call failed, or does not affect the mesh.
///
/// # Errors
/// The ARN is missing or invalid; the error names the field.
pub fn parse_api_call(detail: &Value) -> Result<Option<ApiCall>, InvalidField> {
    let text = |path: &str| detail.pointer(path).and_then(Value::as_str);
    let succeeded = detail.get("errorCode").is_none_or(Value::is_null);
    if !succeeded || text("/eventSource") != Some(EVENT_SOURCE) {
        return Ok(None);
    }
    Ok(match text("/eventName") {
        Some("RegisterTaskDefinition") => {
            let definition = parsed(detail, "/responseElements/taskDefinition/taskDefinitionArn")?;
            Some(ApiCall::DefinitionInUse { definition, cluster: None })
        }
        // A service with an external deployment controller has no task definition.
        Some("CreateService" | "UpdateService") if text("/responseElements/service/taskDefinition").is_some() => {
            let definition = parsed(detail, "/responseElements/service/taskDefinition")?;
            let cluster = Some(parsed(detail, "/responseElements/service/clusterArn")?);
            Some(ApiCall::DefinitionInUse { definition, cluster })
        }
        Some("DeleteCluster") => Some(ApiCall::ClusterDeleted(parsed(detail, "/responseElements/cluster/clusterArn")?)),
        _ => None,
    })
}

fn parsed<T: std::str::FromStr<Err = InvalidField>>(detail: &Value, path: &str) -> Result<T, InvalidField> {
    let field = || format!("detail{}", path.replace('/', "."));
    let value = detail.pointer(path);
    match value.and_then(Value::as_str) {
        Some(text) => text.parse::<T>().map_err(|e| e.in_field(field())),
        None => Err(InvalidField::new(field(), &value.map(Value::to_string).unwrap_or_default(), "an ARN")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

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
        fn parsing_never_panics(arn in "\\PC*") {
            let _ = parse_api_call(&call("DeleteCluster", &json!({ "cluster": { "clusterArn": arn } })));
        }
    }
}
