//! A stack: its status, its events and its resources; and what the handler sees of it.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use async_trait::async_trait;
use aws::stack::{StackError, StackEvent};
use ecs_mesh_controller::custom_resource::{CloudFormation, DeliveryError, PROOF};
use serde_json::Value;

/// The custom resource's name in the template.
pub(super) const SET_UP: &str = "MeshSetup";

/// The parameters of a version of the stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) number: usize,
    /// `CleanupOnDelete`.
    pub(super) asks: bool,
    /// Whether the function starts with its settings.
    pub(super) is_valid: bool,
}

/// The custom resource, as `CloudFormation` remembers it.
#[derive(Debug, Clone)]
pub(super) struct Resource {
    pub(super) id: String,
    pub(super) version: Version,
}

/// A stack.
#[derive(Default)]
pub(super) struct Stack {
    /// Oldest first.
    pub(super) events: Vec<StackEvent>,
    /// The version of the function.
    pub(super) deployed: Version,
    pub(super) set_up: Option<Resource>,
    pub(super) has_proof: bool,
    /// The version before an update that is not rolled back yet, and whether it had the proof.
    pub(super) before_update: Option<(Version, bool)>,
    /// The version of the last completed creation or update.
    pub(super) completed: Option<Version>,
    /// Whether the last operation had ended when the deletion began.
    pub(super) was_settled: Option<bool>,
    /// Whether nothing fails any more.
    pub(super) is_calm: bool,
    pub(super) requests: usize,
}

impl Stack {
    pub(super) fn status(&self) -> &str {
        let own = self.events.iter().rev().find(|event| event.resource.is_none());
        own.map_or("", |event| event.status.as_str())
    }

    /// Whether nothing is left of the stack, not even its function.
    pub(super) fn is_gone(&self) -> bool {
        self.status() == "DELETE_COMPLETE"
    }
}

/// What the handler sees of `CloudFormation`.
#[derive(Default)]
pub struct Formation {
    pub(super) is_mute: AtomicBool,
    /// Newest first.
    pub(super) events: Mutex<Vec<StackEvent>>,
    pub(super) answer: Mutex<Option<Value>>,
}

#[async_trait]
impl CloudFormation for Formation {
    async fn events(&self, _: &str) -> Result<Vec<StackEvent>, StackError> {
        if self.is_mute.load(SeqCst) {
            return Err(StackError("no route".to_owned()));
        }
        Ok(self.events.lock().unwrap().clone())
    }

    async fn answer(&self, _: &str, answer: &Value) -> Result<(), DeliveryError> {
        *self.answer.lock().unwrap() = Some(answer.clone());
        Ok(())
    }
}

/// An event of a resource, or of the stack itself.
pub(super) fn event(resource: Option<&str>, status: &str) -> StackEvent {
    StackEvent { resource: resource.map(str::to_owned), status: status.to_owned() }
}

/// The event of the resource that proves the completion.
pub(super) fn proof(status: &str) -> StackEvent {
    event(Some(PROOF), status)
}
