//! How fast the functions are, against a real Consul and `MiniStack` behind TLS, at a distance.

// The harness panics with a reason when it cannot continue.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout)]

mod first_event;
mod relay;

use std::time::Duration;

use local_stack::{
    Stack,
    world::{World, documented_policy},
};
use test_harness::jwt::JwtAuthMethod;

use self::{
    first_event::{FirstEvents, ROWS},
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
    let binary = std::env::var("BENCH_BINARY").expect("the path of task-events");
    let mut events = FirstEvents { world, method, identity, secrets, binary, made: 0 };
    println!("{:32} {:>11} {:>9} {:>9} {:>12}", "first event", "round trips", "ms", "init ms", "connections");
    for (name, event, authority) in ROWS {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            near.push(events.measure(event, authority, NEAR).await);
            far.push(events.measure(event, authority, FAR).await);
        }
        let middle = |mut all: Vec<Duration>| {
            all.sort();
            all[all.len() / 2]
        };
        let event_near = middle(near.iter().map(|it| it.event).collect());
        let event_far = middle(far.iter().map(|it| it.event).collect());
        let init = middle(near.iter().map(|it| it.init).collect());
        let trips = (event_far.as_secs_f64() - event_near.as_secs_f64()) / (FAR.as_secs_f64() - NEAR.as_secs_f64());
        let connections = near[0].connections.map(|count| count.to_string()).join(" ");
        println!(
            "{name:32} {trips:>11.2} {:>9.1} {:>9.1} {connections:>12}",
            event_near.as_secs_f64() * 1e3,
            init.as_secs_f64() * 1e3
        );
    }
}
