//! A whole cluster replaced at once: 5,000 tasks stop and 5,000 start, through the deployed stack at the template's default
//! concurrency and grace period.
//!
//! The emulator differs from AWS in ways that matter here. It hands at most 10 messages to an invocation, where the template
//! asks for 64: there are six times as many invocations, each of which reads Consul's lists. It sends no events: they are put
//! on the queue, as EventBridge would. It does not limit the rate of ECS's API, but lists tasks a hundred times slower. And
//! all of it shares two processors with what is tested, so that the drain rate is the least that can be said.

mod memory;

use std::{
    io::Write,
    time::{Duration, Instant},
};

use local_stack::{aws::Aws, consul::Consul, ports, wait::eventually};
use memory::Memory;
use serde_json::{Value, json};
use test_harness::{
    crowd::Crowd,
    proxy::{Dialect, Proxy, Tally},
};

/// How many tasks stop, and how many start.
const TASKS: usize = 5_000;
const SERVICES: usize = 50;
/// The template's `MaximumConcurrency`, and how many requests to Consul each invocation has under way at most.
const MOST_UNDER_WAY: usize = 10 * 8;
/// How many connections a Consul agent takes from one address by default (`limits.http_max_conns_per_client`): those of
/// all functions in a VPC may come from one.
const CONNECTIONS: usize = 200;
/// How many messages the emulator hands to an invocation.
const BATCH: usize = 10;
/// How long the work may take.
const PATIENCE: Duration = Duration::from_secs(200);

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_five_thousand_tasks_is_replaced_at_once() {
    let port = ports::reserve();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, consul) = tokio::join!(Aws::start_behind(port, &before_aws.url), Consul::start());
    let before_consul = Proxy::before(&consul.address, Dialect::Consul).await;
    let defaults = [("RevocationGraceSeconds", "300")];
    let place = ("load", "secrets-manager");
    let mut crowd = Crowd::deploy(&aws, &consul, place, &before_consul.url, &defaults).await;
    // Given a cluster full of tasks, each of which has registered and logged in; all of them stop, and others start
    crowd.found_services(SERVICES).await;
    crowd.fill(TASKS, true).await;
    let mut events = crowd.stop_all().await;
    events.extend(crowd.fill(TASKS, false).await);
    crowd.plant_foreign().await;
    fastrand::shuffle(&mut events);
    let calls_before = [before_consul.tally.requests(), before_aws.tally.requests()];

    // When all of it is told at once
    let began = Instant::now();
    let memory = Memory::watch(aws.pid());
    crowd.deliver_all(&events).await;
    eventually("all events to be done", PATIENCE, || async {
        let (left, _) = crowd.events_and_looks_left().await;
        if left == 0 { Ok(()) } else { Err(format!("{left} messages")) }
    })
    .await;
    let took = began.elapsed();
    let memory = memory.end();
    let tasks = u128::try_from(events.len()).unwrap();
    tell(&format!("{tasks} tasks in {took:.1?}: {} a second", tasks * 1_000 / took.as_millis()));
    for (name, proxy, before) in [("Consul", &before_consul, calls_before[0]), ("AWS", &before_aws, calls_before[1])] {
        let calls = proxy.tally.requests() - before;
        let per_hundred = calls * 100 / events.len();
        tell(&format!("{name}: {calls} calls, {per_hundred} per 100 tasks; {}", peaks(&proxy.tally)));
    }
    tell(&format!("memory of the largest function by quarters of the time, in KiB: {memory:?}"));

    // Then Consul was never asked for more than the cap, and memory stayed flat
    let tally = &before_consul.tally;
    assert!(tally.peak_under_way() <= MOST_UNDER_WAY, "{}", peaks(tally));
    assert!(tally.peak_connections() <= CONNECTIONS, "{}", peaks(tally));
    let calls = tally.requests() - calls_before[0];
    assert!(calls <= most_calls(events.len()), "{calls} calls to Consul");
    assert!(memory[3] * 10 <= memory[1] * 13, "{memory:?}");
    // And everything is done: of the stopped tasks nothing is left, and the living ones have what they need
    assert_eq!(given_up(&crowd).await, Vec::<Value>::new());
    crowd.converged().await;
    let summary = crowd.sweep().await;
    let cluster = &summary["clusters"][0];
    assert_eq!((&cluster["deleted"], &cluster["created"], &cluster["left"]), (&json!({}), &json!({}), &json!(0)));
    // What is left are looks, which are due when the grace period is over
    let (events_left, looks) = crowd.events_and_looks_left().await;
    assert_eq!(events_left, 0);
    tell(&format!("{looks} looks asked for"));
}

/// By the cost model: a batch lists tokens and reads the catalog once, and writes one transaction and the checks; each
/// stopped task has a login token, each service and the client agents a token, which an environment looks at once. As much
/// again is for conflicts between batches, which look twice.
fn most_calls(events: usize) -> usize {
    2 * (events / BATCH * 3 + TASKS + 10 * 2 * (SERVICES + 1))
}

async fn given_up(crowd: &Crowd<'_>) -> Vec<Value> {
    crowd.world.waiting(&crowd.world.deployed.failed_queue_url).await
}

fn peaks(tally: &Tally) -> String {
    let (rate, at_once) = (tally.peak_within(Duration::from_secs(1)), tally.peak_under_way());
    format!("at most {rate} in a second, {at_once} under way at once, {} connections", tally.peak_connections())
}

/// Tells a figure, also of a test that passes.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "load: {text}");
}
