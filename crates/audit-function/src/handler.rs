//! Invocations of the function, and the orders in their payloads.

use std::error::Error;

use audit::report::Format;
use aws::ecs::{ApiCall, parse_api_call_event};
use jiff::Timestamp;
use lambda::diagnostic;
use lambda_runtime::{Diagnostic, LambdaEvent};
use mesh::arn::TaskDefinitionArn;
use report::{AuditOrder, AuditScope};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::auditor::Auditor;

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

/// The ID and the start of an invocation.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// A unique ID, different for each retry.
    pub id: String,
    /// When it started.
    pub now: Timestamp,
}

/// The formats of orders, for errors.
const EXPECTED: &str = concat!(
    r#"one of {"cluster": "<name or ARN>"}, {"family": "<name>"}, {"taskDefinition": "<family:revision or ARN>"}, "#,
    r#"{"all": true} and {"scheduled": true}; each may have "format" (json, text, concise, sarif, junit, github, "#,
    r#"gitlab, markdown or html) and "announce": false"#
);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("payload: got {payload}, expected {EXPECTED}: {why}")]
pub struct OrderError {
    payload: Value,
    why: String,
}

/// What to audit, and how to report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub scope: AuditedScope,
    pub format: Format,
    pub announces: bool,
}

/// What to audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditedScope {
    /// What a payload names.
    Ordered(AuditScope),
    /// A revision that was just registered.
    Registered(TaskDefinitionArn),
}

impl AuditedScope {
    /// Whether no caller reads the answer, so that a failed read has to fail the invocation.
    pub fn is_unattended(&self) -> bool {
        matches!(self, Self::Ordered(AuditScope::Scheduled) | Self::Registered(_))
    }
}

impl Order {
    /// The order to audit a revision that was just registered.
    pub fn registered(definition: TaskDefinitionArn) -> Self {
        Self { scope: AuditedScope::Registered(definition), format: Format::Json, announces: true }
    }

    /// Parses an order.
    ///
    /// # Errors
    /// The reason why it is invalid, and the valid formats, in one line.
    pub fn read(payload: &Value) -> Result<Self, OrderError> {
        let wrong = |why: &str| OrderError { payload: payload.clone(), why: why.to_owned() };
        let read = AuditOrder::deserialize(payload).map_err(|e| wrong(&e.to_string()))?;
        let format = match read.format.as_deref() {
            None => Format::Json,
            Some(name) => Format::named(name).ok_or_else(|| wrong("there is no such format"))?,
        };
        Ok(Self { scope: AuditedScope::Ordered(read.scope), format, announces: read.announce.unwrap_or(true) })
    }
}

#[cfg(test)]
mod tests {
    use lambda_runtime::Context;
    use mesh::names::InvalidField;

    use super::*;
    use crate::settings::SettingsError;

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

    #[test]
    fn orders_are_parsed() {
        for (payload, scope) in [
            (json!({ "cluster": "prod" }), AuditScope::Cluster("prod".to_owned())),
            (json!({ "family": "web" }), AuditScope::Family("web".to_owned())),
            (json!({ "taskDefinition": "web:7" }), AuditScope::TaskDefinition("web:7".to_owned())),
            (json!({ "all": true }), AuditScope::All),
            (json!({ "scheduled": true }), AuditScope::Scheduled),
        ] {
            let order = Order { scope: AuditedScope::Ordered(scope), format: Format::Json, announces: true };
            assert_eq!(Order::read(&payload), Ok(order));
        }
        let order = Order::read(&json!({ "all": true, "format": "html", "announce": false })).unwrap();
        assert_eq!((order.format, order.announces), (Format::Html, false));
    }

    #[test]
    fn error_of_an_order_has_the_valid_formats() {
        for (payload, why) in [
            (json!({}), "the order names no scope"),
            (json!(null), "null"),
            (json!({ "all": false }), "the order names no scope"),
            (json!({ "cluster": "prod", "family": "web" }), "the order names several scopes"),
            (json!({ "family": "" }), "the name is empty"),
            (json!({ "family": "web", "format": "pdf" }), "no such format"),
            (json!({ "familiy": "web" }), "unknown field `familiy`"),
            (json!({ "cluster": ["prod"] }), "expected a string"),
        ] {
            let error = Order::read(&payload).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert!(error.contains(r#"{"family": "<name>"}"#) && error.contains(&payload.to_string()), "{error}");
        }
    }
}
