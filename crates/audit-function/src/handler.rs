//! Invocations of the function.

use std::error::Error;

use aws::ecs::{ApiCall, parse_api_call_event};
use jiff::Timestamp;
use lambda::diagnostic;
use lambda_runtime::{Diagnostic, LambdaEvent};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    auditor::Auditor,
    order::{Invocation, Order},
};

/// Handles an invocation. The auditor is an `Err` if it could not be started.
///
/// # Errors
/// The payload or the settings are invalid, or something could not be announced or read: then the message starts with
/// the reasons, and Lambda retries and raises the alarm.
pub async fn audit<E: Error>(auditor: Result<&Auditor, E>, event: LambdaEvent<Value>) -> Result<Value, Diagnostic> {
    let auditor = auditor.map_err(|error| diagnostic("refused_to_start", error.to_string()))?;
    let order = match parse_api_call_event(&event.payload) {
        Some(call) => match registered(call.map_err(|e| diagnostic("invalid", e.to_string()))?) {
            Some(order) => order,
            None => return Ok(json!({ "outcome": "ignored" })),
        },
        None => Order::read(&event.payload).map_err(|error| diagnostic("invalid", error.to_string()))?,
    };
    let answered = auditor.run(&order, &invocation()).await;
    answered.map_err(|incomplete| diagnostic("incomplete", incomplete.to_string()))
}

fn invocation() -> Invocation {
    // A retry has the request ID of the first invocation.
    Invocation { id: Uuid::new_v4().to_string(), now: Timestamp::now() }
}

/// The order for a revision that was registered.
fn registered(call: Option<ApiCall>) -> Option<Order> {
    match call {
        Some(ApiCall::DefinitionInUse { definition, cluster: None }) => Some(Order::registered(definition)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lambda_runtime::Context;
    use mesh::names::InvalidField;

    use super::*;
    use crate::{order::AuditedScope, settings::SettingsError};

    fn order_of(event: &Value) -> Result<Option<Order>, InvalidField> {
        parse_api_call_event(event).unwrap().map(registered)
    }

    fn event() -> Value {
        serde_json::from_str(include_str!("../../../events/api-call-register-task-definition.json")).unwrap()
    }

    #[test]
    fn registered_definition_is_audited_by_its_arn() {
        let order = order_of(&event()).unwrap().unwrap();
        let arn = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7";
        assert_eq!(order.scope, AuditedScope::Registered(arn.parse().unwrap()));
        assert!(order.announces);
    }

    #[test]
    fn failed_calls_and_other_calls_are_ignored() {
        let mut failed = event();
        failed["detail"]["errorCode"] = json!("ClientException");
        assert_eq!(order_of(&failed), Ok(None));
        let mut forged = event();
        forged["source"] = json!("another.source");
        assert_eq!(order_of(&forged), Ok(None));
        let service = include_str!("../../../events/api-call-create-service.json");
        assert_eq!(order_of(&serde_json::from_str(service).unwrap()), Ok(None));
    }

    #[test]
    fn error_names_the_missing_arn() {
        let mut event = event();
        event["detail"]["responseElements"] = Value::Null;
        let error = order_of(&event).unwrap_err();
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
