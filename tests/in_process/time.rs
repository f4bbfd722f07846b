//! Time in tests whose result must not depend on how fast the machine is: it stands still, or passes when a test says so.

use std::{pin::Pin, time::Duration};

use controller::Clock;
use jiff::Timestamp;
use local_stack::wait::eventually;
use tokio::time::Instant;

/// How long a test waits for what has to come. Far more than it takes on a slow machine.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// A time of day that does not go on.
pub(crate) struct Fixed(pub(crate) Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Does `work` until `is_stuck`; then so much time passes at once as `jump` says, and the work goes on. An `Err` of `is_stuck`
/// says what is under way instead.
///
/// Only for a runtime of one thread, which every `#[tokio::test]` has unless it says otherwise.
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

/// The same with a time that stands still after the jump, for work that then waits for nothing. The answer says how much time
/// passed all the same: the work has waited for a timer.
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

/// Does `work`, and skips the pauses that it makes: whenever it has waited for a while, a second of its time passes at once.
///
/// It cannot be told here whether it waits for a timer or for an answer, so time limits come nearer, too. At most 40 seconds are
/// skipped. Every time limit of `work` has to be longer than 40 seconds.
pub(crate) async fn without_pauses<T>(work: impl Future<Output = T>) -> T {
    const SKIPS: usize = 40;
    const WHILE: Duration = Duration::from_millis(20);
    tokio::pin!(work);
    for _ in 0..SKIPS {
        let waits = async {
            tokio::time::sleep(WHILE).await;
            // What has arrived meanwhile is read.
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
        // Whoever asked has read the answers, and does what follows from them: all that is left are tasks of this runtime that
        // wait for each other.
        turns().await;
    };
    tokio::select! {
        biased;
        _ = work => panic!("all is done before {what}"),
        () = stuck => {}
    }
}

/// Lets every task of this runtime go on, many more times than tasks wait for each other in a row.
async fn turns() {
    const TURNS: usize = 200;
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

/// Lets so much time pass at once.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    // A timer is due at the end of its millisecond.
    tokio::time::advance(time + Duration::from_millis(1)).await;
    tokio::time::resume();
}
