//! The replacement of a whole cluster: all its tasks stop and as many start, on the deployed stack with the template's default
//! concurrency and grace period. `LOAD_TASKS` is the number of tasks (default: 500).
//!
//! The emulator differs from AWS. It passes at most 10 messages to an invocation, where the template configures 64: there are
//! six times as many invocations, each of which lists Consul's tokens. It sends no events: the test sends them to the queue, as
//! EventBridge would. It does not limit the rate of ECS's API, but lists tasks a hundred times slower. It shares two processors
//! with the functions, so that the measured rate is a lower limit.

mod memory;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use local_stack::{aws::Aws, consul::Consul, ports, progress::wait_until_done};
use memory::Memory;
use serde_json::{Value, json};
use test_harness::{
    fleet::Fleet,
    proxy::{Dialect, Proxy, Stats},
};

use crate::{number, print_figure};

/// The number of tasks that stop, and of those that start.
const TASKS: u64 = 500;
const SERVICES: usize = 50;
/// The template's `MaximumConcurrency`, times the most concurrent requests to Consul of an invocation.
const MOST_UNDER_WAY: usize = 10 * 8;
/// Consul's default limit of connections from one address (`limits.http_max_conns_per_client`): all functions in a VPC may
/// share one.
const CONNECTIONS: usize = 200;
/// The most messages that the emulator passes to an invocation.
const BATCH: usize = 10;
/// The most attempts of a batch at a task: it repeats an attempt that conflicts with a concurrent change.
const ATTEMPTS: usize = 3;
/// The template's `MemorySize`.
const MEMORY_KIB: u64 = 256 * 1024;
/// The tolerance for growth of a process that repeats the same work: variation by the allocator.
const GROWTH_KIB: u64 = 4 * 1024;

/// The pause between counts of the messages.
const BETWEEN_COUNTS: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_cluster_is_replaced_at_once() {
    let count = usize::try_from(number("LOAD_TASKS").unwrap_or(TASKS)).unwrap();
    let port = ports::reserve();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, consul) = tokio::join!(Aws::start_behind(port, &before_aws.url), Consul::start());
    let before_consul = Proxy::before(&consul.address, Dialect::Consul).await;
    let defaults = [("RevocationGraceSeconds", "300")];
    let name = ("load", "auto");
    let mut fleet = Fleet::deploy(&aws, &consul, name, &before_consul.url, &defaults).await;
    // Given a cluster of tasks, each registered and logged in; all of them stop, and others start
    let events = replaced(&mut fleet, count).await;
    let deployment = before_consul.stats.answers();
    // When all events are delivered at once
    let work = deliver_at_once(&fleet, &events).await;
    for (name, proxy) in [("Consul", &before_consul), ("AWS", &before_aws)] {
        print_figure(&format!("load: {name}: {:?}; {}", proxy.stats.answers(), peaks(&proxy.stats)));
    }
    // Then the requests to Consul stay within the concurrency limit and the cost model
    let stats = &before_consul.stats;
    // A client that has timed out may retry before the proxy notices its disconnection.
    assert!(stats.peak_under_way() <= MOST_UNDER_WAY + stats.given_up(), "{}", peaks(stats));
    assert!(stats.peak_connections() <= CONNECTIONS, "{}", peaks(stats));
    let too_many = beyond_cost_model(stats, &deployment, work.batches, count);
    assert!(too_many.is_empty(), "in {} batches: {too_many:#?}", work.batches);
    // And memory suffices, and does not grow
    assert_memory_suffices(&fleet, &events, work.memory).await;
    // And the state has converged: nothing of the stopped tasks is left, and the running ones have what they demand
    fleet.assert_no_dead_letters().await;
    fleet.converged().await;
    let summary = fleet.sweep().await;
    let cluster = &summary["clusters"][0];
    assert_eq!((&cluster["deleted"], &cluster["created"], &cluster["left"]), (&json!({}), &json!({}), &json!(0)));
}

/// The events of `count` tasks that stop, and of as many that start.
async fn replaced(fleet: &mut Fleet<'_>, count: usize) -> Vec<Value> {
    fleet.add_services(SERVICES).await;
    fleet.fill(count, true).await;
    let mut events = fleet.stop_all().await;
    events.extend(fleet.fill(count, false).await);
    fleet.create_foreign().await;
    fastrand::shuffle(&mut events);
    events
}

/// The resources that the function's work has used.
struct Work {
    /// The number of batches.
    batches: usize,
    /// The minimum and the maximum memory of the largest process, in KiB.
    memory: [u64; 2],
}

/// Delivers all events at once, and waits until they are handled.
async fn deliver_at_once(fleet: &Fleet<'_>, events: &[Value]) -> Work {
    let (aws, began) = (fleet.world.aws, Instant::now());
    let memory = Memory::watch(aws.pid());
    fleet.deliver_all(events).await;
    wait_until_done("all events to be handled", || async {
        let (left, _) = fleet.events_and_idle_checks_left().await;
        if left == 0 {
            return Ok(());
        }
        // The answer contains every message: frequent requests would slow the functions down.
        tokio::time::sleep(BETWEEN_COUNTS).await;
        Err(format!("{left} messages"))
    })
    .await;
    let (took, memory) = (began.elapsed(), memory.end());
    let batches = invocations(fleet).await;
    // Idle checks are left, which are due after the grace period. Each lists every task, which is so slow in the emulator that the
    // sweep would run out of time.
    let (events_left, idle_checks) = fleet.events_and_idle_checks_left().await;
    assert_eq!(events_left, 0);
    aws.sqs().purge_queue().queue_url(&fleet.world.deployed.queue_url).send().await.expect("PurgeQueue");
    let (count, rate) = (events.len(), events.len() as u128 * 1_000 / took.as_millis());
    print_figure(&format!(
        "load: {count} tasks in {took:.1?} and {batches} batches: {rate} a second, {idle_checks} idle checks"
    ));
    print_figure(&format!("load: the largest function used between {} and {} KiB of memory", memory[0], memory[1]));
    Work { batches, memory }
}

/// Asserts that memory sufficed, and that repeated work does not increase it.
async fn assert_memory_suffices(fleet: &Fleet<'_>, events: &[Value], [least, most]: [u64; 2]) {
    assert!(least > 0 && most <= MEMORY_KIB, "{least} to {most} KiB");
    let [few, many] =
        [memory::after_equal_rounds(fleet, events, 3).await, memory::after_equal_rounds(fleet, events, 12).await];
    print_figure(&format!("load: {few} KiB after 3 equal rounds, {many} KiB after 12"));
    assert!(many <= few + GROWTH_KIB, "{few} KiB after 3 rounds, {many} KiB after 12");
}

/// The number of the function's invocations.
async fn invocations(fleet: &Fleet<'_>) -> usize {
    let starts = json!({ "filterPattern": "START RequestId" });
    let lines = fleet.world.aws.logs_where(&fleet.world.deployed.log_group, &starts).await;
    lines.iter().filter(|line| line.starts_with("START RequestId")).count()
}

/// The kinds of answered calls that exceed the cost model, with their counts. At each attempt a batch lists tokens and reads
/// the catalog once, and writes one transaction; each stopped task has a login token; and a batch reads and creates the tokens
/// of its services and of the client agents. A function opens two connections, before its first batch.
fn beyond_cost_model(
    stats: &Stats,
    before: &BTreeMap<String, usize>,
    batches: usize,
    stopped: usize,
) -> Vec<(String, usize)> {
    let most = |kind: &str| match kind {
        "GET acl/tokens" | "GET catalog/node-services" | "PUT txn" => ATTEMPTS * batches,
        "DELETE acl/token" => ATTEMPTS * stopped,
        "GET acl/token" | "PUT acl/token" | "PUT acl/policy" | "GET acl/policy" => ATTEMPTS * batches * (BATCH + 1),
        "GET status/leader" => 2 * batches,
        _ => 0,
    };
    let calls = stats.answers().into_iter().map(|(kind, count)| {
        let before = before.get(&kind).copied().unwrap_or_default();
        (kind, count - before)
    });
    calls.filter(|(kind, count)| *count > most(kind)).collect()
}

fn peaks(stats: &Stats) -> String {
    let (rate, at_once) = (stats.peak_within(Duration::from_secs(1)), stats.peak_under_way());
    format!("at most {rate} in a second, {at_once} under way at once, {} connections", stats.peak_connections())
}
