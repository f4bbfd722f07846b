//! The function's own binary, killed between two of its calls: what it leaves behind heals at the next event.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod recorder;
mod stack;
mod world;

use std::{
    process::{Child, Command},
    time::Duration,
};

use recorder::{Answer, Recorder, Seen};
use serde_json::Value;
use stack::{
    Stack,
    deploy::Deployed,
    scratch,
    wait::{SOON, eventually},
};
use world::World;

/// A process of the function, fed by a stand-in for Lambda's runtime interface.
struct Function {
    process: Child,
    runtime: Recorder,
}

impl Function {
    /// Starts the function and hands it one event.
    async fn invoke(world: &World<'_>, consul_address: &str, event: &Value) -> Self {
        let event = event.to_string();
        let deadline = (jiff::Timestamp::now() + Duration::from_secs(60)).as_millisecond().to_string();
        let runtime = Recorder::start(move |seen, _| match seen.uri.as_str() {
            "/2018-06-01/runtime/invocation/next" => {
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
            uri if uri.ends_with("/response") => Answer::status(202, "{}"),
            _ => Answer::Hang,
        })
        .await;
        let (_, log) = scratch::log("function");
        let process = Command::new(env!("CARGO_BIN_EXE_task-events"))
            .env_clear()
            .envs([
                ("AWS_LAMBDA_RUNTIME_API", runtime.url.trim_start_matches("http://")),
                ("AWS_LAMBDA_FUNCTION_NAME", "task-events"),
                ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
                ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ACCESS_KEY_ID", "test"),
                ("AWS_SECRET_ACCESS_KEY", "test"),
                ("AWS_ENDPOINT_URL", world.aws.endpoint.as_str()),
                ("CONSUL_HTTP_ADDR", consul_address),
                ("CONSUL_HTTP_TOKEN", world.consul.management_token.as_str()),
                ("ECS_CLUSTER_ARNS", world.cluster().as_str()),
                ("SECRET_NAME_PREFIX", world.prefix),
                ("QUEUE_URL", world.deployed.queue_url.as_str()),
            ])
            .stdout(log.try_clone().expect("a log file"))
            .stderr(log)
            .spawn()
            .expect("the binary runs");
        Self { process, runtime }
    }

    async fn answered(&self) {
        eventually("the function's answer", SOON, || async {
            let lines = self.runtime.lines();
            if lines.iter().any(|line| line.ends_with("/response")) { Ok(()) } else { Err(format!("{lines:?}")) }
        })
        .await;
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_crash_between_the_two_writes_heals_at_the_next_event() {
    let stack = Stack::shared().await;
    let deployed = Deployed::only_queue(format!("{}/unused", stack.aws.endpoint));
    let world = World::new(stack, &deployed, "crash", "crash");
    world.create_cluster().await;
    let definition = world.mesh_definition("crash-web").await;
    let task = world.run(&definition).await;
    let event = world.event(&task).await;

    // Given a function that is killed when it has written the secret, and is about to create the token
    let creates_token = |seen: &Seen| seen.line() == "PUT /v1/acl/token" && seen.body.contains("crash-web");
    let consul =
        Recorder::before(
            &stack.consul.address,
            move |seen, _| {
                if creates_token(seen) { Answer::Hang } else { Answer::Forward }
            },
        )
        .await;
    let function = Function::invoke(&world, &consul.url, &event).await;
    eventually("the creation of the token to begin", SOON, || async {
        if consul.seen().iter().any(creates_token) { Ok(()) } else { Err(format!("{:?}", consul.lines())) }
    })
    .await;
    drop(function);
    let written = world.pair("crash-crash-web").await.expect("the secret was written");
    assert_eq!(world.tokens_about("crash-web").await, Vec::<Value>::new(), "the token was not created");

    // When the next event comes
    let function = Function::invoke(&world, &stack.consul.address, &event).await;
    function.answered().await;
    // Then Consul has the very token that the secret held, and no other
    assert_eq!(world.provisioned("crash-crash-web").await, written);
    assert_eq!(world.tokens_about("crash-web").await.len(), 1);
}
