//! What invokes `task-events`: events of `EventBridge`, and the controller's messages to itself.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The `source` of the controller's events and messages.
pub const OWN_SOURCE: &str = "ecs-mesh-controller";

/// An event of `EventBridge`, or a message of the controller in the form of one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Envelope {
    pub source: Option<String>,
    pub detail_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(default)]
    pub detail: Value,
}

impl Envelope {
    /// A message of the controller to itself.
    fn own(detail_type: &str, detail: Value) -> Self {
        Self { source: Some(OWN_SOURCE.to_owned()), detail_type: Some(detail_type.to_owned()), time: None, detail }
    }
}

/// A request to check whether a task uses the token of a service.
#[derive(Debug, Serialize, Deserialize)]
pub struct IdleCheckOrder {
    pub service: String,
    /// The secret's name after the prefix, if it is not the service's.
    pub secret: Option<String>,
    /// The position in the chain of messages that the controller sends to itself: 1 for the first.
    #[serde(default = "first")]
    pub hops: u32,
    pub partition: Option<String>,
    pub namespace: Option<String>,
}

fn first() -> u32 {
    1
}

impl IdleCheckOrder {
    pub const DETAIL_TYPE: &str = "Service Idle Check";

    pub fn message(&self) -> Envelope {
        Envelope::own(Self::DETAIL_TYPE, json!(self))
    }
}

/// A request to look again at tasks that ECS did not know in a sweep.
#[derive(Debug, Serialize, Deserialize)]
pub struct SecondLookOrder {
    /// The ARNs of the clusters of the sweep; empty: all.
    pub clusters: Vec<String>,
    /// The ARNs of the tasks.
    pub tasks: Vec<String>,
    pub force: bool,
}

/// A request to sweep clusters whose nodes Consul had lost.
#[derive(Debug, Serialize, Deserialize)]
pub struct LostNodeOrder {
    /// The ARNs of the clusters.
    pub clusters: Vec<String>,
}

impl LostNodeOrder {
    pub const DETAIL_TYPE: &str = "Cluster Node Lost";

    pub fn message(&self) -> Envelope {
        Envelope::own(Self::DETAIL_TYPE, json!(self))
    }
}

impl SecondLookOrder {
    pub const DETAIL_TYPE: &str = "Unknown Task Second Look";

    pub fn message(&self) -> Envelope {
        Envelope::own(Self::DETAIL_TYPE, json!(self))
    }
}
