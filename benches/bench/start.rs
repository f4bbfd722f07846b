//! The start of `task-events`, next to the start of a function that does nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_harness::{
    function::{Function, RuntimeApi, wait_for_requests},
    installation::{Installation, RateLimit, settings},
};

use crate::median;

/// How often each function is started.
const STARTS: usize = 20;

/// Starts both functions in turn, next to stand-ins that answer at once, and prints how long it takes until they ask for an event.
pub(crate) async fn compare(binary: &str, bare: &str) -> Value {
    let installation = Installation::of(100);
    let (consul, aws) = tokio::join!(installation.consul(Duration::ZERO), installation.aws(RateLimit::Documented));
    let variables = settings(&consul, &aws);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (binary, times) in [binary, bare].into_iter().zip(&mut times) {
            times.push(start(binary, &variables).await);
        }
    }
    let [own, bare] = times.map(|times| median(&times, |time| time.as_secs_f64() * 1e3));
    println!("\n{:32}{own:>12.1}", "ms until a start asks for an event");
    println!("{:32}{bare:>12.1}   ratio {:.1}", "the same of a bare function", own / bare);
    json!({ "milliseconds": own, "bareMilliseconds": bare })
}

async fn start(binary: &str, variables: &[(&str, &str)]) -> Duration {
    let runtime = RuntimeApi::start(vec![]).await;
    let started = Instant::now();
    let _function = Function::start(binary, &runtime, variables);
    wait_for_requests(&runtime.0, 1, |seen| seen.uri.ends_with("/invocation/next")).await;
    runtime.0.requests().remove(0).at - started
}
