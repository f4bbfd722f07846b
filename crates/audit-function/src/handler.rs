//! The `audit` function: audits registered task definitions, those that the clusters run, and those of an order.

use std::error::Error;

use jiff::Timestamp;
use lambda_runtime::{Context, Diagnostic, LambdaEvent};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{auditor::Auditor, invocation::Invocation, order::Order};
use aws::ecs::{API_CALL_DETAIL_TYPE, ApiCall, SOURCE, parse_api_call};
use lambda::diagnostic;
use mesh::field::InvalidField;

/// Handles an invocation. The auditor is an `Err` if it could not be started.
///
/// # Errors
/// The payload or the settings are invalid, or something could not be announced or read: then the message starts with
/// the reasons, and Lambda retries and raises the alarm.
pub async fn audit<E: Error>(auditor: Result<&Auditor, E>, event: LambdaEvent<Value>) -> Result<Value, Diagnostic> {
    let auditor = auditor.map_err(|error| diagnostic("refused_to_start", error.to_string()))?;
    let order = if event.payload.get("detail-type").and_then(Value::as_str) == Some(API_CALL_DETAIL_TYPE) {
        match registered(&event.payload).map_err(|e| diagnostic("invalid", e.to_string()))? {
            Some(order) => order,
            None => return Ok(json!({ "outcome": "ignored" })),
        }
    } else {
        Order::read(&event.payload).map_err(|error| diagnostic("invalid", error.to_string()))?
    };
    let answered = auditor.run(&order, &invocation(&event.context)).await;
    answered.map_err(|incomplete| diagnostic("incomplete", incomplete.to_string()))
}

fn invocation(context: &Context) -> Invocation {
    let now = Timestamp::now();
    let deadline = i64::try_from(context.deadline).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    // A retry has the request ID of the first invocation.
    Invocation { id: Uuid::new_v4().to_string(), now, until: deadline.unwrap_or(now) }
}

/// The order for the revision in a `CloudTrail` event of a registration.
fn registered(payload: &Value) -> Result<Option<Order>, InvalidField> {
    if payload.get("source").and_then(Value::as_str) != Some(SOURCE) {
        return Ok(None);
    }
    let detail = payload.get("detail").cloned().unwrap_or_default();
    Ok(match parse_api_call(&detail)? {
        Some(ApiCall::DefinitionInUse { definition, cluster: None }) => Some(Order::registered(definition)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{order::Scope, settings::SettingsError};

    fn event() -> Value {
        serde_json::from_str(include_str!("../../../events/api-call-register-task-definition.json")).unwrap()
    }

    #[test]
    fn registered_definition_is_audited_by_its_arn() {
        let order = registered(&event()).unwrap().unwrap();
        let arn = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7";
        assert_eq!(order.scope, Scope::Registered(arn.parse().unwrap()));
        assert!(order.announces);
    }

    #[test]
    fn failed_calls_and_other_calls_are_ignored() {
        let mut failed = event();
        failed["detail"]["errorCode"] = json!("ClientException");
        assert_eq!(registered(&failed), Ok(None));
        let mut forged = event();
        forged["source"] = json!("another.source");
        assert_eq!(registered(&forged), Ok(None));
        let service = include_str!("../../../events/api-call-create-service.json");
        assert_eq!(registered(&serde_json::from_str(service).unwrap()), Ok(None));
    }

    #[test]
    fn error_names_the_missing_arn() {
        let mut event = event();
        event["detail"]["responseElements"] = Value::Null;
        let error = registered(&event).unwrap_err();
        assert_eq!(error.field(), "detail.responseElements.taskDefinition.taskDefinitionArn");
    }

    #[tokio::test]
    async fn failed_start_is_reported() {
        let error = SettingsError::from(InvalidField::new("REPORTS_BUCKET", "", "the name of an S3 bucket"));
        let reason = error.to_string();
        let event = LambdaEvent::new(json!({ "all": true }), Context::default());
        let refused = audit(Err(error), event).await.unwrap_err();
        assert_eq!((refused.error_type.as_str(), refused.error_message), ("refused_to_start", reason));
    }
}
