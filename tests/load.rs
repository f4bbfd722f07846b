//! A whole cluster replaced at once: 5,000 tasks stop and 5,000 start, through the deployed stack at the template's default
//! concurrency.
//!
//! The emulator differs from AWS in three ways that matter here. It hands at most 10 messages to an invocation, where the
//! template asks for 64: there are six times as many invocations, each of which reads Consul's lists. It does not send
//! events: they are put on the queue, as EventBridge would. And it does not limit the rate of ECS's API.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod crowd;
#[path = "load/memory.rs"]
mod memory;
mod proxy;
mod stack;
mod world;

use std::{
    io::Write,
    time::{Duration, Instant},
};

use crowd::Crowd;
use memory::Memory;
use proxy::{Dialect, Proxy};
use serde_json::Value;
use stack::{aws::Aws, consul::Consul, process::free_port, wait::eventually};

/// How many tasks stop, and how many start.
const TASKS: usize = 5_000;
const SERVICES: usize = 50;
/// The template's `MaximumConcurrency`.
const CONCURRENCY: usize = 10;
/// How many calls to Consul one invocation has under way at once.
const CALLS_AT_ONCE: usize = 8;
/// How many connections a Consul agent takes from one address (`limits.http_max_conns_per_client`): those of a VPC's
/// functions may all come from one.
const CONNECTIONS: usize = 200;
/// How long the work may take.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_five_thousand_tasks_is_replaced_at_once() {
    let port = free_port();
    let before_aws = Proxy::before(&Aws::endpoint_at(port), Dialect::Aws).await;
    let (aws, consul) = tokio::join!(Aws::start_behind(port, &before_aws.url), Consul::start());
    let before_consul = Proxy::before(&consul.address, Dialect::Consul).await;
    let defaults = [("RevocationGraceSeconds", "300")];
    let place = ("load", "secrets-manager");
    let mut crowd = Crowd::deploy(&aws, &consul, place, &before_consul.url, &defaults).await;
    // Given a cluster full of tasks, each of which has registered and logged in
    let began = Instant::now();
    crowd.found_services(SERVICES).await;
    crowd.fill(TASKS, true).await;
    tell(&format!("first tasks up after {:.1?}", began.elapsed()));
    let mut events: Vec<Value> = crowd.stop_all().await;
    tell(&format!("stopped after {:.1?}", began.elapsed()));
    events.extend(crowd.fill(TASKS, false).await);
    tell(&format!("second tasks up after {:.1?}", began.elapsed()));
    crowd.plant_foreign().await;
    fastrand::shuffle(&mut events);

    // When all of it is told at once
    let began = Instant::now();
    let delivered = crowd.deliver_all(&events);
    let memory = Memory::watch(aws.pid());
    delivered.await;
    tell(&format!("delivered after {:.1?}", began.elapsed()));
    eventually("all events to be done", PATIENCE, || async {
        let (left, _) = crowd.events_and_looks_left().await;
        if left == 0 { Ok(()) } else { Err(format!("{left} messages")) }
    })
    .await;
    let took = began.elapsed();
    let memory = memory.end();
    tell(&format!("drained in {took:.1?}: {:.0} tasks/s", 2.0 * TASKS as f64 / took.as_secs_f64()));
    tell(&format!(
        "Consul: {}, peak {}/s, {} at once, {} connections",
        before_consul.tally,
        before_consul.tally.peak_within(Duration::from_secs(1)),
        before_consul.tally.peak_under_way(),
        before_consul.tally.peak_connections()
    ));
    tell(&format!("AWS: {}", before_aws.tally));
    tell(&format!("memory: {memory:?}"));
    let (_, looks) = crowd.events_and_looks_left().await;
    tell(&format!("looks asked for: {looks}"));
    crowd.converged().await;
    tell(&format!("converged after {:.1?}", began.elapsed()));
    let summary = crowd.sweep().await;
    tell(&format!("swept after {:.1?}: {summary}", began.elapsed()));
}

/// Tells a figure, also of a test that passes.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "load: {text}");
}
