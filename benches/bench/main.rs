//! How fast the functions are: the release binary of `task-events`, which `BENCH_BINARY` names, against a real Consul and
//! `MiniStack`, both behind TLS and at a distance. Prints tables, and writes the figures into `target/bench/figures.json`.

// The harness panics with a reason when it cannot continue.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout)]

mod first_event;
mod relay;
mod warm_stop;

use std::{fs, time::Duration};

use local_stack::{
    Stack, in_repository,
    world::{World, documented_policy},
};
use serde_json::{Value, json};
use test_harness::jwt::JwtAuthMethod;

use self::{
    first_event::{Authority, Event, FirstEvents, Measured, ROWS},
    relay::Identity,
};

/// The distances: at the first, times are measured; the difference between both says how many round trips there are.
const NEAR: Duration = Duration::from_millis(20);
const FAR: Duration = Duration::from_millis(80);
/// How often each event is measured at each distance.
const RUNS: usize = 3;

#[tokio::main]
async fn main() {
    local_stack::http::choose_tls_backend();
    let world = World::without_deployment("bench").await;
    let stack = Stack::shared().await;
    world.create_node().await;
    let token = stack.consul.token_with_rules("controller-bench", &documented_policy()).await;
    let identity = Identity::generate();
    let secrets = (
        stack.aws.create_secret("bench-token", &token.secret_id).await,
        stack.aws.create_secret("bench-authority", &identity.authority).await,
    );
    let method = JwtAuthMethod::create(&stack.consul, world.name).await;
    let binary = std::env::var("BENCH_BINARY").expect("BENCH_BINARY: the path of task-events");
    let mut events = FirstEvents { world, method, identity, secrets, binary, made: 0 };

    let mut first = Vec::new();
    println!("{:32}{:>12}{:>10}{:>10}   connections", "first event", "round trips", "ms", "init ms");
    for (name, event, authority) in ROWS {
        first.push(first_event(&mut events, name, event, authority).await);
    }
    let mut warm = Vec::new();
    println!("\n{:32}{:>12}{:>10}", "one stop more, instructions", "million", "a token");
    for tokens in [100_u32, 10_000, 50_000] {
        let instructions = events.instructions_of_a_stop(tokens as usize).await;
        println!(
            "{:32}{:>12.1}{:>10.0}",
            format!("{tokens} tokens"),
            instructions / 1e6,
            instructions / f64::from(tokens)
        );
        warm.push(json!({ "tokens": tokens, "instructions": instructions }));
    }
    let figures = json!({ "firstEvents": first, "warmStops": warm });
    let folder = in_repository("target/bench");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("figures.json"), format!("{figures:#}\n")).expect("a file");
}

/// Measures an event at both distances, in turn.
async fn first_event(events: &mut FirstEvents<'_>, name: &str, event: Event, authority: Authority) -> Value {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        near.push(events.measure(event, authority, NEAR).await);
        far.push(events.measure(event, authority, FAR).await);
    }
    let (milliseconds, init) = (median(&near, |it| it.event), median(&near, |it| it.init));
    let trips = (median(&far, |it| it.event) - milliseconds) / (FAR.as_secs_f64() - NEAR.as_secs_f64()) / 1e3;
    let [ecs, secrets, others, consul] = near[0].connections;
    println!("{name:32}{trips:>12.2}{milliseconds:>10.1}{init:>10.1}   {ecs} {secrets} {others} {consul}");
    json!({
        "event": name,
        "roundTrips": trips,
        "milliseconds": milliseconds,
        "initMilliseconds": init,
        "connections": { "ecs": ecs, "secretsManager": secrets, "otherServices": others, "consul": consul },
    })
}

/// The median in milliseconds.
fn median(measured: &[Measured], of: impl Fn(&Measured) -> Duration) -> f64 {
    let mut all: Vec<Duration> = measured.iter().map(of).collect();
    all.sort();
    all[all.len() / 2].as_secs_f64() * 1e3
}
