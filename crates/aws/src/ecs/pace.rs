//! The pace of calls. ECS throttles the calls of an account in a Region by token buckets, one for each kind of call:
//! <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/request-throttling.html>

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

/// Between two calls of one kind: 15 calls a second. ECS allows 20, the rest is left to other callers of the account.
const INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 15);

/// Lets calls of one kind begin no faster than ECS allows. Retries alone do not suffice: of hundreds of calls, one is throttled at each of its
/// attempts. Retries of the SDK, which have pauses of their own, are not counted.
pub(super) struct Pace {
    /// How much earlier than at a constant rate a call may begin.
    lead: Duration,
    /// When the next call begins at a constant rate.
    next: Mutex<Instant>,
}

impl Pace {
    /// A pace at which so many calls may begin at once after a pause.
    pub(super) fn of_bursts(calls: u32) -> Self {
        Self { lead: INTERVAL * calls.saturating_sub(1), next: Mutex::new(Instant::now()) }
    }

    /// Waits until the next call may begin.
    pub(super) async fn turn(&self) {
        let at_constant_rate = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let own = (*next).max(Instant::now());
            *next = own + INTERVAL;
            own
        };
        if let Some(begin) = at_constant_rate.checked_sub(self.lead) {
            sleep_until(begin).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds until so many calls have begun.
    async fn seconds(pace: &Pace, calls: usize) -> u64 {
        let started = Instant::now();
        for _ in 0..calls {
            pace.turn().await;
        }
        started.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_fifteen_calls_begin_in_a_second() {
        let pace = Pace::of_bursts(75);
        assert_eq!(seconds(&pace, 75).await, 0);
        assert_eq!(seconds(&pace, 150).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_makes_room_for_one_burst() {
        let pace = Pace::of_bursts(75);
        seconds(&pace, 75).await;
        tokio::time::sleep(Duration::from_mins(10)).await;
        assert_eq!(seconds(&pace, 75).await, 0);
        assert_eq!(seconds(&pace, 15).await, 1);
    }
}
