//! How long an idle service keeps its token.

use std::time::Duration;

use jiff::Timestamp;

use crate::time::elapsed;

/// How long an idle service keeps its token. ECS shows stopped tasks for an hour, so that it can be 50 minutes at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GracePeriod(Duration);

impl GracePeriod {
    /// A grace period of whole seconds (`RevocationGraceSeconds`).
    #[must_use]
    pub fn from_secs(seconds: u16) -> Self {
        Self(Duration::from_secs(seconds.into()))
    }

    /// How long after the last stop the service is looked at again.
    #[must_use]
    pub fn delay(self) -> Duration {
        self.0
    }

    /// How long a service must have been without tasks before its token goes. Shorter than the delay, or a look
    /// that comes a moment early would wait for a look that nobody asked for.
    #[must_use]
    pub fn quiet(self) -> Duration {
        self.0 / 10 * 9
    }

    /// Whether the look that was asked for at `asked` serves a stop that is known at `now` as well.
    ///
    /// The look comes no sooner than `delay()` after it was asked for. A task that has stopped within a twentieth of that
    /// has then been gone for longer than `quiet()`; the gap absorbs the difference between clocks.
    #[must_use]
    pub fn covers(self, asked: Timestamp, now: Timestamp) -> bool {
        // A clock that was set back tells nothing.
        asked <= now && elapsed(asked, now) < self.0 / 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_serves_a_twentieth_of_the_grace_period() {
        let covers = |seconds: i64, grace| {
            let asked = Timestamp::from_second(1_000).unwrap();
            GracePeriod::from_secs(grace).covers(asked, Timestamp::from_second(1_000 + seconds).unwrap())
        };
        assert!(covers(0, 300) && covers(14, 300));
        assert!(!covers(15, 300) && !covers(0, 0), "without a grace period every stop is looked at at once");
        assert!(!covers(-1, 300), "the clock was set back");
    }
}
