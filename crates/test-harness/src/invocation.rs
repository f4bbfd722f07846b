//! One invocation of a function's own binary, in a deployed world: for what has to be killed at a chosen moment.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::function::{Function, Runtime, TIME_LIMIT, seen};
use local_stack::{
    pids,
    world::{TIME_BOUNDS, World},
};

/// Which function, and where it finds the others.
pub struct Place<'a> {
    /// Path of the function's executable.
    pub binary: &'a str,
    /// The function's `CONSUL_HTTP_ADDR`: URL of Consul's HTTP API, or of a proxy before it.
    pub consul_address: &'a str,
    /// The function's `AWS_ENDPOINT_URL`: that of `MiniStack`, or of a proxy before it.
    pub aws_endpoint: &'a str,
}

/// A process of the function, and the event that it was handed.
pub struct Invocation {
    process: Function,
    runtime: Runtime,
}

impl Invocation {
    /// Starts the function and hands it one event.
    pub async fn start(world: &World<'_>, place: &Place<'_>, event: &Value) -> Self {
        Self::start_with(world, place, &[], event).await
    }

    /// The same with further settings.
    pub async fn start_with(world: &World<'_>, place: &Place<'_>, settings: &[(&str, &str)], event: &Value) -> Self {
        Self::of_events(world, place, settings, vec![event.clone()]).await
    }

    /// Starts the function and hands it one event after the other.
    pub async fn of_events(
        world: &World<'_>,
        place: &Place<'_>,
        settings: &[(&str, &str)],
        events: Vec<Value>,
    ) -> Self {
        let runtime = Runtime::start(events).await;
        let cluster = world.cluster();
        let variables = [
            ("AWS_ENDPOINT_URL", place.aws_endpoint),
            ("CONSUL_HTTP_ADDR", place.consul_address),
            ("CONSUL_HTTP_TOKEN", world.consul.management_token.as_str()),
            ("ECS_CLUSTER_ARNS", cluster.as_str()),
            ("SECRET_NAME_PREFIX", world.prefix),
            ("QUEUE_URL", world.deployed.queue_url.as_str()),
            ("TIME_BOUNDS", TIME_BOUNDS),
        ];
        let variables: Vec<(&str, &str)> = variables.into_iter().chain(settings.iter().copied()).collect();
        Self { process: Function::start(place.binary, &runtime, &variables), runtime }
    }

    /// What kills the function at any time, as `kill -9` does. The answer says whether it lived until then.
    pub fn killer(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        self.process.killer()
    }

    /// Waits for the function's answer; an `Err` is the error that it reports.
    pub async fn answered(&self) -> Result<Value, Value> {
        let ended = self.ended().await;
        ended.unwrap_or_else(|| panic!("the function ended without an answer; it printed:\n{}", self.process.printed()))
    }

    /// The function's answer, if it has given one.
    pub fn answer(&self) -> Option<Result<Value, Value>> {
        let all = self.runtime.0.seen();
        let answer = all.iter().find(|seen| seen.uri.ends_with("/response") || seen.uri.ends_with("/error"))?;
        Some(if answer.uri.ends_with("/response") { Ok(answer.json()) } else { Err(answer.json()) })
    }

    /// Waits until it has answered, or has been killed: `None`.
    pub async fn ended(&self) -> Option<Result<Value, Value>> {
        let start = Instant::now();
        loop {
            // Before the answer: one that has ended says no more.
            let has_ended = self.process.has_ended();
            if let Some(answer) = self.answer() {
                return Some(answer);
            }
            if has_ended {
                return None;
            }
            let seen = || (self.runtime.0.lines(), self.process.printed());
            assert!(
                start.elapsed() < TIME_LIMIT,
                "waited {TIME_LIMIT:?} for the function to answer or end: {:#?}",
                seen()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the function has answered so many events and asks for the next one. How much memory it then has in use,
    /// in KiB.
    pub async fn resident_kib_after(&self, events: usize) -> u64 {
        self.runtime.answers(events).await;
        seen(&self.runtime.0, events + 1, |seen| seen.uri.ends_with("/invocation/next")).await;
        pids::resident_kib(self.process.pid()).expect("the function runs")
    }

    /// All that the function has printed so far.
    pub fn printed(&self) -> String {
        self.process.printed()
    }

    /// `kill -9`.
    pub fn kill(self) {
        drop(self);
    }
}
