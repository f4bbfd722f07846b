//! Sweeps of a world's cluster, repeated if the machine was too busy for a complete one.

use std::{sync::Mutex, time::Duration};

use serde_json::{Value, json};

use super::World;
use crate::progress::wait_while_progressing;

/// The pause after an incomplete sweep.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(2);
/// The labels of problems that are transient on a busy machine, where calls time out.
const BUSY: [&str; 5] = ["consul_unavailable", "out_of_time", "ecs", "secrets", "queue"];
/// The labels of problems that are transient after a restart of Consul servers, which may not know a caller's token for a while.
pub const RESTARTED: [&str; 2] = ["consul_not_found", "consul_credential_rejected"];

impl World<'_> {
    /// Sweeps this cluster only. `Err` is the error object of the sweep.
    ///
    /// A sweep that was incomplete because the machine is busy is repeated; the answer then counts only what the last sweep
    /// did. The results of a dry run and of a tripped guard do not change by a repetition, because nothing is deleted.
    pub async fn sweep(&self, order: &Value) -> Result<Value, Value> {
        let mut order = order.clone();
        order["clusters"] = json!([self.cluster()]);
        self.invoke_reconcile(&order, &[]).await
    }

    /// Sweeps this cluster, asserts that the sweep succeeds, and returns the summary of the cluster.
    pub async fn swept(&self) -> Value {
        let summary = self.sweep(&json!({})).await.unwrap_or_else(|error| panic!("the sweep failed: {error}"));
        assert_eq!(summary["outcome"], "done", "{summary}");
        summary["clusters"][0].clone()
    }

    /// Invokes `reconcile`, and repeats the invocation while it is incomplete only because of transient problems: those of a busy
    /// machine, and `further`. `Err` is any other error object.
    pub async fn invoke_reconcile(&self, payload: &Value, further: &[&str]) -> Result<Value, Value> {
        let what = format!("a complete sweep of {}", self.name);
        let last = Mutex::new(Value::Null);
        let done = wait_while_progressing(&what, || async {
            let answer = {
                let _ecs = self.aws.lock_ecs().await;
                self.aws.invoke(&self.deployed.reconcile, payload).await
            };
            match answer {
                Err(error) if is_transient(&error, further) => {
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

/// Whether all problems of a sweep are transient: those of a busy machine, and `further`.
fn is_transient(error: &Value, further: &[&str]) -> bool {
    let labels = labels(error);
    !labels.is_empty() && labels.iter().all(|label| BUSY.iter().chain(further).any(|transient| transient == label))
}

/// The labels of a sweep's problems, sorted. They are in the summary, which is the last line of the message.
fn labels(error: &Value) -> Vec<String> {
    let message = error["errorMessage"].as_str().unwrap_or_default();
    let summary = message.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
    let problems = summary["problems"].as_array().into_iter().flatten();
    let mut labels: Vec<String> =
        problems.map(|problem| problem["label"].as_str().unwrap_or_default().to_owned()).collect();
    labels.sort();
    labels
}
