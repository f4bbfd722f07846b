//! The events that the functions put on the default event bus: `docs/reference/events.md` and `docs/reference/schema/event.schema.json`.

use mesh::settings::Mode;
use serde::{Deserialize, Serialize};

/// Declares each event once: the type of its `detail`, and its `detail-type`.
macro_rules! events {
    ($($event:ident($detail:ty) = $detail_type:literal,)+) => {
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "detail-type", content = "detail")]
        pub enum Event {
            $(#[serde(rename = $detail_type)] $event($detail),)+
        }

        impl Event {
            pub fn detail_type(&self) -> &'static str {
                match self {
                    $(Self::$event(_) => $detail_type,)+
                }
            }

            /// The `detail` in JSON.
            pub fn detail(&self) -> String {
                let detail = match self {
                    $(Self::$event(detail) => serde_json::json!(detail),)+
                };
                detail.to_string()
            }
        }
    };
}

events! {
    TaskRepaired(InMode<Healing>) = "ECS Mesh Task Repaired",
    HealthCorrected(InMode<Healing>) = "ECS Mesh Health Corrected",
    TaskBroken(InMode<Healing>) = "ECS Mesh Task Broken",
    TaskDrained(InMode<DrainedTask>) = "ECS Mesh Task Drained",
    TaskDeregistered(InMode<TaskEntries>) = "ECS Mesh Task Deregistered",
    TokenCreated(InMode<CreatedToken>) = "ECS Mesh Token Created",
    TokenRevoked(InMode<RevokedToken>) = "ECS Mesh Token Revoked",
    GuardTripped(InMode<TrippedGuard>) = "ECS Mesh Guard Tripped",
    AuditFinding(AuditFinding) = "ECS Mesh Audit Finding",
}

impl Event {
    /// The ARN of what the event is about.
    pub fn resource(&self) -> Option<&str> {
        match self {
            Self::AuditFinding(finding) => Some(&finding.task_definition_arn),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "{D}InMode"))]
pub struct InMode<D> {
    #[serde(flatten)]
    pub detail: D,
    /// With `observe`, the controller changed nothing.
    pub mode: Mode,
}

/// A running task that was healed, or that only a person can replace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Healing {
    pub cluster_arn: String,
    pub task_id: String,
    /// The service's name in Consul.
    pub service: String,
    pub reason: String,
    /// What ECS reported.
    pub in_ecs: String,
    /// What Consul had.
    pub in_consul: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum DrainedTask {
    ProxyStopped(Healing),
    /// ECS told the task to stop.
    Stopping(TaskEntries),
}

/// The instances of a task in Consul's catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskEntries {
    /// The catalog node: the cluster's ARN, or the name of a client agent.
    pub node: String,
    pub task_id: String,
    /// The service's name in Consul.
    pub service: String,
    /// The IDs of the instances, a sidecar proxy's included.
    pub service_ids: Vec<String>,
    pub reason: String,
}

/// A token of a service or of the client agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreatedToken {
    pub cluster_arn: String,
    /// The holder of the token, in words.
    pub holder: String,
    /// The service's name in Consul.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    pub accessor_id: String,
    /// Why the token was created again, and what to do if that was wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum RevokedToken {
    /// The login token of a stopped task.
    Login { task_id: String, accessor_id: String, reason: String },
    /// A token of a service or of the client agents.
    Provisioned {
        /// The holder of the token, in words.
        holder: String,
        /// The service's name in Consul.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        service: Option<String>,
        accessor_id: String,
        reason: String,
    },
}

/// A cluster whose deletions or corrections a sweep has held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TrippedGuard {
    pub cluster_arn: String,
    pub reason: String,
}

/// A finding of a registered task definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditFinding {
    pub task_definition_arn: String,
    pub family: String,
    pub revision: String,
    /// The ID of the rule.
    pub rule: String,
    /// `error`, `warning` or `info`.
    pub severity: String,
    pub container: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What happens at run time.
    pub effect: String,
    /// How to correct it.
    pub help: String,
    /// The page about the rule.
    pub page: String,
    /// The same in every audit of the revision.
    pub fingerprint: String,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn events_stay_as_version_0_1_0_wrote_them() {
        let written = include_str!("event/written.jsonl");
        for line in written.lines() {
            let event: Event = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&event).unwrap(), line);
            let expected: Value = serde_json::from_str(line).unwrap();
            assert_eq!(
                (event.detail_type(), event.detail()),
                (expected["detail-type"].as_str().unwrap(), expected["detail"].to_string())
            );
        }
    }

    #[test]
    fn samples_on_the_page_are_events() {
        let page = include_str!("../../../docs/reference/events.md");
        let samples = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        for sample in samples {
            let mut sample: Value = serde_json::from_str(sample).unwrap();
            let event: Event = serde_json::from_value(sample.clone()).unwrap();
            assert_eq!(sample.as_object_mut().unwrap().remove("source").unwrap(), "ecs-mesh-controller");
            assert_eq!(serde_json::to_value(&event).unwrap(), sample);
        }
    }
}
