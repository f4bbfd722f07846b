//! What is assumed of time: how late answers may be, how long work may take, and how far clocks may differ.
//!
//! How long a token stays shown to tasks, how long it is hidden before it is deleted, and how old a token must be before it is
//! judged, all follow from these bounds. The simulation exceeds each of the first five in turn, and then finds a broken promise.

use std::str::FromStr;

use std::time::Duration;

use jiff::Timestamp;

use super::field::InvalidField;
use crate::time::{elapsed, later};

/// The bounds of one deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How long ECS's lists may lag: a listing that begins this long after a task was created shows the task. ECS names no
    /// limit, and advises to wait for up to five minutes:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>.
    pub ecs_lag: Duration,
    /// How long a read of a secret may go on showing what was replaced. Secrets Manager names no limit.
    pub secrets_lag: Duration,
    /// How long one attempt at a token may take, until the last call that it begins: half of the time that the
    /// function for events has.
    pub attempt: Duration,
    /// How long a call may still take effect after it was begun, also after its caller has ended. A caller waits for 5 seconds
    /// for an answer.
    pub call: Duration,
    /// How far any two clocks may differ: a function's, Secrets Manager's, Consul's.
    pub clocks: Duration,
    /// How long a version of a secret that shows a token stays, before the token is hidden. Secrets Manager keeps about 100
    /// versions of a secret, and removes none within a day: <https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html>.
    pub shown: Duration,
}

/// The longest delay of a message in SQS, which a hidden token's next look has to fit in.
const LONGEST_MESSAGE_DELAY: Duration = Duration::from_mins(15);
/// How long an attempt may take at most: the function that handles events ends after a minute.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(45);

/// How long an execution environment goes without a look at most: a task's events and those of one deployment share a look, and
/// what a person does to a secret is seen by the events after that.
const MAX_CACHE_TIME: Duration = Duration::from_mins(1);
/// How much longer than a read may lag an attempt has to last at least, in order to read again what was late.
const READ_AGAIN: Duration = Duration::from_secs(2);

const EXPECTED: &str = "ecs-lag=300,secrets-lag=10,attempt=30,call=30,clocks=30,shown=2700 (seconds), where shown is longer than \
                        ecs-lag and twice clocks, attempt at least 3 seconds longer than secrets-lag and at most 45, and the \
                        sum of the first five and clocks at most 900";

impl Bounds {
    /// The default of `TimeBounds`.
    pub const DEFAULT: Self = Self {
        ecs_lag: Duration::from_mins(5),
        secrets_lag: Duration::from_secs(10),
        attempt: Duration::from_secs(30),
        call: Duration::from_secs(30),
        clocks: Duration::from_secs(30),
        shown: Duration::from_mins(45),
    };

    /// Whether a task that an event told of at `told_at` may be missing from what ECS says at `now`.
    #[must_use]
    pub fn may_lag(&self, told_at: Timestamp, now: Timestamp) -> bool {
        elapsed(told_at, now) <= self.ecs_lag + self.clocks
    }

    /// Until when an event may rely on a version that shows a token, written at `written_at`. A later
    /// event writes it anew.
    ///
    /// The token is hidden only after a listing that begins at `hidden_from` or later. A task whose event relied on the version
    /// is then older than ECS's lag, so that the listing shows it. Two functions' clocks are involved, and each may differ
    /// from Secrets Manager's.
    #[must_use]
    pub fn relied_on_until(&self, written_at: Timestamp) -> Timestamp {
        later(written_at, self.shown.saturating_sub(self.ecs_lag + self.clocks * 2))
    }

    /// Until when an execution environment needs no look at a token that a version written at `written_at` shows, as it has seen
    /// at `now`.
    #[must_use]
    pub fn cached_until(&self, written_at: Timestamp, now: Timestamp) -> Timestamp {
        self.relied_on_until(written_at).min(later(now, MAX_CACHE_TIME))
    }

    /// From when on the token that a version shows may be hidden.
    #[must_use]
    pub fn hidden_from(&self, written_at: Timestamp) -> Timestamp {
        later(written_at, self.shown)
    }

    /// How long a token is hidden before it is deleted: until a listing shows every task that can have read it, and until
    /// every creation of it that was begun has ended.
    #[must_use]
    pub fn hidden_for(&self) -> Duration {
        self.secrets_lag + self.ecs_lag + self.attempt + self.call + self.clocks
    }

    /// From when on a token that was hidden at `hidden_at` may be deleted.
    #[must_use]
    pub fn deleted_from(&self, hidden_at: Timestamp) -> Timestamp {
        later(hidden_at, self.hidden_for())
    }

    /// How old a token is once its creator has shown it in its secret or never will, and a read would tell.
    #[must_use]
    pub fn settled_after(&self) -> Duration {
        self.secrets_lag + self.attempt + self.call + self.clocks
    }

    fn adds_up(&self) -> bool {
        self.attempt <= LONGEST_ATTEMPT
            && self.attempt > self.secrets_lag + READ_AGAIN
            && self.hidden_for() + self.clocks <= LONGEST_MESSAGE_DELAY
            && self.shown > self.ecs_lag + self.clocks * 2
    }
}

impl FromStr for Bounds {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let invalid = || InvalidField::new("time bounds", text, EXPECTED);
        let mut bounds = Self::DEFAULT;
        for part in text.split(',') {
            let (name, seconds) = part.split_once('=').ok_or_else(invalid)?;
            let seconds: u16 = seconds.trim().parse().map_err(|_| invalid())?;
            let bound = match name.trim() {
                "ecs-lag" => &mut bounds.ecs_lag,
                "secrets-lag" => &mut bounds.secrets_lag,
                "attempt" => &mut bounds.attempt,
                "call" => &mut bounds.call,
                "clocks" => &mut bounds.clocks,
                "shown" => &mut bounds.shown,
                _ => return Err(invalid()),
            };
            *bound = Duration::from_secs(seconds.into());
        }
        if bounds.adds_up() { Ok(bounds) } else { Err(invalid()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_bounds_add_up() {
        let bounds = Bounds::DEFAULT;
        assert!(bounds.adds_up());
        assert_eq!(bounds.hidden_for(), Duration::from_secs(400));
        assert_eq!(bounds.settled_after(), Duration::from_secs(100));
        // Shown, hidden and emptied once in each such time: fewer versions a day than Secrets Manager keeps.
        let day = Duration::from_hours(24);
        assert!(3 * day.as_secs() / bounds.shown.as_secs() < 100);
    }

    #[test]
    fn a_listing_that_hides_a_token_shows_every_task_whose_event_relied_on_it() {
        let bounds = Bounds::DEFAULT;
        let written_at = Timestamp::from_second(1_000_000).unwrap();
        let apart = elapsed(bounds.relied_on_until(written_at), bounds.hidden_from(written_at));
        assert_eq!(apart, bounds.ecs_lag + bounds.clocks * 2);
    }

    #[test]
    fn an_environment_looks_again_after_a_minute_and_before_the_token_may_be_hidden() {
        let bounds = Bounds::DEFAULT;
        let written_at = Timestamp::from_second(1_000_000).unwrap();
        let after = |seconds| written_at + Duration::from_secs(seconds);
        assert_eq!(bounds.cached_until(written_at, after(5)), after(65));
        assert_eq!(bounds.cached_until(written_at, after(2_339)), after(2_340));
        assert_eq!(bounds.cached_until(written_at, after(2_400)), after(2_340), "it is looked at each time");
    }

    #[test]
    fn bounds_are_read_and_those_that_are_not_named_keep_their_default() {
        let bounds: Bounds = "ecs-lag=1, shown=70".parse().unwrap();
        assert_eq!(bounds.ecs_lag, Duration::from_secs(1));
        assert_eq!(bounds.call, Bounds::DEFAULT.call);
    }

    #[test]
    fn bounds_that_do_not_add_up_are_refused() {
        for text in [
            "",
            "ecs-lag",
            "ecs-lag=x",
            "ecs-lag=-1",
            "shown=120",
            "attempt=46",
            "attempt=0",
            "secrets-lag=28",
            "ecs-lag=800",
            "lag=1",
        ] {
            assert_eq!(text.parse::<Bounds>().unwrap_err().field(), "time bounds", "{text}");
        }
    }
}
