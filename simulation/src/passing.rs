//! Time passes, and environments go on for which something has happened.

use std::time::Duration;

use controller::SweepOutcome;

use super::{
    environment::{Environment, Outcome},
    schedule::Schedule,
    world::note,
};

impl Schedule {
    pub(crate) async fn advance_somehow(&mut self) {
        let is_busy = self.environments.iter().any(|environment| environment.invocation.is_some());
        // A call that nobody waits for any more takes no longer than others.
        let is_called = !self.stage.board.lock().unwrap().is_empty();
        let by = self.with(|world| {
            if is_busy || is_called {
                return world.random.u64(1..3_000);
            }
            let next = world.sqs.next_visible().filter(|at| *at > world.now);
            match next {
                Some(at) if world.calm || world.random.bool() => at - world.now,
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
        self.owed += by;
        let is_busy = self.environments.iter().any(|environment| environment.invocation.is_some());
        if !is_busy {
            self.owed = 0;
        } else if self.owed >= 200 {
            let slow = self.with(|world| world.scenario.slow_timers);
            tokio::time::advance(Duration::from_millis(std::mem::take(&mut self.owed) / slow)).await;
        }
        let is_over = |environment: &Environment| {
            environment.invocation.as_ref().is_some_and(|invocation| invocation.ends_at <= now)
        };
        while let Some(index) = self.environments.iter().position(is_over) {
            self.kill(index, "has run out of time, and is killed");
        }
    }

    /// Lets every environment go on for which something has happened.
    pub(crate) fn go_on(&mut self) {
        for index in 0..self.environments.len() {
            let Some((outcome, messages)) = self.environments[index].go_on() else { continue };
            let number = self.environments[index].number;
            let mut world = self.stage.world.lock().unwrap();
            world.looking.remove(&number);
            match outcome {
                Outcome::Batch(report) => {
                    note!(world, "environment {number} is done: {:?}", report.failures);
                    world.check_batch(&messages, &report);
                }
                Outcome::Sweep(report) => {
                    note!(world, "environment {number} has swept: {:?} {:?}", report.outcome, report.problems);
                    world.check_sweep(&report);
                    let began = world.blind.remove(&number).map(|blind| blind.began);
                    if let Some(began) =
                        began.filter(|_| report.outcome == SweepOutcome::Done && !world.lost.contains(&number))
                    {
                        world.swept_since(began);
                    }
                    world.lost.remove(&number);
                    self.guarded = report.outcome == SweepOutcome::GuardTripped;
                    if self.is_settled && report.outcome == SweepOutcome::Incomplete {
                        world.broken("converges: a sweep is incomplete although nothing is wrong".to_owned());
                    }
                }
                Outcome::Health(report) => {
                    note!(world, "environment {number} has synced health: {report:?}");
                    world.check_no_leak(&format!("{report:?}"));
                }
                Outcome::Cleanup(report) => {
                    note!(world, "environment {number} has cleaned up: {report:?}");
                    world.check_no_leak(&format!("{report:?}"));
                }
            }
        }
    }
}
