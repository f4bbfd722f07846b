//! The passage of time, and the invocations that it wakes or ends.

use std::time::Duration;

use report::{ErrorLabel, SweepOutcome};

use super::{
    environment::{Environment, Outcome},
    schedule::Schedule,
    world::note,
};

impl Schedule {
    /// Lets a random time pass: up to 3 s while work is under way, otherwise up to 20 s or until the next message.
    pub(crate) async fn advance_randomly(&mut self) {
        let is_busy = self.is_busy();
        // Abandoned calls count as well: their effects have to come within `longest_call`.
        let is_called = !self.shared.pending.lock().unwrap().is_empty();
        let by = self.with(|world| {
            if is_busy || is_called {
                return world.random.u64(1..3_000);
            }
            let next = world.sqs.next_visible().filter(|at| *at > world.now);
            match next {
                Some(at) if world.fault_free || world.random.bool() => at - world.now,
                _ => world.random.u64(1..20_000),
            }
        });
        self.advance(by).await;
    }

    pub(crate) async fn advance(&mut self, by: u64) {
        let now = self.with(|world| {
            world.now += by;
            world.now
        });
        self.pending_timer_time += by;
        if !self.is_busy() {
            self.pending_timer_time = 0;
        } else if self.pending_timer_time >= 200 {
            let slow = self.with(|world| world.scenario.slow_timers);
            tokio::time::advance(Duration::from_millis(std::mem::take(&mut self.pending_timer_time) / slow)).await;
        }
        let is_over = |environment: &Environment| {
            environment.invocation.as_ref().is_some_and(|invocation| invocation.ends_at <= now)
        };
        while let Some(index) = self.environments.iter().position(is_over) {
            self.kill(index, "has run out of time, and is killed");
        }
    }

    /// Polls every invocation, and checks the result of each that has ended.
    pub(crate) fn poll_invocations(&mut self) {
        for index in 0..self.environments.len() {
            let Some((outcome, messages)) = self.environments[index].poll() else { continue };
            let number = self.environments[index].number;
            let mut world = self.shared.world.lock().unwrap();
            world.checking_idle.remove(&number);
            match outcome {
                Outcome::Batch(report) => {
                    note!(world, "environment {number} is done: {:?}", report.failures);
                    world.check_batch(&messages, &report);
                }
                Outcome::Sweep(report) => {
                    note!(
                        world,
                        "environment {number} has swept: {:?} {:?} {:?}",
                        report.outcome,
                        report.problems,
                        report.faults
                    );
                    world.check_sweep(&report);
                    world.check_guard(&report);
                    // An error leaves work to another sweep. The rest of a flood and the faults of a hostile neighbour leave none.
                    let is_own = |fault| world.are_of_neighbour(std::slice::from_ref(fault));
                    let is_whole = report.outcome != SweepOutcome::Incomplete
                        && report.faults.iter().all(|fault| {
                            fault.label == ErrorLabel::OverLimit || is_own(fault) || world.is_refusal(fault)
                        });
                    if let Some(sweep) = world.sweep_reads.remove(&number) {
                        if is_whole {
                            world.check_registered(&sweep.repairs);
                        }
                        let is_done = is_whole && report.outcome == SweepOutcome::Done;
                        if is_done && !world.in_wrong_region.contains(&number) {
                            world.swept_since(sweep.began, &sweep.repairs);
                        }
                    }
                    world.in_wrong_region.remove(&number);
                    self.guard_tripped = report.outcome == SweepOutcome::GuardTripped;
                    if self.is_settled && !is_whole {
                        world.broken("converges: a sweep is incomplete although nothing is wrong".to_owned());
                    }
                    self.last_sweep = Some(report);
                }
                Outcome::Cleanup(report) => {
                    note!(world, "environment {number} has cleaned up: {report:?}");
                    world.check_no_leak(&format!("{report:?}"));
                }
            }
        }
    }
}
