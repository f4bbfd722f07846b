//! A whole cluster replaced at once: all its tasks stop and as many start, through the deployed stack at the template's
//! default concurrency and grace period. `LOAD_TASKS` says how many, 500 if it is not set.
//!
//! The emulator differs from AWS in ways that matter here. It hands at most 10 messages to an invocation, where the template
//! asks for 64: there are six times as many invocations, each of which reads Consul's lists. It sends no events: they are put
//! on the queue, as EventBridge would. It does not limit the rate of ECS's API, but lists tasks a hundred times slower. And
//! all of it shares two processors with what is tested, so that the rate is the least that can be said.

mod memory;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use local_stack::{aws::Aws, consul::Consul, ports, progress::until_done};
use memory::Memory;
use serde_json::{Value, json};
use test_harness::{
    crowd::Crowd,
    proxy::{Dialect, Proxy, Tally},
};

use crate::{number, tell};

/// How many tasks stop, and how many start.
const TASKS: u64 = 500;
const SERVICES: usize = 50;
/// The template's `MaximumConcurrency`, and how many requests to Consul each invocation has under way at most.
const MOST_UNDER_WAY: usize = 10 * 8;
/// How many connections a Consul agent takes from one address by default (`limits.http_max_conns_per_client`): those of
/// all functions in a VPC may come from one.
const CONNECTIONS: usize = 200;
/// How many messages the emulator hands to an invocation.
const BATCH: usize = 10;
/// How often a batch looks at a task at most: again where somebody else has changed what was seen.
const LOOKS: usize = 3;
/// The template's `MemorySize`.
const MEMORY_KIB: u64 = 256 * 1024;
/// By how much a process may grow while it does the same work over and over, where it should not grow at all: the
/// allocator's own rhythm.
const GROWTH_KIB: u64 = 4 * 1024;

/// The pause after the messages were counted.
const BETWEEN_COUNTS: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_cluster_is_replaced_at_once() {
    let count = usize::try_from(number("LOAD_TASKS").unwrap_or(TASKS)).unwrap();
    let port = ports::reserve();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, consul) = tokio::join!(Aws::start_behind(port, &before_aws.url), Consul::start());
    let before_consul = Proxy::before(&consul.address, Dialect::Consul).await;
    let defaults = [("RevocationGraceSeconds", "300")];
    let place = ("load", "secrets-manager");
    let mut crowd = Crowd::deploy(&aws, &consul, place, &before_consul.url, &defaults).await;
    // Given a cluster full of tasks, each of which has registered and logged in; all of them stop, and others start
    let events = replaced(&mut crowd, count).await;
    let deployment = before_consul.tally.answers();
    // When all of it is told at once
    let work = told_at_once(&crowd, &events).await;
    for (name, proxy) in [("Consul", &before_consul), ("AWS", &before_aws)] {
        tell(&format!("load: {name}: {:?}; {}", proxy.tally.answers(), peaks(&proxy.tally)));
    }
    // Then Consul was never asked for more than the cap, nor for more than the cost model says
    let tally = &before_consul.tally;
    // A client that gives a request up may send it again before the proxy notices.
    assert!(tally.peak_under_way() <= MOST_UNDER_WAY + tally.given_up(), "{}", peaks(tally));
    assert!(tally.peak_connections() <= CONNECTIONS, "{}", peaks(tally));
    let too_many = beyond_cost_model(tally, &deployment, work.batches, count);
    assert!(too_many.is_empty(), "in {} batches: {too_many:#?}", work.batches);
    // And memory sufficed, and stays flat
    memory_suffices(&crowd, &events, work.memory).await;
    // And everything is done: of the stopped tasks nothing is left, and the living ones have what they need
    crowd.nothing_given_up().await;
    crowd.converged().await;
    let summary = crowd.sweep().await;
    let cluster = &summary["clusters"][0];
    assert_eq!((&cluster["deleted"], &cluster["created"], &cluster["left"]), (&json!({}), &json!({}), &json!(0)));
}

/// The events of so many tasks that all stop, and of as many that start.
async fn replaced(crowd: &mut Crowd<'_>, count: usize) -> Vec<Value> {
    crowd.found_services(SERVICES).await;
    crowd.fill(count, true).await;
    let mut events = crowd.stop_all().await;
    events.extend(crowd.fill(count, false).await);
    crowd.plant_foreign().await;
    fastrand::shuffle(&mut events);
    events
}

/// What the function's work has taken.
struct Work {
    /// How many batches it was invoked with.
    batches: usize,
    /// The least and the most memory that the largest process had in use, in KiB.
    memory: [u64; 2],
}

/// Delivers all events at once, and waits until they are done.
async fn told_at_once(crowd: &Crowd<'_>, events: &[Value]) -> Work {
    let (aws, began) = (crowd.world.aws, Instant::now());
    let memory = Memory::watch(aws.pid());
    crowd.deliver_all(events).await;
    until_done("all events to be done", || async {
        let (left, _) = crowd.events_and_looks_left().await;
        if left == 0 {
            return Ok(());
        }
        // The answer holds every message: asking takes time that the functions need.
        tokio::time::sleep(BETWEEN_COUNTS).await;
        Err(format!("{left} messages"))
    })
    .await;
    let (took, memory) = (began.elapsed(), memory.end());
    let batches = invocations(crowd).await;
    // What is left are looks, which are due when the grace period is over. Each lists every task, which takes the emulator
    // long enough to keep the sweep from its end.
    let (events_left, looks) = crowd.events_and_looks_left().await;
    assert_eq!(events_left, 0);
    aws.sqs().purge_queue().queue_url(&crowd.world.deployed.queue_url).send().await.expect("PurgeQueue");
    let (count, rate) = (events.len(), events.len() as u128 * 1_000 / took.as_millis());
    tell(&format!("load: {count} tasks in {took:.1?} and {batches} batches: {rate} a second, {looks} looks asked for"));
    tell(&format!("load: the largest function had between {} and {} KiB of memory in use", memory[0], memory[1]));
    Work { batches, memory }
}

/// Asserts that memory sufficed, and that more of the same work takes no more of it.
async fn memory_suffices(crowd: &Crowd<'_>, events: &[Value], [least, most]: [u64; 2]) {
    assert!(least > 0 && most <= MEMORY_KIB, "{least} to {most} KiB");
    let [few, many] =
        [memory::after_equal_rounds(crowd, events, 3).await, memory::after_equal_rounds(crowd, events, 12).await];
    tell(&format!("load: {few} KiB after 3 equal rounds, {many} KiB after 12"));
    assert!(many <= few + GROWTH_KIB, "{few} KiB after 3 rounds, {many} KiB after 12");
}

/// How many batches the function was invoked with.
async fn invocations(crowd: &Crowd<'_>) -> usize {
    let starts = json!({ "filterPattern": "START RequestId" });
    let lines = crowd.world.aws.logs_where(&crowd.world.deployed.log_group, &starts).await;
    lines.iter().filter(|line| line.starts_with("START RequestId")).count()
}

/// The kinds of answered calls of which there were more than the cost model says, however many batches there were: at each
/// look a batch lists tokens and reads the catalog once, and writes one transaction; each stopped task has a login token; and
/// a batch looks at the tokens of its services and of the client agents, and makes them.
fn beyond_cost_model(
    tally: &Tally,
    before: &BTreeMap<String, usize>,
    batches: usize,
    stopped: usize,
) -> Vec<(String, usize)> {
    let most = |kind: &str| match kind {
        "GET acl/tokens" | "GET catalog/node-services" | "PUT txn" => LOOKS * batches,
        "DELETE acl/token" => LOOKS * stopped,
        "GET acl/token" | "PUT acl/token" | "PUT acl/policy" | "GET acl/policy" => LOOKS * batches * (BATCH + 1),
        _ => 0,
    };
    let calls = tally.answers().into_iter().map(|(kind, count)| {
        let before = before.get(&kind).copied().unwrap_or_default();
        (kind, count - before)
    });
    calls.filter(|(kind, count)| *count > most(kind)).collect()
}

fn peaks(tally: &Tally) -> String {
    let (rate, at_once) = (tally.peak_within(Duration::from_secs(1)), tally.peak_under_way());
    format!("at most {rate} in a second, {at_once} under way at once, {} connections", tally.peak_connections())
}
