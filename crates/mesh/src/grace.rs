//! How long an idle service keeps its token.

use std::time::Duration;

use jiff::Timestamp;

use crate::time::elapsed;

/// How long an idle service keeps its token: at most 50 minutes, because ECS describes stopped tasks for one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GracePeriod(Duration);

impl GracePeriod {
    /// A grace period of whole seconds (`RevocationGraceSeconds`).
    pub fn from_secs(seconds: u16) -> Self {
        Self(Duration::from_secs(seconds.into()))
    }

    /// The delay between the stop of a task and the idle check of its service.
    pub fn delay(self) -> Duration {
        self.0
    }

    /// How long a service must have had no task to be idle: nine tenths of the delay, so that an idle check that runs
    /// slightly early still succeeds.
    pub fn quiet(self) -> Duration {
        self.0 / 10 * 9
    }

    /// Whether the idle check requested at `asked` also covers a task that has stopped by `now`.
    ///
    /// The check runs no sooner than `delay()` after its request. A task that stopped within a twentieth of that delay
    /// has then been stopped for longer than `quiet()`; the remaining twentieth absorbs differences between clocks.
    pub fn covers(self, asked: Timestamp, now: Timestamp) -> bool {
        // After the clock was set back, the request time cannot be compared.
        asked <= now && elapsed(asked, now) < self.0 / 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_covers_a_twentieth_of_the_grace_period() {
        let covers = |seconds: i64, grace| {
            let asked = Timestamp::from_second(1_000).unwrap();
            GracePeriod::from_secs(grace).covers(asked, Timestamp::from_second(1_000 + seconds).unwrap())
        };
        assert!(covers(0, 300) && covers(14, 300));
        assert!(!covers(15, 300) && !covers(0, 0), "without a grace period each stop gets its own check");
        assert!(!covers(-1, 300), "the clock was set back");
    }
}
