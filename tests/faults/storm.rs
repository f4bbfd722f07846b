//! The network fails in every way at once, before Consul and before AWS, and functions are killed, while tasks of both
//! token modes start and stop.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::Value;

use crate::{chaos_time, tell};
use local_stack::{
    aws::Aws,
    consul::Consul,
    pids::{self, Signal},
    ports,
};
use test_harness::{
    crowd::Crowd,
    proxy::{Dialect, Fault, Proxy, Weather, What, When, seed},
};

/// The share of requests that something happens to.
const SHARE: f64 = 0.15;
/// How often each fault has to have been injected, before Consul and AWS together.
const AT_LEAST: usize = 3;
/// How long messages stay away whose function was killed: on AWS six minutes, which nothing here depends on.
const VISIBILITY: &str = "20";
const SERVICES: usize = 10;

/// Kills the function that asks, or that is being answered: a child of `MiniStack`.
fn kills_the_function(ministack: u32, when: When) -> Fault {
    let kill = move |peer: SocketAddr| {
        if let Some(pid) = pids::owner_of(peer.port(), &pids::children(ministack)) {
            pids::signal(pid, Signal::Kill);
        }
    };
    let name = if when == When::Before { "function killed before a call" } else { "function killed after a call" };
    Fault { what: What::End(name, Arc::new(kill)), when }
}

#[tokio::test(flavor = "multi_thread")]
async fn through_every_fault_of_the_network_and_killed_functions_all_converges() {
    let seed = seed("storm");
    let mut dice = fastrand::Rng::with_seed(seed);
    // Given both token modes on a stack whose functions reach Consul and AWS through proxies
    let port = ports::reserve();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, consul) = tokio::join!(Aws::start_behind(port, &before_aws.url), Consul::start());
    let before_consul = Proxy::before(&consul.address, Dialect::Consul).await;
    let (tokens, logins) = tokio::join!(
        Crowd::deploy(&aws, &consul, ("storm", "secrets-manager"), &before_consul.url, &[]),
        Crowd::deploy(&aws, &consul, ("squall", "auth-method"), &before_consul.url, &[]),
    );
    let mut crowds = [tokens, logins];
    for crowd in &mut crowds {
        crowd.set_queue(QueueAttributeName::VisibilityTimeout, VISIBILITY).await;
        crowd.found_services(SERVICES).await;
        // Somebody has to be there whom what is foreign can resemble.
        let events = crowd.start(0, 1).await;
        crowd.plant_foreign().await;
        crowd.world.deliver(&events).await;
    }

    // When everything fails at once
    for (proxy, salt) in [(&before_consul, 1), (&before_aws, 2)] {
        let weather = Weather::foul(seed ^ salt, SHARE);
        let weather = weather.with(1, kills_the_function(aws.pid(), When::Before));
        proxy.foul(weather.with(1, kills_the_function(aws.pid(), When::After)));
    }
    let began = Instant::now();
    let mut wave = 0;
    while wave < 3 || began.elapsed() < chaos_time() {
        for crowd in &mut crowds {
            let events = act(crowd, wave, &mut dice).await;
            deliver(crowd, events, &mut dice).await;
            if wave > 2 {
                // A long storm must not bring more than it lets through.
                crowd.worked_off(calm()).await;
            }
        }
        wave += 1;
    }
    while !all_were_injected(&before_consul, &before_aws) {
        assert!(began.elapsed() < calm(), "consul: {}; aws: {}", before_consul.tally, before_aws.tally);
        for crowd in &crowds {
            crowd.worked_off(calm()).await;
            crowd.world.deliver(&crowd.replay()).await;
        }
    }
    let stormy = began.elapsed();
    before_consul.fair();
    before_aws.fair();

    // Then all is well, after one sweep
    for crowd in &crowds {
        crowd.worked_off(calm()).await;
        crowd.sweep().await;
    }
    for crowd in &crowds {
        crowd.world.settled_within(calm()).await;
        crowd.converged().await;
    }
    let tasks: usize = crowds.iter().map(|crowd| crowd.members.len()).sum();
    tell(&format!("storm of {stormy:.0?}, {tasks} tasks, calm after {:.0?}", began.elapsed()));
    tell(&format!("before Consul: {}", before_consul.tally));
    tell(&format!("before AWS: {}", before_aws.tally));
}

/// What the tasks do in a wave: at first half of them start, then the other half, while some of the first stop, and then
/// half of the services lose all of theirs. Further waves start and stop by chance.
async fn act(crowd: &mut Crowd<'_>, wave: usize, dice: &mut fastrand::Rng) -> Vec<Value> {
    let mut events = Vec::new();
    for service in 0..crowd.services() {
        let (start, stop) = match (wave, crowd.living(service).len()) {
            (0, _) => (5, 0),
            (1, _) => (5, 2),
            (2, living) if service < crowd.services() / 2 => (0, living),
            (2, _) => (0, 1),
            (_, 0..2) => (dice.usize(..3), 0),
            (_, living) => (dice.usize(..2), dice.usize(..=living)),
        };
        for index in crowd.living(service).into_iter().take(stop) {
            events.extend(crowd.stop(index).await);
        }
        events.extend(crowd.start(service, start).await);
    }
    events
}

/// Delivers events as bad days do: some never, some twice, in any order.
async fn deliver(crowd: &Crowd<'_>, mut events: Vec<Value>, dice: &mut fastrand::Rng) {
    events.retain(|_| dice.f64() >= 0.05);
    let again: Vec<Value> = events.iter().filter(|_| dice.f64() < 0.1).cloned().collect();
    events.extend(again);
    dice.shuffle(&mut events);
    crowd.world.deliver(&events).await;
}

/// How long everything may take to calm down. A message that came five times comes back after 80 seconds, and each further
/// time after twice as long.
fn calm() -> Duration {
    Duration::from_secs(240) + chaos_time()
}

fn all_were_injected(before_consul: &Proxy, before_aws: &Proxy) -> bool {
    const KINDS: [&str; 11] = [
        "latency",
        "reset before the request",
        "reset mid-response",
        "truncated body",
        "throttled",
        "5xx",
        "5xx after the work",
        "black hole",
        "black hole after the work",
        "function killed before a call",
        "function killed after a call",
    ];
    let (consul, aws) = (before_consul.tally.faults(), before_aws.tally.faults());
    let count = |kind| consul.get(kind).unwrap_or(&0) + aws.get(kind).unwrap_or(&0);
    KINDS.iter().all(|kind| count(kind) >= AT_LEAST)
}
