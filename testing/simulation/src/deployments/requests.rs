//! Requests to the handler: sent once, run never, once, late or again, and what each run may do.

use std::{io, time::Duration};

use ecs_mesh_controller::custom_resource::{Request, handle};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Deployments,
    stack::{SET_UP, Version},
};
use crate::{calls::CallOutcome, world::World};

/// The longest that a handler works.
const TIME: Duration = Duration::from_secs(280);
/// The status of a stack that is created or updated.
const FORWARD: [&str; 2] = ["CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS"];

/// An answer that `CloudFormation` got.
pub(super) struct Answer {
    pub(super) is_success: bool,
    pub(super) id: String,
}

fn properties(version: Version) -> Value {
    json!({
        "ControllerVersion": version.number.to_string(), "CleanupOnDelete": version.asks.to_string(),
        "ReconcileRate": "rate(5 minutes)",
    })
}

impl Deployments {
    /// Sends a request, and waits for its answer. `None` if none comes in time: the function crashed, its answer is lost, or it
    /// runs later.
    pub(super) async fn request(
        &mut self,
        kind: &str,
        id: Option<&str>,
        new: Version,
        old: Option<Version>,
    ) -> Option<Answer> {
        self.stack.requests += 1;
        let mut request = json!({
            "RequestType": kind, "ResponseURL": "https://answer", "StackId": "stack",
            "RequestId": self.stack.requests.to_string(), "LogicalResourceId": SET_UP, "ResourceProperties": properties(new),
        });
        if let Some(id) = id {
            request["PhysicalResourceId"] = json!(id);
        }
        if let Some(old) = old {
            request["OldResourceProperties"] = properties(old);
        }
        self.sent.push(request.clone());
        if self.fails(8) {
            self.note(|| format!("{kind} {id:?} does not run"));
            return None;
        }
        let answer = self.invoke(&request).await;
        if self.fails(8) {
            self.note(|| "the answer is lost".to_owned());
            return None;
        }
        let is_success = answer["Status"] == "SUCCESS";
        if is_success && kind != "Delete" && answer["Data"]["SweepSeconds"] != "300" {
            self.breaks(format!("never stuck: the alarm about missing sweeps gets no period: {answer}"));
        }
        Some(Answer { is_success, id: answer["PhysicalResourceId"].as_str().unwrap_or_default().to_owned() })
    }

    /// Runs requests again that were sent before, if the function still exists.
    pub(super) async fn redeliver(&mut self) {
        while !self.stack.is_gone() && !self.sent.is_empty() && self.draw(3) {
            let request = self.sent[self.random.usize(..self.sent.len())].clone();
            self.note(|| format!("again or late: {}", request["RequestId"]));
            self.invoke(&request).await;
        }
    }

    /// Runs the handler, and checks what it does.
    async fn invoke(&mut self, request: &Value) -> Value {
        *self.formation.events.lock().unwrap() = self.stack.events.iter().rev().cloned().collect();
        let (status, kind) = (self.stack.status().to_owned(), request["RequestType"].as_str().unwrap_or_default());
        let is_deletion = kind == "Delete" && status == "DELETE_IN_PROGRESS";
        let may_clean_up = is_deletion && self.stack.completed.is_some_and(|version| version.asks);
        let (before, calls) = (self.mesh(), self.consul_calls());
        self.direct.with(|world| {
            world.is_cleaned_up = may_clean_up;
            world.sweep_reads.insert(0, world.now.into());
        });
        let is_forward = kind != "Delete" && FORWARD.contains(&status.as_str());
        let other = if is_forward { self.draw_other() } else { None };
        let objects = self.objects();
        self.draw_outage();
        let controller = self.direct.controller();
        let is_valid = self.stack.deployed.is_valid;
        let started = if is_valid { Ok(&controller) } else { Err(io::Error::other("wrong settings")) };
        let parsed = Request::deserialize(request.clone()).expect("a request");
        let handled = Box::pin(handle(started, self.formation.as_ref(), parsed, TIME));
        let by_other = async {
            match &other {
                Some(other) => other.set_up().await,
                None => false,
            }
        };
        let both = async { tokio::join!(handled, by_other) };
        let (handled, is_set_up_by_other) = self.direct.serve_with(CallOutcome::Served, Box::pin(both)).await;
        handled.expect("an answer");
        self.had_outage |= self.direct.with(World::end_outage);
        let answer = self.formation.answer.lock().unwrap().take().expect("an answer");
        self.note(|| format!("{kind} {} while {status} -> {answer}", request["PhysicalResourceId"]));
        if let Some(how) = self.direct.with(|world| world.broken.take()) {
            self.breaks(format!("nothing destroyed: {how}"));
        }
        let lost: Vec<String> = before.difference(&self.mesh()).cloned().collect();
        if !may_clean_up && !lost.is_empty() {
            self.breaks(format!("nothing destroyed: {kind} while {status} removed {lost:?}"));
        }
        self.check_objects_kept(&objects);
        if answer["Status"] == "SUCCESS" && (is_forward || kind != "Delete" && self.is_mute) {
            self.check_is_set_up(&self.direct.with(|world| world.scope.clone()));
        }
        if let Some(other) = other.filter(|_| is_set_up_by_other) {
            self.check_is_set_up(&other.scope);
        }
        let is_late = !is_deletion && !FORWARD.contains(&status.as_str()) && !self.is_mute;
        if is_late && self.consul_calls() > calls {
            self.breaks(format!("nothing late: {kind} while {status} called Consul"));
        }
        let is_up = self.direct.with(|world| world.down.is_empty());
        let must_succeed = match kind {
            "Delete" => !is_deletion,
            // No fault of a secret fails it.
            _ if is_valid && is_up && is_forward => true,
            "Update" => status == "UPDATE_ROLLBACK_IN_PROGRESS" && !self.is_mute,
            _ => false,
        };
        if must_succeed && answer["Status"] != "SUCCESS" {
            self.breaks(format!("never stuck: {kind} while {status} failed: {}", answer["Reason"]));
        }
        answer
    }
}
