//! AWS stands still in the middle of the functions' calls, and does later what it was asked before.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{chaos_time, controller::converges, tell};
use local_stack::{
    Stack,
    aws::Aws,
    pids::{self, Signal},
    ports,
    progress::until_done,
};
use test_harness::{
    crowd::Crowd,
    proxy::{Call, Dialect, Fault, Proxy, What, When, action, seed},
};

const SERVICES: usize = 8;
/// The calls at which AWS stands still, one kind in each round, and how many of them a round causes at least: those that each
/// new service needs; and, from the second round on, those that each service needs whose tasks have all stopped, and those
/// that all of them need together.
const FATAL: [(&str, usize); 5] = [
    ("CreateSecret", SERVICES),
    ("PutSecretValue", SERVICES),
    ("GetSecretValue", SERVICES),
    ("ListTasks", 1),
    ("SendMessageBatch", 1),
];
/// AWS goes on when so many further calls have come: the retries of those that were given up after five seconds, and those
/// of other invocations.
const CALLS_MEANWHILE: usize = 4;
/// Or after this long: functions that wait for AWS to take their answer call no more.
const LONGEST: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread")]
async fn aws_that_stands_still_for_a_while_loses_nothing() {
    let seed = seed("pause");
    let mut random = fastrand::Rng::with_seed(seed);
    let port = ports::reserve();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, stack) = tokio::join!(Aws::start_behind(port, &before_aws.url), Stack::shared());
    let place = ("freeze", "secrets-manager");
    let mut crowd = Crowd::deploy(&aws, &stack.consul, place, &stack.consul.address, &[]).await;
    crowd.leaves_orphans = true;
    let (began, mut round) = (Instant::now(), 0);
    while round < FATAL.len() || began.elapsed() < chaos_time() {
        let events = crowd.come_and_go(round, SERVICES, 3).await;
        // When AWS stands still at one of the calls that the events cause
        let (operation, calls) = FATAL[round % FATAL.len()];
        let number = random.usize(1..=calls);
        let pause = Pause::at(&before_aws, aws.pid(), operation, number);
        crowd.world.deliver(&events).await;
        until_done(&format!("AWS to stand still at the {number}th {operation}, and to go on"), || async {
            before_aws.tally.must_not_have_panicked();
            if pause.is_over() { Ok(()) } else { Err(format!("{} such calls", pause.calls.load(Ordering::SeqCst))) }
        })
        .await;
        // Then it goes on after some of them were given up, and all is done
        crowd.worked_off().await;
        round += 1;
    }
    before_aws.let_everything_through();
    crowd.sweep().await;
    converges(&crowd).await;
    tell(&format!("AWS stood still {round} times, in {:.0?}: {}", began.elapsed(), before_aws.tally));
}

/// One time that AWS stands still.
#[derive(Clone, Default)]
struct Pause {
    /// How many calls have come at which it could begin.
    calls: Arc<AtomicUsize>,
    /// How many calls have come since it began.
    meanwhile: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Pause {
    /// Stops the process at the n-th call of an operation from now, and lets it go on later.
    fn at(before_aws: &Proxy, pid: u32, operation: &'static str, number: usize) -> Self {
        let pause = Self::default();
        let shared = pause.clone();
        before_aws.script(move |call: &Call| {
            let is_counted = call.operation == operation;
            if is_counted && shared.calls.fetch_add(1, Ordering::SeqCst) + 1 == number {
                let pause = shared.clone();
                let stop = action(move |_| {
                    let pause = pause.clone();
                    async move {
                        pids::signal(pid, Signal::Stop);
                        tokio::spawn(pause.end(pid));
                        true
                    }
                });
                return Some(Fault { what: What::Act("AWS stopped", stop), when: When::Before });
            }
            if shared.calls.load(Ordering::SeqCst) >= number && !shared.is_over() {
                shared.meanwhile.fetch_add(1, Ordering::SeqCst);
            }
            None
        });
        pause
    }

    /// Lets the process go on when enough calls have come, or after a while.
    async fn end(self, pid: u32) {
        let began = Instant::now();
        while self.meanwhile.load(Ordering::SeqCst) < CALLS_MEANWHILE && began.elapsed() < LONGEST {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        pids::signal(pid, Signal::Continue);
        self.is_over.store(true, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}
