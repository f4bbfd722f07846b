//! AWS stands still in the middle of the functions' calls, and does later what it was asked before.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    chaos_time,
    crowd::Crowd,
    proxy::{Dialect, Fault, Proxy, What, When, seed},
    stack::{
        Stack,
        aws::Aws,
        pids::{self, Signal},
        process::free_port,
        wait::eventually,
    },
    tell,
};

const ROUNDS: usize = 3;
const SERVICES: usize = 8;
/// How many calls arrive while AWS stands still: the retries of those that were given up after five seconds, and those of
/// other invocations.
const CALLS_MEANWHILE: usize = 3;
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread")]
async fn aws_that_stands_still_for_a_while_loses_nothing() {
    let seed = seed("pause");
    let mut dice = fastrand::Rng::with_seed(seed);
    let port = free_port();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, stack) = tokio::join!(Aws::start_behind(port, &before_aws.url), Stack::shared());
    let place = ("freeze", "secrets-manager");
    let mut crowd = Crowd::deploy(&aws, &stack.consul, place, &stack.consul.address, &[]).await;
    let (began, mut round) = (Instant::now(), 0);
    while round < ROUNDS || began.elapsed() < chaos_time() {
        let mut events = Vec::new();
        crowd.found_services(SERVICES).await;
        for service in round * SERVICES..(round + 1) * SERVICES {
            events.extend(crowd.start(service, 3).await);
        }
        if round == 0 {
            crowd.plant_foreign().await;
        }
        for service in round.saturating_sub(1) * SERVICES..round * SERVICES {
            for index in crowd.living(service) {
                events.extend(crowd.stop(index).await);
            }
        }
        // When AWS stands still at one of the calls that the events cause
        let calls = stand_still(&before_aws, aws.pid(), dice.usize(3..40));
        crowd.world.deliver(&events).await;
        // Then it goes on after some of them were given up, and all is done
        crowd.worked_off(PATIENCE).await;
        eventually("AWS to have stood still", PATIENCE, || async {
            let meanwhile = calls.load(Ordering::SeqCst);
            if meanwhile >= CALLS_MEANWHILE { Ok(()) } else { Err(format!("{meanwhile} calls meanwhile")) }
        })
        .await;
        round += 1;
    }
    before_aws.fair();
    crowd.sweep().await;
    crowd.world.settled_within(PATIENCE).await;
    crowd.converged().await;
    tell(&format!("AWS stood still {round} times, in {:.0?}", began.elapsed()));
}

/// Stops the process at the `fatal`th call from now, and lets it go on when enough further ones have come. The answer
/// counts those.
fn stand_still(before_aws: &Proxy, pid: u32, fatal: usize) -> Arc<AtomicUsize> {
    let meanwhile = Arc::new(AtomicUsize::new(0));
    let (calls, counted) = (AtomicUsize::new(0), Arc::clone(&meanwhile));
    let send = move |name, signal| {
        let act = What::Act(name, Arc::new(move |_| pids::signal(pid, signal)));
        Some(Fault { what: act, when: When::Before })
    };
    before_aws.script(move |_| match calls.fetch_add(1, Ordering::SeqCst) + 1 {
        call if call < fatal => None,
        call if call == fatal => send("AWS stopped", Signal::Stop),
        _ if counted.fetch_add(1, Ordering::SeqCst) + 1 == CALLS_MEANWHILE => send("AWS goes on", Signal::Continue),
        _ => None,
    });
    meanwhile
}
