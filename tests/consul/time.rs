//! Time, where it must decide nothing: it stands still, or it is over at the moment that a test chooses.

use std::{pin::Pin, time::Duration};

use ecs_mesh_controller::controller::Clock;
use jiff::Timestamp;
use local_stack::wait::eventually;
use tokio::{sync::oneshot, time::Instant};

/// How long a test waits for what must come, on however slow a machine.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// A time of day that does not go on.
pub(crate) struct Fixed(pub(crate) Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// Does `work` until `is_stuck`, and from then on in a time that is later by what `jump` says. An `Err` of `is_stuck` says
/// what is under way instead.
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

/// The same with a time that stands still after the jump, for work that then has nothing to wait for; and how much time
/// passed all the same, because it has waited for a timer.
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

/// Does `work` that waits for nothing outside of this runtime but now and then for a timer, and lets that time pass at once.
/// Where it waits for another process all the same, that is taken for a timer a few times, for which it must have the time.
pub(crate) async fn hurried<T>(work: impl Future<Output = T>) -> T {
    const JUMPS: usize = 40;
    tokio::pin!(work);
    for _ in 0..JUMPS {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = turns() => {}
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
        // What was answered a moment ago is read by whoever asked: both are tasks of this runtime, a few turns away.
        turns().await;
    };
    tokio::select! {
        biased;
        _ = work => panic!("all is done before {what}"),
        () = stuck => {}
    }
}

/// Lets every task of this runtime go on for a while, and reads what has arrived.
async fn turns() {
    for _ in 0..200 {
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

/// Does `meanwhile` in another runtime, while the time of this one stands still: no time limit in it ends, however long that
/// takes.
pub(crate) async fn in_no_time<F: Future<Output = ()>>(meanwhile: impl FnOnce() -> F + Send + 'static) {
    let (done, is_done) = oneshot::channel();
    let (goes_on, may_end) = std::sync::mpsc::channel::<()>();
    // As long as this call has not ended, a time that stands still does not jump to the next timer either.
    let elsewhere = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(meanwhile());
        // An error says that nobody waits any more.
        let _ = done.send(());
        let _ = may_end.recv();
    });
    tokio::time::pause();
    // An error: it has panicked.
    let _ = is_done.await;
    tokio::time::resume();
    drop(goes_on);
    elsewhere.await.expect("what happens meanwhile");
}
