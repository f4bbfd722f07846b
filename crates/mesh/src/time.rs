//! What is assumed of time: the bounds of the token lifecycle, the grace period, and arithmetic with timestamps.
//!
//! The times after which a token is hidden, deleted or judged derive from the bounds. The simulation exceeds each of the
//! first five and then finds a violated promise.

use std::{str::FromStr, time::Duration};

use jiff::Timestamp;

use crate::names::InvalidField;

/// The bounds of one deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Lag of ECS listings: a listing that starts this long after a task was created contains the task. ECS documents
    /// no limit and advises to wait up to five minutes:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>.
    pub ecs_lag: Duration,
    /// How long a read of a secret may return a replaced version. Secrets Manager documents no limit.
    pub secrets_lag: Duration,
    /// How long one attempt at a token may take, until the start of its last call: half of the timeout of the function
    /// for events.
    pub attempt: Duration,
    /// How long after its start a call may still take effect, even after its caller has ended. A caller waits for at most
    /// 10 seconds for the answer to a write.
    pub call: Duration,
    /// The largest difference between two clocks: of functions, Secrets Manager and Consul.
    pub clocks: Duration,
    /// How long a version of a secret with a token stays before the token is hidden. Secrets Manager keeps about 100
    /// versions of a secret, and removes none within 24 hours:
    /// <https://docs.aws.amazon.com/secretsmanager/latest/userguide/reference_limits.html>.
    pub shown: Duration,
    /// How long a status in Consul may contradict ECS before it is corrected: consul-ecs writes a changed health within a
    /// few seconds.
    pub health_lag: Duration,
}

/// The longest delay of a message in SQS: the bound for the check of a hidden token.
const MAX_MESSAGE_DELAY: Duration = Duration::from_mins(15);
/// The longest attempt: the function for events times out after one minute.
const MAX_ATTEMPT: Duration = Duration::from_secs(45);

/// The longest time between two reads: both are in one run of the function for sweeps, which times out after five minutes.
const MAX_HEALTH_LAG: Duration = Duration::from_mins(2);

/// How long an execution environment uses its cache of valid tokens: the events of one task and of one deployment share
/// a read, and changes that an operator makes are noticed after this time.
const MAX_CACHE_TIME: Duration = Duration::from_mins(1);
/// How much longer than the lag of reads an attempt has to last, so that it can read again after the lag.
const READ_AGAIN: Duration = Duration::from_secs(2);

const EXPECTED: &str = "ecs-lag=300,secrets-lag=10,attempt=30,call=30,clocks=30,shown=2700,health-lag=60 (seconds), where shown is \
                        longer than ecs-lag and twice clocks, attempt at least 3 seconds longer than secrets-lag and at most \
                        45, the sum of the first five and clocks at most 900, and health-lag at most 120";

impl Bounds {
    /// The default of `TimeBounds`.
    pub const DEFAULT: Self = Self {
        ecs_lag: Duration::from_mins(5),
        secrets_lag: Duration::from_secs(10),
        attempt: Duration::from_secs(30),
        call: Duration::from_secs(30),
        clocks: Duration::from_secs(30),
        shown: Duration::from_mins(45),
        health_lag: Duration::from_mins(1),
    };

    /// Whether a task whose event or login has the time `event_at` may be missing from answers of ECS at `now`.
    pub fn may_lag(&self, event_at: Timestamp, now: Timestamp) -> bool {
        elapsed(event_at, now) <= self.described_after()
    }

    /// How long after a task was created or seen ECS describes it, if it exists.
    pub fn described_after(&self) -> Duration {
        self.ecs_lag + self.clocks
    }

    /// Until when an event may use a version written at `written_at` without replacing it. A later event writes a new
    /// version.
    ///
    /// The token is hidden only after a listing that starts at `hidden_from` or later. A task whose event used the
    /// version is then older than the lag of ECS, so that the listing contains it. Two functions are involved, and the
    /// clock of each may differ from Secrets Manager's.
    pub fn relied_on_until(&self, written_at: Timestamp) -> Timestamp {
        later(written_at, self.shown.saturating_sub(self.ecs_lag + self.clocks * 2))
    }

    /// Until when an execution environment caches that a token is valid: it read at `now` a version written at
    /// `written_at`.
    pub fn cached_until(&self, written_at: Timestamp, now: Timestamp) -> Timestamp {
        self.relied_on_until(written_at).min(later(now, MAX_CACHE_TIME))
    }

    /// The earliest start of a listing that may hide the token of a version written at `written_at`.
    pub fn hidden_from(&self, written_at: Timestamp) -> Timestamp {
        later(written_at, self.shown)
    }

    /// How long a token is hidden before it is deleted: until a listing contains every task that can have read it, and
    /// until every creation of it has ended.
    pub fn hidden_for(&self) -> Duration {
        self.secrets_lag + self.ecs_lag + self.attempt + self.call + self.clocks
    }

    /// The earliest start of a listing that may delete a token hidden at `hidden_at`.
    pub fn deleted_from(&self, hidden_at: Timestamp) -> Timestamp {
        later(hidden_at, self.hidden_for())
    }

    /// The age from which the creator of a token has written it into its secret or never will, and a read of the secret
    /// returns that.
    pub fn settled_after(&self) -> Duration {
        self.secrets_lag + self.attempt + self.call + self.clocks
    }

    fn is_consistent(&self) -> bool {
        self.attempt <= MAX_ATTEMPT
            && self.attempt > self.secrets_lag + READ_AGAIN
            && self.hidden_for() + self.clocks <= MAX_MESSAGE_DELAY
            && self.shown > self.ecs_lag + self.clocks * 2
            && self.health_lag <= MAX_HEALTH_LAG
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
                "health-lag" => &mut bounds.health_lag,
                _ => return Err(invalid()),
            };
            *bound = Duration::from_secs(seconds.into());
        }
        if bounds.is_consistent() { Ok(bounds) } else { Err(invalid()) }
    }
}

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

/// The time from `since` to `now`; zero if `since` is later, as the clock of another machine may be ahead.
pub fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    now.duration_since(since).try_into().unwrap_or_default()
}

/// The time `by` after `at`, at most [`Timestamp::MAX`].
pub fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_bounds_are_consistent() {
        let bounds = Bounds::DEFAULT;
        assert!(bounds.is_consistent());
        assert_eq!(bounds.hidden_for(), Duration::from_secs(400));
        assert_eq!(bounds.settled_after(), Duration::from_secs(100));
        // One cycle writes three versions: fewer per day than Secrets Manager keeps.
        let day = Duration::from_hours(24);
        assert!(3 * day.as_secs() / bounds.shown.as_secs() < 100);
    }

    #[test]
    fn hiding_comes_a_lag_after_the_last_use() {
        let bounds = Bounds::DEFAULT;
        let written_at = Timestamp::from_second(1_000_000).unwrap();
        let apart = elapsed(bounds.relied_on_until(written_at), bounds.hidden_from(written_at));
        assert_eq!(apart, bounds.ecs_lag + bounds.clocks * 2);
    }

    #[test]
    fn cache_ends_after_a_minute_and_before_hiding() {
        let bounds = Bounds::DEFAULT;
        let written_at = Timestamp::from_second(1_000_000).unwrap();
        let after = |seconds| written_at + Duration::from_secs(seconds);
        assert_eq!(bounds.cached_until(written_at, after(5)), after(65));
        assert_eq!(bounds.cached_until(written_at, after(2_339)), after(2_340));
        assert_eq!(bounds.cached_until(written_at, after(2_400)), after(2_340), "the token is read for each event");
    }

    #[test]
    fn bounds_not_named_keep_their_default() {
        let bounds: Bounds = "ecs-lag=1, shown=70".parse().unwrap();
        assert_eq!(bounds.ecs_lag, Duration::from_secs(1));
        assert_eq!(bounds.call, Bounds::DEFAULT.call);
    }

    #[test]
    fn inconsistent_bounds_are_rejected() {
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
            "health-lag=121",
            "lag=1",
        ] {
            assert_eq!(text.parse::<Bounds>().unwrap_err().field(), "time bounds", "{text}");
        }
    }

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

    #[test]
    fn time_since_a_later_time_is_zero() {
        let (early, late) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(90).unwrap());
        assert_eq!(elapsed(early, late), Duration::from_secs(90));
        assert_eq!(elapsed(late, early), Duration::ZERO);
        assert_eq!(later(early, Duration::from_secs(90)), late);
        assert_eq!(later(early, Duration::MAX), Timestamp::MAX);
    }
}
