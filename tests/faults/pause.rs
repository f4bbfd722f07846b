//! AWS is suspended during the functions' calls, and handles them later.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{chaos_time, controller::assert_converges, print_figure};
use local_stack::{
    Stack,
    aws::Aws,
    pids::{self, Signal},
    ports,
    progress::wait_until_done,
};
use test_harness::{
    fleet::Fleet,
    proxy::{Call, Dialect, Fault, FaultKind, FaultPoint, Proxy, action, seed},
};

const SERVICES: usize = 8;
/// The calls at which AWS is suspended, one kind in each round, and the least number of them in a round: calls for each new
/// service; and, from the second round on, calls for each service whose tasks have all stopped, and calls for all of those
/// together.
const FATAL: [(&str, usize); 5] = [
    ("CreateSecret", SERVICES),
    ("PutSecretValue", SERVICES),
    ("GetSecretValue", SERVICES),
    ("ListTasks", 1),
    ("SendMessageBatch", 1),
];
/// AWS is resumed after this many further calls: retries of calls that timed out after five seconds, and calls of other
/// invocations.
const CALLS_MEANWHILE: usize = 4;
/// Or after this time: functions that wait for AWS to accept their answer make no calls.
const LONGEST: Duration = Duration::from_secs(12);

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_of_aws_loses_nothing() {
    let seed = seed("pause");
    let mut random = fastrand::Rng::with_seed(seed);
    let port = ports::reserve();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, stack) = tokio::join!(Aws::start_behind(port, &before_aws.url), Stack::shared());
    let name = ("freeze", "auto");
    let mut fleet = Fleet::deploy(&aws, &stack.consul, name, &stack.consul.address, &[]).await;
    fleet.leaves_orphans = true;
    let (began, mut round) = (Instant::now(), 0);
    while round < FATAL.len() || began.elapsed() < chaos_time() {
        let events = fleet.replace_services(round, SERVICES, 3).await;
        // When AWS is suspended at one of the calls for the events
        let (operation, calls) = FATAL[round % FATAL.len()];
        let number = random.usize(1..=calls);
        let pause = Pause::at(&before_aws, aws.pid(), operation, number);
        fleet.world.deliver(&events).await;
        wait_until_done(&format!("AWS to be suspended at the {number}th {operation}, and to be resumed"), || async {
            before_aws.stats.assert_no_panic();
            if pause.is_over() { Ok(()) } else { Err(format!("{} such calls", pause.calls.load(Ordering::SeqCst))) }
        })
        .await;
        // Then it is resumed after some calls have timed out, and all events are handled
        fleet.events_handled().await;
        round += 1;
    }
    before_aws.pass_through();
    fleet.sweep().await;
    assert_converges(&fleet).await;
    print_figure(&format!("AWS was suspended {round} times, in {:.0?}: {}", began.elapsed(), before_aws.stats));
}

/// One suspension of AWS.
#[derive(Clone, Default)]
struct Pause {
    /// The number of calls of the operation.
    calls: Arc<AtomicUsize>,
    /// The number of calls since the suspension.
    meanwhile: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Pause {
    /// Suspends the process at the n-th call of an operation from now, and resumes it later.
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
                return Some(Fault { kind: FaultKind::Act("AWS stopped", stop), point: FaultPoint::Before });
            }
            if shared.calls.load(Ordering::SeqCst) >= number && !shared.is_over() {
                shared.meanwhile.fetch_add(1, Ordering::SeqCst);
            }
            None
        });
        pause
    }

    /// Resumes the process after enough calls, or after a while.
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
