//! Sweeps of a world's cluster, repeated where the machine was too busy for a complete one.

use std::{sync::Mutex, time::Duration};

use serde_json::{Value, json};

use super::World;
use crate::progress::while_it_goes_on;

/// The pause after an incomplete sweep.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(2);
/// Why a sweep may be incomplete that is complete later: on a busy machine, calls time out.
const BUSY: [&str; 5] = ["consul_unavailable", "out_of_time", "ecs", "secrets", "queue"];
/// Why else, where Consul servers were started again: such a server may not know its callers' tokens for a while.
pub const RESTARTED: [&str; 2] = ["consul_not_found", "consul_credential_rejected"];

impl World<'_> {
    /// Sweeps this cluster alone. An `Err` is the error object that the sweep ended in.
    ///
    /// A sweep that was incomplete because the machine is busy is repeated; the answer then counts what the last one did, not
    /// what those before it did. What a dry run finds and what the guard holds back is the same each time: neither is done.
    pub async fn sweep(&self, order: &Value) -> Result<Value, Value> {
        let mut order = order.clone();
        order["clusters"] = json!([self.cluster()]);
        self.invoke_reconcile(&order, &[]).await
    }

    /// The same, where it has to succeed: the summary of this cluster.
    pub async fn swept(&self) -> Value {
        let summary = self.sweep(&json!({})).await.unwrap_or_else(|error| panic!("the sweep failed: {error}"));
        assert_eq!(summary["outcome"], "done", "{summary}");
        summary["clusters"][0].clone()
    }

    /// Invokes the function that sweeps; again as long as it ends incomplete only because the machine is busy, or for one of
    /// `further` reasons. An `Err` is the error object that it ended in otherwise.
    pub async fn invoke_reconcile(&self, payload: &Value, further: &[&str]) -> Result<Value, Value> {
        let what = format!("a complete sweep of {}", self.name);
        let last = Mutex::new(Value::Null);
        let done = while_it_goes_on(&what, || async {
            let answer = {
                let _alone = self.aws.ecs_alone().await;
                self.aws.invoke(&self.deployed.reconcile, payload).await
            };
            match answer {
                Err(error) if is_passing(&error, further) => {
                    let labels = labels(&error).join(", ");
                    *last.lock().unwrap() = error;
                    tokio::time::sleep(BETWEEN_SWEEPS).await;
                    Err(labels)
                }
                answer => Ok(answer),
            }
        });
        done.await.unwrap_or_else(|stalled| panic!("{stalled}; the last sweep: {}", last.lock().unwrap()))
    }
}

/// Whether a sweep ended only because the machine is busy, or for one of `further` reasons.
fn is_passing(error: &Value, further: &[&str]) -> bool {
    let labels = labels(error);
    !labels.is_empty() && labels.iter().all(|label| BUSY.iter().chain(further).any(|passing| passing == label))
}

/// The labels of all that kept a sweep from being complete, sorted. They stand in the summary, the last line of the message.
fn labels(error: &Value) -> Vec<String> {
    let message = error["errorMessage"].as_str().unwrap_or_default();
    let summary = message.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
    let problems = summary["problems"].as_array().into_iter().flatten();
    let mut labels: Vec<String> =
        problems.map(|problem| problem["label"].as_str().unwrap_or_default().to_owned()).collect();
    labels.sort();
    labels
}
