//! The controller's work for a crowd: when it is done, and what came of it.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Crowd;
use crate::progress::{until_done, while_it_goes_on};
use local_stack::world::GRACE;

/// The pause after an incomplete sweep.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(2);
/// Why a sweep may be incomplete that is complete later: on a busy machine, calls time out.
const BUSY: [&str; 5] = ["consul_unavailable", "out_of_time", "ecs", "secrets", "queue"];
/// Why else, where Consul servers were started again: such a server may not know its callers' tokens for a while.
const RESTARTED: [&str; 2] = ["consul_not_found", "consul_credential_rejected"];
/// How much of the functions' logs is shown when something does not come about.
const LINES: usize = 30;
/// How old its first line is at most.
const RECENT: Duration = Duration::from_mins(15);

impl Crowd<'_> {
    /// Waits until every message is done, but for looks that follow a revocation a good minute later; as long as something
    /// moves.
    pub async fn worked_off(&self) {
        let what = format!("the events of {} to be done", self.world.name);
        let done = while_it_goes_on(&what, || async {
            let mut waiting = self.world.waiting(&self.world.deployed.queue_url).await;
            let soon = (Timestamp::now() + 2 * GRACE).as_second();
            waiting.retain(|message| message["ReceiveCount"] != 0 || message["VisibleAt"].as_i64() <= Some(soon));
            if waiting.is_empty() { Ok(()) } else { Err(state_of(&waiting)) }
        });
        if let Err(stalled) = done.await {
            panic!("{stalled}\nthe function's log ends:\n{}", self.log_end().await);
        }
    }

    /// Asserts that no message of this crowd was given up.
    pub async fn nothing_given_up(&self) {
        let given_up = self.world.waiting(&self.world.deployed.failed_queue_url).await;
        let log = if given_up.is_empty() { String::new() } else { self.log_end().await };
        assert!(given_up.is_empty(), "in the dead-letter queue: {given_up:#?}\nthe function's log ends:\n{log}");
    }

    /// Sweeps once, and everything has to be done. A sweep that a busy machine kept from reading everything says so, and is
    /// repeated.
    pub async fn sweep(&self) -> Value {
        self.sweep_until_complete(&[]).await
    }

    /// The same where Consul servers were started again.
    pub async fn sweep_after_restarts(&self) -> Value {
        self.sweep_until_complete(&RESTARTED).await
    }

    /// Sweeps again as long as a sweep is incomplete only because the machine is busy, or for one of `further` reasons.
    async fn sweep_until_complete(&self, further: &[&str]) -> Value {
        let function = &self.world.deployed.reconcile;
        let what = format!("a complete sweep of {}", self.world.name);
        let summary = until_done(&what, || async {
            match self.world.aws.invoke(function, &json!({})).await {
                Err(error) if is_passing(&error, further) => {
                    tokio::time::sleep(BETWEEN_SWEEPS).await;
                    Err(error)
                }
                swept => Ok(swept),
            }
        });
        let summary = summary.await.unwrap_or_else(|error| panic!("the sweep of {} failed: {error}", self.world.name));
        assert_eq!(summary["outcome"], "done", "{summary}");
        summary
    }

    /// Waits until Consul and Secrets Manager hold what the living tasks need, and nothing else of ours; and what is
    /// somebody else's is as it was.
    pub async fn converged(&self) {
        until_done(&format!("{} to converge", self.world.name), || async {
            let wrong = self.violations().await;
            if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
        })
        .await;
    }

    async fn log_end(&self) -> String {
        let group = &self.world.deployed.log_group;
        if group.is_empty() {
            return "(it is not deployed)".to_owned();
        }
        let since = (Timestamp::now() - RECENT).as_millisecond();
        let lines = self.world.aws.logs_where(group, &json!({ "startTime": since })).await;
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// Whether a sweep ended only because the machine is busy, or for one of `further` reasons.
fn is_passing(error: &Value, further: &[&str]) -> bool {
    let message = error["errorMessage"].as_str().unwrap_or_default();
    let summary = message.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
    let problems: Vec<&Value> = summary["problems"].as_array().into_iter().flatten().collect();
    let is_passing = |problem: &&Value| BUSY.iter().chain(further).any(|label| problem["label"] == json!(label));
    !problems.is_empty() && problems.iter().all(is_passing)
}

/// The state of messages: how many there are of each kind, how often they were received, and whether they are in work.
fn state_of(messages: &[Value]) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for message in messages {
        let is_look = message["Body"].as_str().unwrap_or_default().contains("Service Idle Check");
        let kind = if is_look { "look" } else { "event" };
        let (receives, visible) = (&message["ReceiveCount"], &message["IsVisible"]);
        *kinds.entry(format!("{kind}, received {receives} times, visible: {visible}")).or_default() += 1;
    }
    format!("{} messages: {kinds:#?}", messages.len())
}
