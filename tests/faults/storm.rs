//! The network fails in every way at once, before Consul and before AWS, and functions are killed, while tasks of both
//! token modes start and stop.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Instant};

use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::{chaos_time, controller::converges, tell};
use local_stack::{
    aws::Aws,
    consul::Consul,
    pids::{self, Signal},
    ports,
    progress::until_done,
};
use test_harness::{
    crowd::Crowd,
    proxy::{Dialect, Fault, FaultQueue, Proxy, What, When, action, seed},
};

/// The share of requests that something happens to.
const SHARE: f64 = 0.15;
/// How often each fault has to take effect, before Consul and AWS together.
const AT_LEAST: usize = 4;
const SERVICES: usize = 10;

/// Kills the function that asks, or that is being answered.
fn kills_the_function(ministack: u32, when: When) -> Fault {
    let kill = action(move |peer: SocketAddr| async move {
        spawn_blocking(move || kill_caller(ministack, peer)).await.expect("the look at the processes")
    });
    let name = if when == When::Before { "function killed before a call" } else { "function killed after a call" };
    Fault { what: What::End(name, kill), when }
}

/// Kills the function that calls from this address, a child of `MiniStack`. Where it cannot be told who that is, nobody is
/// killed, which the answer says.
fn kill_caller(ministack: u32, caller: SocketAddr) -> bool {
    let mut functions = pids::children(ministack);
    functions.retain(|pid| pids::program(*pid).as_deref() == Some("bootstrap"));
    let Some(pid) = pids::owner_of(caller.port(), &functions) else { return false };
    pids::signal(pid, Signal::Kill);
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn through_every_fault_of_the_network_and_killed_functions_all_converges() {
    let seed = seed("storm");
    let mut random = fastrand::Rng::with_seed(seed);
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
        crowd.leaves_orphans = true;
        found(crowd).await;
    }
    // When everything fails at once
    let faults = FaultQueue::new(seed, SHARE).with(1, kills_the_function(aws.pid(), When::Before));
    let faults = Arc::new(faults.with(1, kills_the_function(aws.pid(), When::After)));
    let proxies = [&before_consul, &before_aws];
    for proxy in proxies {
        proxy.inject(Arc::clone(&faults));
    }
    let began = Instant::now();
    come_and_go(&mut crowds, &mut random).await;
    until_every_fault_took_effect(&faults, proxies, &crowds).await;
    let stormy = began.elapsed();
    for proxy in proxies {
        proxy.let_everything_through();
    }
    // Then all is well, after sweeps
    for crowd in &crowds {
        crowd.worked_off().await;
        crowd.sweep().await;
    }
    for crowd in &crowds {
        converges(crowd).await;
    }
    let tasks: usize = crowds.iter().map(|crowd| crowd.members.len()).sum();
    tell(&format!("storm of {stormy:.0?}, {tasks} tasks, all is well after {:.0?}", began.elapsed()));
    tell(&format!("before Consul: {}", before_consul.tally));
    tell(&format!("before AWS: {}", before_aws.tally));
}

/// Services, and a first task: somebody has to be there whom what is foreign can resemble.
async fn found(crowd: &mut Crowd<'_>) {
    crowd.found_services(SERVICES).await;
    let events = crowd.start(0, 1).await;
    crowd.plant_foreign().await;
    crowd.world.deliver(&events).await;
}

/// Waves of tasks that start and stop, as long as the storm lasts.
async fn come_and_go(crowds: &mut [Crowd<'_>], random: &mut fastrand::Rng) {
    let (began, mut wave) = (Instant::now(), 0);
    while wave < 3 || began.elapsed() < chaos_time() {
        for crowd in &mut *crowds {
            let events = act(crowd, wave, random).await;
            deliver(crowd, events, random).await;
            if wave > 2 {
                // A long storm must not bring more than it lets through.
                crowd.worked_off().await;
            }
        }
        wave += 1;
    }
}

/// Waits until each fault has taken effect often enough. Those that are missing come first in the queue; and if no request
/// comes any more that could get them, all events come once more.
async fn until_every_fault_took_effect(faults: &FaultQueue, proxies: [&Proxy; 2], crowds: &[Crowd<'_>]) {
    until_done("every fault to take effect", || async {
        for proxy in proxies {
            proxy.tally.must_not_have_panicked();
        }
        let missing = missing_faults(faults, proxies);
        if missing.is_empty() {
            return Ok(());
        }
        for fault in &missing {
            faults.put_first(fault);
        }
        for crowd in crowds {
            if crowd.world.aws.messages(&crowd.world.deployed.queue_url).await.iter().all(is_due_later) {
                crowd.world.deliver(&crowd.replay()).await;
            }
        }
        // Of these alone, so that what goes on besides does not hide that they never come.
        let counts = proxies.map(|proxy| {
            let mut faults = proxy.tally.faults();
            faults.retain(|name, _| missing.contains(name));
            faults
        });
        Err(format!("missing {missing:?}; before Consul {:?}; before AWS {:?}", counts[0], counts[1]))
    })
    .await;
}

/// Whether a message waits for later: it will cause no request soon.
fn is_due_later(message: &Value) -> bool {
    message["IsVisible"] == false && message["VisibleAt"].as_i64() > Some(jiff::Timestamp::now().as_second() + 5)
}

fn missing_faults(faults: &FaultQueue, proxies: [&Proxy; 2]) -> BTreeSet<&'static str> {
    let counts = proxies.map(|proxy| proxy.tally.faults());
    let mut missing = faults.names();
    missing.retain(|fault| counts.iter().filter_map(|counts| counts.get(fault)).sum::<usize>() < AT_LEAST);
    missing
}

/// What the tasks do in a wave: at first half of them start, then the other half, while some of the first stop, and then
/// half of the services lose all of theirs. Further waves start and stop by chance.
async fn act(crowd: &mut Crowd<'_>, wave: usize, random: &mut fastrand::Rng) -> Vec<Value> {
    let mut events = Vec::new();
    for service in 0..crowd.services() {
        let (start, stop) = match (wave, crowd.living(service).len()) {
            (0, _) => (5, 0),
            (1, _) => (5, 2),
            (2, living) if service < crowd.services() / 2 => (0, living),
            (2, _) => (0, 1),
            (_, 0..2) => (random.usize(..3), 0),
            (_, living) => (random.usize(..2), random.usize(..=living)),
        };
        for index in crowd.living(service).into_iter().take(stop) {
            events.extend(crowd.stop(index).await);
        }
        events.extend(crowd.start(service, start).await);
    }
    events
}

/// Delivers some events never, some twice, and all in any order.
async fn deliver(crowd: &Crowd<'_>, mut events: Vec<Value>, random: &mut fastrand::Rng) {
    events.retain(|_| random.f64() >= 0.05);
    let again: Vec<Value> = events.iter().filter(|_| random.f64() < 0.1).cloned().collect();
    events.extend(again);
    random.shuffle(&mut events);
    crowd.world.deliver(&events).await;
}
