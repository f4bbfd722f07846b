//! All network faults at once, in front of Consul and of AWS, and kills of functions, while tasks of both token modes start and
//! stop.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Instant};

use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::{chaos_time, controller::assert_converges, print_figure};
use local_stack::{aws::Aws, consul::Consul, pids, ports, progress::wait_until_done};
use test_harness::{
    fleet::Fleet,
    proxy::{Dialect, Fault, FaultKind, FaultPoint, FaultQueue, Proxy, action, seed},
};

/// The share of requests with a fault.
const SHARE: f64 = 0.15;
/// How often each fault has to take effect, in front of Consul and AWS together.
const AT_LEAST: usize = 4;
const SERVICES: usize = 10;

/// A fault that kills the calling function.
fn kill_function(ministack: u32, when: FaultPoint) -> Fault {
    let kill = action(move |peer: SocketAddr| async move {
        spawn_blocking(move || kill_caller(ministack, peer)).await.expect("the blocking task")
    });
    let name =
        if when == FaultPoint::Before { "function killed before a call" } else { "function killed after a call" };
    Fault { kind: FaultKind::End(name, kill), point: when }
}

/// Kills the function that calls from this address, a child of `MiniStack`. Returns whether it was found and killed.
fn kill_caller(ministack: u32, caller: SocketAddr) -> bool {
    let mut functions = pids::children(ministack);
    functions.retain(|pid| pids::program(*pid).as_deref() == Some("bootstrap"));
    let Some(pid) = pids::owner_of(caller.port(), &functions) else { return false };
    pids::kill(pid);
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn network_faults_and_kills_converge() {
    let seed = seed("storm");
    let mut random = fastrand::Rng::with_seed(seed);
    // Given deployments in both token modes whose functions call Consul and AWS through proxies
    let port = ports::reserve();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, consul) = tokio::join!(Aws::start_behind(port, &before_aws.url), Consul::start());
    let before_consul = Proxy::before(&consul.address, Dialect::Consul).await;
    let (tokens, logins) = tokio::join!(
        Fleet::deploy(&aws, &consul, ("storm", "auto"), &before_consul.url, &[]),
        Fleet::deploy(&aws, &consul, ("squall", "auth-method"), &before_consul.url, &[]),
    );
    let mut fleets = [tokens, logins];
    for fleet in &mut fleets {
        fleet.leaves_orphans = true;
        start_first_task(fleet).await;
    }
    // When all faults are injected
    let faults = FaultQueue::new(seed, SHARE).with(1, kill_function(aws.pid(), FaultPoint::Before));
    let faults = Arc::new(faults.with(1, kill_function(aws.pid(), FaultPoint::After)));
    let proxies = [&before_consul, &before_aws];
    for proxy in proxies {
        proxy.inject(Arc::clone(&faults));
    }
    let began = Instant::now();
    run_waves(&mut fleets, &mut random).await;
    until_every_fault_took_effect(&faults, proxies, &fleets).await;
    let with_faults = began.elapsed();
    for proxy in proxies {
        proxy.pass_through();
    }
    // Then the state converges after a sweep
    for fleet in &fleets {
        fleet.events_handled().await;
        fleet.sweep().await;
    }
    for fleet in &fleets {
        assert_converges(fleet).await;
    }
    let tasks: usize = fleets.iter().map(|fleet| fleet.tasks.len()).sum();
    print_figure(&format!("storm of {with_faults:.0?}, {tasks} tasks, converged after {:.0?}", began.elapsed()));
    print_figure(&format!("before Consul: {}", before_consul.stats));
    print_figure(&format!("before AWS: {}", before_aws.stats));
}

/// Adds services, and starts a first task, which the tokens of other owners imitate.
async fn start_first_task(fleet: &mut Fleet<'_>) {
    fleet.add_services(SERVICES).await;
    let events = fleet.start(0, 1).await;
    fleet.create_foreign().await;
    fleet.world.deliver(&events).await;
}

/// Waves of tasks that start and stop, for at least `chaos_time`.
async fn run_waves(fleets: &mut [Fleet<'_>], random: &mut fastrand::Rng) {
    let (began, mut wave) = (Instant::now(), 0);
    while wave < 3 || began.elapsed() < chaos_time() {
        for fleet in &mut *fleets {
            let events = act(fleet, wave, random).await;
            deliver(fleet, events, random).await;
            if wave > 2 {
                // A long storm must not fill the queue faster than the functions empty it.
                fleet.events_handled().await;
            }
        }
        wave += 1;
    }
}

/// Waits until each fault has taken effect often enough. Missing faults are moved to the front of the queue; if no requests are
/// to be expected, all events are delivered again.
async fn until_every_fault_took_effect(faults: &FaultQueue, proxies: [&Proxy; 2], fleets: &[Fleet<'_>]) {
    wait_until_done("every fault to take effect", || async {
        for proxy in proxies {
            proxy.stats.assert_no_panic();
        }
        let missing = missing_faults(faults, proxies);
        if missing.is_empty() {
            return Ok(());
        }
        for fault in &missing {
            faults.move_to_front(fault);
        }
        for fleet in fleets {
            if fleet.world.aws.messages(&fleet.world.deployed.queue_url).await.iter().all(is_due_later) {
                fleet.world.deliver(&fleet.replay()).await;
            }
        }
        // Only the missing faults: other counts would hide a standstill.
        let counts = proxies.map(|proxy| {
            let mut faults = proxy.stats.faults();
            faults.retain(|name, _| missing.contains(name));
            faults
        });
        Err(format!("missing {missing:?}; before Consul {:?}; before AWS {:?}", counts[0], counts[1]))
    })
    .await;
}

/// Whether a message is delayed by more than five seconds.
fn is_due_later(message: &Value) -> bool {
    message["IsVisible"] == false && message["VisibleAt"].as_i64() > Some(jiff::Timestamp::now().as_second() + 5)
}

fn missing_faults(faults: &FaultQueue, proxies: [&Proxy; 2]) -> BTreeSet<&'static str> {
    let counts = proxies.map(|proxy| proxy.stats.faults());
    let mut missing = faults.names();
    missing.retain(|fault| counts.iter().filter_map(|counts| counts.get(fault)).sum::<usize>() < AT_LEAST);
    missing
}

/// The starts and stops of a wave: five tasks of each service start, then five more while two stop, then half of the services
/// lose all tasks. Further waves are random.
async fn act(fleet: &mut Fleet<'_>, wave: usize, random: &mut fastrand::Rng) -> Vec<Value> {
    let mut events = Vec::new();
    for service in 0..fleet.services() {
        let (start, stop) = match (wave, fleet.running(service).len()) {
            (0, _) => (5, 0),
            (1, _) => (5, 2),
            (2, living) if service < fleet.services() / 2 => (0, living),
            (2, _) => (0, 1),
            (_, 0..2) => (random.usize(..3), 0),
            (_, living) => (random.usize(..2), random.usize(..=living)),
        };
        for index in fleet.running(service).into_iter().take(stop) {
            events.extend(fleet.stop(index).await);
        }
        events.extend(fleet.start(service, start).await);
    }
    events
}

/// Delivers events in random order; some are lost, some are duplicated.
async fn deliver(fleet: &Fleet<'_>, mut events: Vec<Value>, random: &mut fastrand::Rng) {
    events.retain(|_| random.f64() >= 0.05);
    let again: Vec<Value> = events.iter().filter(|_| random.f64() < 0.1).cloned().collect();
    events.extend(again);
    random.shuffle(&mut events);
    fleet.world.deliver(&events).await;
}
