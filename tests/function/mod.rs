//! A process of one of the functions, fed by a stand-in for Lambda's runtime interface: for what has to be killed at a
//! chosen moment.

#![allow(dead_code, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::{
    process::{Child, Command},
    time::Duration,
};

use serde_json::Value;

use crate::{
    recorder::{Answer, Recorder},
    stack::{
        scratch,
        wait::{SOON, eventually},
    },
    world::World,
};

/// Which function, and where it finds the others.
pub(crate) struct Place<'a> {
    pub(crate) binary: &'a str,
    pub(crate) consul_address: &'a str,
    pub(crate) aws_endpoint: &'a str,
}

/// A process of the function.
pub(crate) struct Function {
    process: Child,
    runtime: Recorder,
}

impl Function {
    /// Starts the function and hands it one event.
    pub(crate) async fn invoke(world: &World<'_>, place: &Place<'_>, event: &Value) -> Self {
        Self::invoke_with(world, place, &[], event).await
    }

    /// The same with further settings.
    pub(crate) async fn invoke_with(
        world: &World<'_>,
        place: &Place<'_>,
        settings: &[(&str, &str)],
        event: &Value,
    ) -> Self {
        let event = event.to_string();
        let deadline = (jiff::Timestamp::now() + Duration::from_secs(60)).as_millisecond().to_string();
        let runtime = Recorder::start(move |seen, before| match seen.uri.as_str() {
            // The second one waits for an event that never comes.
            "/2018-06-01/runtime/invocation/next" if before == 0 => {
                let headers = vec![
                    ("lambda-runtime-aws-request-id", "00000000-0000-4000-8000-000000000001".to_owned()),
                    ("lambda-runtime-deadline-ms", deadline.clone()),
                    (
                        "lambda-runtime-invoked-function-arn",
                        "arn:aws:lambda:us-east-1:000000000000:function:f".to_owned(),
                    ),
                ];
                Answer::Reply(200, headers, event.clone())
            }
            uri if uri.ends_with("/response") || uri.ends_with("/error") => Answer::status(202, "{}"),
            _ => Answer::Hang,
        })
        .await;
        let (_, log) = scratch::log("function");
        let process = Command::new(place.binary)
            .env_clear()
            .envs([
                ("AWS_LAMBDA_RUNTIME_API", runtime.url.trim_start_matches("http://")),
                ("AWS_LAMBDA_FUNCTION_NAME", "function"),
                ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
                ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ACCESS_KEY_ID", "test"),
                ("AWS_SECRET_ACCESS_KEY", "test"),
                ("AWS_ENDPOINT_URL", place.aws_endpoint),
                ("CONSUL_HTTP_ADDR", place.consul_address),
                ("CONSUL_HTTP_TOKEN", world.consul.management_token.as_str()),
                ("ECS_CLUSTER_ARNS", world.cluster().as_str()),
                ("SECRET_NAME_PREFIX", world.prefix),
                ("QUEUE_URL", world.deployed.queue_url.as_str()),
            ])
            .envs(settings.iter().copied())
            .stdout(log.try_clone().expect("a log file"))
            .stderr(log)
            .spawn()
            .expect("the binary runs");
        Self { process, runtime }
    }

    /// Waits for the function's answer; an `Err` is the error that it reports.
    pub(crate) async fn answered(&self) -> Result<Value, Value> {
        eventually("the function's answer", SOON, || async {
            self.answer().ok_or_else(|| format!("{:?}", self.runtime.lines()))
        })
        .await
    }

    /// The function's answer, if it has given one.
    pub(crate) fn answer(&self) -> Option<Result<Value, Value>> {
        let all = self.runtime.seen();
        let answer = all.iter().find(|seen| seen.uri.ends_with("/response") || seen.uri.ends_with("/error"))?;
        Some(if answer.uri.ends_with("/response") { Ok(answer.json()) } else { Err(answer.json()) })
    }

    /// Waits until it has answered, or has been killed: `None`.
    pub(crate) async fn ended(&mut self) -> Option<Result<Value, Value>> {
        let start = std::time::Instant::now();
        loop {
            if let Some(answer) = self.answer() {
                return Some(answer);
            }
            if self.process.try_wait().expect("the process can be waited for").is_some() {
                return None;
            }
            assert!(start.elapsed() < SOON, "neither answered nor killed: {:?}", self.runtime.lines());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// `kill -9`.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
