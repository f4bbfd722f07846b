//! Waiting until the controller has handled a fleet's events, and checks of the result.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Fleet;
use local_stack::{
    progress::{wait_until_done, wait_while_progressing},
    world::{GRACE, RESTARTED, state_of},
};

/// How many lines of the functions' logs are shown when a wait fails.
const LINES: usize = 30;
/// The greatest age of these lines.
const RECENT: Duration = Duration::from_mins(15);

impl Fleet<'_> {
    /// Waits until no message is left except idle checks that are due later than twice the grace period. Fails when the queue stops
    /// changing.
    pub async fn events_handled(&self) {
        let what = format!("the events of {} to be done", self.world.name);
        let done = wait_while_progressing(&what, || async {
            let mut waiting = self.world.waiting(&self.world.deployed.queue_url).await;
            let soon = (Timestamp::now() + 2 * GRACE).as_second();
            waiting.retain(|message| message["ReceiveCount"] != 0 || message["VisibleAt"].as_i64() <= Some(soon));
            if waiting.is_empty() { Ok(()) } else { Err(state_of(&waiting)) }
        });
        if let Err(stalled) = done.await {
            panic!("{stalled}\nthe function's log ends:\n{}", self.log_end().await);
        }
    }

    /// Asserts that the dead-letter queue has no message of this fleet.
    pub async fn assert_no_dead_letters(&self) {
        let given_up = self.world.waiting(&self.world.deployed.failed_queue_url).await;
        let log = if given_up.is_empty() { String::new() } else { self.log_end().await };
        assert!(given_up.is_empty(), "in the dead-letter queue: {given_up:#?}\nthe function's log ends:\n{log}");
    }

    /// Runs one complete sweep. A sweep that was incomplete because the machine was busy, or Consul's servers have just started
    /// again, is repeated.
    pub async fn sweep(&self) -> Value {
        let summary = self.world.invoke_reconcile(&json!({}), &RESTARTED).await;
        let summary = summary.unwrap_or_else(|error| panic!("the sweep of {} failed: {error}", self.world.name));
        assert_eq!(summary["outcome"], "done", "{summary}");
        summary
    }

    /// Waits until Consul and Secrets Manager hold exactly what the running tasks demand, and checks that nothing of other
    /// owners has changed.
    pub async fn converged(&self) {
        wait_until_done(&format!("{} to converge", self.world.name), || async {
            let violations = self.violations().await;
            if violations.is_empty() { Ok(()) } else { Err(violations.join("\n")) }
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
