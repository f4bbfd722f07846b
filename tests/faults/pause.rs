//! AWS stands still in the middle of the functions' calls, and does later what it was asked before.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{chaos_time, tell};
use local_stack::{
    Stack,
    aws::Aws,
    pids::{self, Signal},
    ports,
    wait::eventually,
};
use test_harness::{
    crowd::Crowd,
    proxy::{Deed, Dialect, Fault, Proxy, What, When, seed},
};

const ROUNDS: usize = 3;
const SERVICES: usize = 8;
/// AWS goes on when so many further calls have come: the retries of those that were given up after five seconds, and those
/// of other invocations.
const CALLS_MEANWHILE: usize = 4;
/// Or after this long: functions that wait for AWS to take their answer call no more.
const LONGEST: Duration = Duration::from_secs(12);
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread")]
async fn aws_that_stands_still_for_a_while_loses_nothing() {
    let seed = seed("pause");
    let mut dice = fastrand::Rng::with_seed(seed);
    let port = ports::reserve();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, stack) = tokio::join!(Aws::start_behind(port, &before_aws.url), Stack::shared());
    let place = ("freeze", "secrets-manager");
    let mut crowd = Crowd::deploy(&aws, &stack.consul, place, &stack.consul.address, &[]).await;
    let (began, mut round) = (Instant::now(), 0);
    while round < ROUNDS || began.elapsed() < chaos_time() {
        let events = crowd.come_and_go(round, SERVICES, 3).await;
        // When AWS stands still at one of the calls that the events cause
        let fatal = dice.usize(3..40);
        let calls = stand_still(&before_aws, aws.pid(), fatal);
        crowd.world.deliver(&events).await;
        eventually("AWS to stand still", PATIENCE, || async {
            let so_far = calls.load(Ordering::SeqCst);
            if so_far >= fatal { Ok(()) } else { Err(format!("{so_far} of {fatal} calls")) }
        })
        .await;
        // Then it goes on after some of them were given up, and all is done
        crowd.worked_off(PATIENCE).await;
        round += 1;
    }
    before_aws.fair();
    crowd.sweep().await;
    crowd.world.settled_within(PATIENCE).await;
    crowd.converged().await;
    tell(&format!("AWS stood still {round} times, in {:.0?}: {}", began.elapsed(), before_aws.tally));
}

/// Stops the process at the `fatal`th call from now, and lets it go on later. The answer counts the calls.
fn stand_still(before_aws: &Proxy, pid: u32, fatal: usize) -> Arc<AtomicUsize> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    before_aws.script(move |_| {
        let call = counted.fetch_add(1, Ordering::SeqCst) + 1;
        let act: (_, Deed) = match call {
            _ if call == fatal => ("AWS stopped", Arc::new(move |_| stop_for_a_while(pid))),
            _ if call == fatal + CALLS_MEANWHILE => {
                ("AWS goes on", Arc::new(move |_| pids::signal(pid, Signal::Continue)))
            }
            _ if (fatal..fatal + CALLS_MEANWHILE).contains(&call) => ("call meanwhile", Arc::new(|_| ())),
            _ => return None,
        };
        Some(Fault { what: What::Act(act.0, act.1), when: When::Before })
    });
    calls
}

fn stop_for_a_while(pid: u32) {
    pids::signal(pid, Signal::Stop);
    std::thread::spawn(move || {
        std::thread::sleep(LONGEST);
        pids::signal(pid, Signal::Continue);
    });
}
