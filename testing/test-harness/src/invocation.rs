//! Invocations of a function's binary in a world, for tests that kill the function at a chosen moment.

use serde_json::Value;

use crate::function::{Function, RuntimeApi, wait_for_requests};
use local_stack::{deploy::TIME_BOUNDS, pids, world::World};

/// A function's binary, and the endpoints that it calls.
pub struct FunctionSetup<'a> {
    /// Path of the function's executable.
    pub binary: &'a str,
    /// The function's `CONSUL_HTTP_ADDR`: URL of Consul's HTTP API, or of a proxy in front of it.
    pub consul_address: &'a str,
    /// The function's `AWS_ENDPOINT_URL`: URL of `MiniStack`, or of a proxy in front of it.
    pub aws_endpoint: &'a str,
}

/// A process of the function, and its runtime API.
pub struct Invocation {
    process: Function,
    runtime: RuntimeApi,
}

impl Invocation {
    /// Starts the function with one event.
    pub async fn start(world: &World<'_>, setup: &FunctionSetup<'_>, event: &Value) -> Self {
        Self::start_with(world, setup, &[], event).await
    }

    /// Starts the function with one event and further settings.
    pub async fn start_with(
        world: &World<'_>,
        setup: &FunctionSetup<'_>,
        settings: &[(&str, &str)],
        event: &Value,
    ) -> Self {
        Self::of_events(world, setup, settings, vec![event.clone()]).await
    }

    /// Starts the function with several events.
    pub async fn of_events(
        world: &World<'_>,
        setup: &FunctionSetup<'_>,
        settings: &[(&str, &str)],
        events: Vec<Value>,
    ) -> Self {
        let runtime = RuntimeApi::start(events).await;
        let cluster = world.cluster();
        let variables = [
            ("AWS_ENDPOINT_URL", setup.aws_endpoint),
            ("CONSUL_HTTP_ADDR", setup.consul_address),
            ("CONSUL_HTTP_TOKEN", world.consul.management_token.as_str()),
            ("ECS_CLUSTER_ARNS", cluster.as_str()),
            ("SECRET_NAME_PREFIX", world.prefix),
            ("QUEUE_URL", world.deployed.queue_url.as_str()),
            ("TIME_BOUNDS", TIME_BOUNDS),
        ];
        let variables: Vec<(&str, &str)> = variables.into_iter().chain(settings.iter().copied()).collect();
        Self { process: Function::start(setup.binary, &runtime, &variables), runtime }
    }

    /// Waits for the function's answer; `Err` is the error that the function reports.
    pub async fn answered(&self) -> Result<Value, Value> {
        let answer = self.runtime.answers(1).await.remove(0);
        if answer.uri.ends_with("/response") { Ok(answer.json()) } else { Err(answer.json()) }
    }

    /// Waits until the function has answered this many events and requests the next one, and returns its resident memory in KiB.
    pub async fn resident_kib_after(&self, events: usize) -> u64 {
        self.runtime.answers(events).await;
        wait_for_requests(&self.runtime.0, events + 1, |seen| seen.uri.ends_with("/invocation/next")).await;
        pids::resident_kib(self.process.pid()).expect("the function runs")
    }

    pub fn kill(self) {
        drop(self);
    }
}
