//! How fast the release binaries are, which are in the folder that `BENCH_BINARIES` names: `task-events` against a real Consul and
//! `MiniStack`, both behind TLS and at a distance; `reconcile` against stand-ins; `ecs-mesh` with files. Prints tables, and writes the
//! figures into `target/bench/figures.json`.

// The harness panics with a reason when it cannot continue.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout, clippy::string_slice)]

mod always_on;
mod auditor;
mod callgrind;
mod first_event;
mod growth;
mod plots;
mod relay;
mod start;
mod throughput;
mod warm_stop;

use std::{fs, time::Duration};

use local_stack::{
    Stack, in_repository,
    world::{World, documented_policy},
};
use serde_json::{Value, json};
use test_harness::jwt::JwtAuthMethod;

use self::{
    first_event::{Event, FirstEvents, Measured, ROWS, Setup, ecs_with_consul},
    relay::Identity,
    throughput::{Rate, Throughput},
    warm_stop::EVENTS,
};

/// The distances: at the second, times are measured; the difference between both says how many round trips there are. Where Consul runs
/// in an ECS task, a start takes ten round trips, and must not give up on its connections.
const NEAR: Duration = Duration::from_millis(5);
const FAR: Duration = Duration::from_millis(20);
/// How often each event is measured at each distance.
const STARTS: usize = 5;
/// How often each size of a batch is measured.
const RUNS: usize = 3;
/// The sizes of batches: the most without a batching window on AWS, which the template has, and more.
const BATCHES: [usize; 2] = [10, 64];

/// Where the figures are.
const FIGURES: &str = "target/bench/figures.json";
/// The parts of the bench, which `cargo bench --bench bench -- PART…` selects; by default all.
const PARTS: [&str; 9] =
    ["first-events", "start", "warm-stops", "memory", "throughput", "always-on", "growth", "auditor", "plots"];

#[tokio::main]
async fn main() {
    local_stack::http::choose_tls_backend();
    // Cargo passes options of its own.
    let mut wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if wanted.is_empty() {
        wanted = PARTS.map(str::to_owned).into();
    }
    let folder = std::env::var("BENCH_BINARIES").expect("BENCH_BINARIES: the folder of the release binaries");
    let binary = format!("{folder}/task-events");
    let mut events = first_events_in_a_world(&binary).await;
    for part in wanted {
        let figures = match part.as_str() {
            "first-events" => first_events(&mut events).await,
            "start" => start::compare(&binary, &format!("{folder}/examples/bare")).await,
            "warm-stops" => warm_stops(&mut events).await,
            "memory" => memory(&mut events).await,
            "throughput" => throughput(&binary).await,
            "always-on" => always_on::compare().await,
            "growth" => growth::measure(&format!("{folder}/reconcile")).await,
            "auditor" => auditor::measure(&format!("{folder}/ecs-mesh")),
            "plots" => {
                let picture = in_repository("docs/images/performance.svg");
                plots::draw(&figures_so_far(), &picture).expect("a picture");
                continue;
            }
            other => panic!("no part {other}; there are {}", PARTS.join(", ")),
        };
        keep(&part, figures);
    }
}

/// The figures of all parts that have run.
fn figures_so_far() -> Value {
    let file = fs::read(in_repository(FIGURES));
    file.map_or_else(|_| json!({}), |figures| serde_json::from_slice(&figures).expect("JSON"))
}

/// Writes the figures of a part, and keeps the figures of other parts.
fn keep(part: &str, figures: Value) {
    let mut all = figures_so_far();
    all[part] = figures;
    let file = in_repository(FIGURES);
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(file, format!("{all:#}\n")).expect("a file");
}

async fn first_events_in_a_world(binary: &str) -> FirstEvents<'static> {
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
    let ecs = ecs_with_consul(&world.aws.endpoint).await;
    FirstEvents { world, method, identity, secrets, ecs, binary: binary.to_owned(), made: 0 }
}

async fn first_events(events: &mut FirstEvents<'_>) -> Value {
    println!("{:32}{:>12}{:>10}{:>10}   connections", "first event", "round trips", "ms", "init ms");
    let mut rows = Vec::new();
    for (name, event, setup) in ROWS {
        rows.push(first_event(events, name, event, setup).await);
    }
    Value::Array(rows)
}

async fn warm_stops(events: &mut FirstEvents<'_>) -> Value {
    println!("\n{:32}{:>12}{:>10}", "one stop more, instructions", "million", "a token");
    let mut rows = Vec::new();
    for tokens in [100_u32, 10_000, 50_000] {
        let instructions = events.instructions_of_a_stop(tokens as usize).await;
        let (million, each) = (instructions / 1e6, instructions / f64::from(tokens));
        println!("{:32}{million:>12.1}{each:>10.0}", format!("{tokens} tokens"));
        rows.push(json!({ "tokens": tokens, "instructions": instructions }));
    }
    Value::Array(rows)
}

async fn memory(events: &mut FirstEvents<'_>) -> Value {
    let [started, worked] = events.resident().await;
    println!("\n{:32}{started:>12.1}", "resident MB after the start");
    println!("{:32}{worked:>12.1}", format!("and after {EVENTS} stops"));
    json!({ "afterStart": started, "afterEvents": worked, "events": EVENTS })
}

/// Measures an event at both distances, in turn.
async fn first_event(events: &mut FirstEvents<'_>, name: &str, event: Event, setup: Setup) -> Value {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        near.push(events.measure(event, setup, NEAR).await);
        far.push(events.measure(event, setup, FAR).await);
    }
    let milliseconds = |of: fn(&Measured) -> Duration| move |it: &Measured| of(it).as_secs_f64() * 1e3;
    let (event, init) = (milliseconds(|it| it.event), milliseconds(|it| it.init));
    let (milliseconds, init) = (least(&far, event), least(&far, init));
    let trips = (milliseconds - least(&near, event)) / (FAR.as_secs_f64() - NEAR.as_secs_f64()) / 1e3;
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

/// Measures batches of each size in turn.
async fn throughput(binary: &str) -> Value {
    let mut installation = Throughput::prepare(binary).await;
    let mut rates = BATCHES.map(|_| Vec::new());
    for _ in 0..RUNS {
        for (batch, rates) in BATCHES.into_iter().zip(&mut rates) {
            rates.push(installation.run(batch).await);
        }
    }
    println!(
        "\n{:32}{:>12}{:>20}",
        format!("{} tokens, batches of", throughput::TOKENS),
        "stops a s",
        "Consul, ms a stop"
    );
    let rows = BATCHES.into_iter().zip(&rates).map(|(batch, rates)| {
        let stops = median(rates, |it| it.stops_a_second);
        let consul = median(rates, |it: &Rate| it.consul.as_secs_f64() * 1e3);
        println!("{batch:<32}{stops:>12.0}{consul:>20.1}");
        json!({ "batch": batch, "stopsPerSecond": stops, "consulMillisecondsPerStop": consul })
    });
    rows.collect()
}

/// The least: what else a machine does only takes more time.
fn least<T>(measured: &[T], of: impl Fn(&T) -> f64) -> f64 {
    measured.iter().map(of).fold(f64::INFINITY, f64::min)
}

fn median<T>(measured: &[T], of: impl Fn(&T) -> f64) -> f64 {
    let mut all: Vec<f64> = measured.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
