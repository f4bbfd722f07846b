//! What an invocation orders, parsed from its payload.

use audit::report::Format;
use jiff::Timestamp;
use mesh::arn::TaskDefinitionArn;
use report::{AuditOrder, AuditScope};
use serde::Deserialize;
use serde_json::Value;

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
    use serde_json::json;

    use super::*;

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
