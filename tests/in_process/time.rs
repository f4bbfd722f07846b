//! Time in tests whose result must not depend on the machine's speed: it is paused, or advanced by the test.

use std::{pin::Pin, time::Duration};

use jiff::Timestamp;
use local_stack::wait::eventually;
use observe::Clock;
use tokio::time::Instant;

/// How long tests wait for an expected event: far longer than it takes on a slow machine.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// A clock that always shows the same time.
pub(crate) struct Fixed(pub(crate) Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Runs `work` until `is_stuck`, then advances time by `jump` at once, and completes the work. `Err` of `is_stuck` is the
/// observed state.
///
/// Only for a single-threaded runtime, the default of `#[tokio::test]`.
pub(crate) async fn later_when<T>(
    work: impl Future<Output = T>,
    what: &str,
    is_stuck: impl Fn() -> Result<(), String>,
    jump: impl FnOnce() -> Duration,
) -> T {
    tokio::pin!(work);
    until_stuck(work.as_mut(), what, is_stuck).await;
    pass(jump()).await;
    work.await
}

/// The same, with paused time after the jump, for work that then must not wait. Returns the time that has passed nevertheless,
/// because the work waited for a timer.
pub(crate) async fn over_when<T>(
    work: impl Future<Output = T>,
    what: &str,
    is_stuck: impl Fn() -> Result<(), String>,
    jump: impl FnOnce() -> Duration,
) -> (T, Duration) {
    tokio::pin!(work);
    until_stuck(work.as_mut(), what, is_stuck).await;
    tokio::time::pause();
    tokio::time::advance(jump()).await;
    let over = Instant::now();
    let done = work.await;
    let overrun = over.elapsed();
    tokio::time::resume();
    (done, overrun)
}

/// Runs `work`, and skips its pauses: whenever it has waited for a while, time advances by one second.
///
/// Waiting for a timer cannot be distinguished from waiting for an answer, so that timeouts come nearer as well. At most 40
/// seconds are skipped: every timeout of `work` has to be longer.
pub(crate) async fn without_pauses<T>(work: impl Future<Output = T>) -> T {
    const SKIPS: usize = 40;
    const WHILE: Duration = Duration::from_millis(20);
    tokio::pin!(work);
    for _ in 0..SKIPS {
        let waits = async {
            tokio::time::sleep(WHILE).await;
            // Read what has arrived meanwhile.
            turns().await;
        };
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = waits => {}
        }
        pass(Duration::from_secs(1)).await;
    }
    work.await
}

async fn until_stuck<T>(
    work: Pin<&mut impl Future<Output = T>>,
    what: &str,
    is_stuck: impl Fn() -> Result<(), String>,
) {
    let stuck = async {
        eventually(what, LONG, || async { is_stuck() }).await;
        // All answers are read, and what remains are tasks of this runtime that wait for each other.
        turns().await;
    };
    tokio::select! {
        biased;
        _ = work => panic!("the work ended before {what}"),
        () = stuck => {}
    }
}

/// Yields to every task of this runtime, many more times than tasks depend on each other in a row.
async fn turns() {
    const TURNS: usize = 200;
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

/// Advances time at once.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    // A timer is due at the end of its millisecond.
    tokio::time::advance(time + Duration::from_millis(1)).await;
    tokio::time::resume();
}
