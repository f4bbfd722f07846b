//! The controller's work for a crowd: when it is done, and what came of it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Crowd;
use local_stack::{
    progress::{until_done, while_it_goes_on},
    world::{GRACE, RESTARTED, state_of},
};

/// How much of the functions' logs is shown when something does not come about.
const LINES: usize = 30;
/// How old its first line is at most.
const RECENT: Duration = Duration::from_mins(15);

impl Crowd<'_> {
    /// Waits until no message is left but looks that are due later than twice the grace period. Fails when nothing changes any
    /// more.
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

    async fn sweep_until_complete(&self, further: &[&str]) -> Value {
        let summary = self.world.invoke_reconcile(&json!({}), further).await;
        let summary = summary.unwrap_or_else(|error| panic!("the sweep of {} failed: {error}", self.world.name));
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
