//! The orders: payloads of invocations by a user or the schedule.

use serde::Deserialize;
use serde_json::Value;

use audit::report::Format;
use mesh::arn::TaskDefinitionArn;

/// The formats of orders, for errors.
const EXPECTED: &str = r#"one of {"cluster": "<name or ARN>"}, {"family": "<name>"}, {"taskDefinition": "<family:revision or ARN>"}, {"all": true} and {"scheduled": true}; each with "format" (json, text, concise, sarif, junit, github, gitlab, markdown or html) and "announce": false if you like"#;

/// An invalid order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("payload: got {payload}, expected {EXPECTED}: {why}")]
pub struct OrderError {
    payload: Value,
    why: String,
}

/// What to audit, and how to report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// What to audit.
    pub scope: Scope,
    /// The format of the report.
    pub format: Format,
    /// Whether to announce new findings.
    pub announces: bool,
}

/// What to audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything that the account runs in the region, and the newest revision of every family.
    Everything,
    /// The revisions that the deployment's clusters run.
    Scheduled,
    /// The revisions that one cluster runs.
    Cluster(String),
    /// The newest revision of a family.
    Family(String),
    /// A revision.
    Definition(String),
    /// A revision that was just registered.
    Registered(TaskDefinitionArn),
}

impl Scope {
    /// Whether no caller reads the answer, so that a failed read has to fail the invocation.
    pub fn is_unattended(&self) -> bool {
        matches!(self, Self::Scheduled | Self::Registered(_))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Payload {
    cluster: Option<String>,
    family: Option<String>,
    task_definition: Option<String>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    scheduled: bool,
    format: Option<String>,
    announce: Option<bool>,
}

impl Order {
    /// The order to audit a revision that was just registered.
    pub fn registered(definition: TaskDefinitionArn) -> Self {
        Self { scope: Scope::Registered(definition), format: Format::Json, announces: true }
    }

    /// Parses an order.
    ///
    /// # Errors
    /// The reason why it is invalid, and the valid formats, in one line.
    pub fn read(payload: &Value) -> Result<Self, OrderError> {
        let wrong = |why: &str| OrderError { payload: payload.clone(), why: why.to_owned() };
        let read = Payload::deserialize(payload).map_err(|e| wrong(&e.to_string()))?;
        let mut scopes: Vec<Scope> = Vec::new();
        scopes.extend(read.cluster.map(Scope::Cluster));
        scopes.extend(read.family.map(Scope::Family));
        scopes.extend(read.task_definition.map(Scope::Definition));
        scopes.extend(read.all.then_some(Scope::Everything));
        scopes.extend(read.scheduled.then_some(Scope::Scheduled));
        let scope = match (scopes.pop(), scopes.is_empty()) {
            (Some(Scope::Cluster(name) | Scope::Family(name) | Scope::Definition(name)), true) if name.is_empty() => {
                return Err(wrong("the name is empty"));
            }
            (Some(scope), true) => scope,
            (Some(_), false) => return Err(wrong("one thing at a time")),
            (None, _) => return Err(wrong("nothing is asked for")),
        };
        let format = match read.format.as_deref() {
            None => Format::Json,
            Some(name) => Format::named(name).ok_or_else(|| wrong("there is no such format"))?,
        };
        Ok(Self { scope, format, announces: read.announce.unwrap_or(true) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn orders_are_parsed() {
        for (payload, scope) in [
            (json!({ "cluster": "prod" }), Scope::Cluster("prod".to_owned())),
            (json!({ "family": "web" }), Scope::Family("web".to_owned())),
            (json!({ "taskDefinition": "web:7" }), Scope::Definition("web:7".to_owned())),
            (json!({ "all": true }), Scope::Everything),
            (json!({ "scheduled": true }), Scope::Scheduled),
        ] {
            assert_eq!(Order::read(&payload), Ok(Order { scope, format: Format::Json, announces: true }));
        }
        let order = Order::read(&json!({ "all": true, "format": "html", "announce": false })).unwrap();
        assert_eq!((order.format, order.announces), (Format::Html, false));
    }

    #[test]
    fn error_of_an_order_has_the_valid_formats() {
        for (payload, why) in [
            (json!({}), "nothing is asked for"),
            (json!(null), "null"),
            (json!({ "all": false }), "nothing is asked for"),
            (json!({ "cluster": "prod", "family": "web" }), "one thing at a time"),
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
