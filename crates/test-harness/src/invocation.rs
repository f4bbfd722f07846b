//! One invocation of a function's own binary, in a deployed world: for what has to be killed at a chosen moment.

use serde_json::Value;

use crate::function::{Function, Runtime};
use local_stack::{
    wait::{SOON, eventually},
    world::World,
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
        let runtime = Runtime::start(vec![event.clone()]).await;
        let cluster = world.cluster();
        let variables = [
            ("AWS_ENDPOINT_URL", place.aws_endpoint),
            ("CONSUL_HTTP_ADDR", place.consul_address),
            ("CONSUL_HTTP_TOKEN", world.consul.management_token.as_str()),
            ("ECS_CLUSTER_ARNS", cluster.as_str()),
            ("SECRET_NAME_PREFIX", world.prefix),
            ("QUEUE_URL", world.deployed.queue_url.as_str()),
        ];
        let variables: Vec<(&str, &str)> = variables.into_iter().chain(settings.iter().copied()).collect();
        Self { process: Function::start(place.binary, &runtime, &variables), runtime }
    }

    /// Waits for the function's answer; an `Err` is the error that it reports.
    pub async fn answered(&self) -> Result<Value, Value> {
        eventually("the function's answer", SOON, || async {
            self.answer().ok_or_else(|| format!("{:?}", self.runtime.0.lines()))
        })
        .await
    }

    /// The function's answer, if it has given one.
    pub fn answer(&self) -> Option<Result<Value, Value>> {
        let all = self.runtime.0.seen();
        let answer = all.iter().find(|seen| seen.uri.ends_with("/response") || seen.uri.ends_with("/error"))?;
        Some(if answer.uri.ends_with("/response") { Ok(answer.json()) } else { Err(answer.json()) })
    }

    /// Waits until it has answered, or has been killed: `None`.
    pub async fn ended(&mut self) -> Option<Result<Value, Value>> {
        let start = std::time::Instant::now();
        loop {
            if let Some(answer) = self.answer() {
                return Some(answer);
            }
            if self.process.has_ended() {
                return None;
            }
            assert!(start.elapsed() < SOON, "neither answered nor killed: {:?}", self.runtime.0.lines());
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// `kill -9`.
    pub fn kill(self) {
        drop(self);
    }
}
