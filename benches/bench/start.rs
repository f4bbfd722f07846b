//! The start of `task-events`, next to the start of a function that does nothing.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use test_harness::{
    function::{Function, RuntimeApi, wait_for_requests},
    installation::{Installation, RateLimit, settings},
};

use crate::{callgrind::Counted, median};

/// How often each function is started.
const STARTS: usize = 20;

/// Like the image of Lambda, which has all root certificates in one file. A Debian system has each in a file of its own too.
const ROOTS: (&str, &str) = ("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt");

/// Starts both functions in turn, next to stand-ins that answer at once, and prints how long it takes until they ask for an event,
/// and how many instructions.
pub(crate) async fn compare(binary: &str, bare: &str) -> Value {
    let installation = Installation::of(100);
    let (consul, aws) = tokio::join!(installation.consul(Duration::ZERO), installation.aws(RateLimit::Documented));
    assert!(Path::new(ROOTS.1).exists(), "{} is not there: the bench knows Debian's root certificates only", ROOTS.1);
    let mut variables = settings(&consul, &aws);
    variables.push(ROOTS);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (binary, times) in [binary, bare].into_iter().zip(&mut times) {
            times.push(start(binary, &variables).await);
        }
    }
    let [own, bare_time] = times.map(|times| median(&times, |time| time.as_secs_f64() * 1e3));
    let [own_million, bare_million] = [million(binary, &variables).await, million(bare, &variables).await];
    println!("\n{:32}{:>12}{:>24}", "a start", "ms", "million instructions");
    println!("{:32}{own:>12.1}{own_million:>24.1}", "task-events");
    println!("{:32}{bare_time:>12.1}{bare_million:>24.1}   ratio {:.1}", "a bare function", own / bare_time);
    json!({
        "milliseconds": own,
        "bareMilliseconds": bare_time,
        "millionInstructions": own_million,
        "bareMillionInstructions": bare_million,
    })
}

async fn start(binary: &str, variables: &[(&str, &str)]) -> Duration {
    let runtime = RuntimeApi::start(vec![]).await;
    let started = Instant::now();
    let _function = Function::start(binary, &runtime, variables);
    asks_for_an_event(&runtime).await;
    runtime.0.requests().remove(0).at - started
}

async fn million(binary: &str, variables: &[(&str, &str)]) -> f64 {
    let runtime = RuntimeApi::start(vec![]).await;
    let function = Counted::start(binary, &runtime, variables);
    asks_for_an_event(&runtime).await;
    function.instructions() / 1e6
}

async fn asks_for_an_event(runtime: &RuntimeApi) {
    wait_for_requests(&runtime.0, 1, |seen| seen.uri.ends_with("/invocation/next")).await;
}
