//! The function's own binary, killed between two of its calls: what it leaves behind heals at the next event.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod recorder;
mod stack;
mod world;

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use recorder::{Answer, Recorder};
use serde_json::Value;
use stack::{
    Stack,
    deploy::Deployed,
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
    async fn invoke(world: &World<'_>, aws_endpoint: &str, event: &Value) -> Self {
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
                ("AWS_ENDPOINT_URL", aws_endpoint),
                ("CONSUL_HTTP_ADDR", world.consul.address.as_str()),
                ("CONSUL_HTTP_TOKEN", world.consul.management_token.as_str()),
                ("ECS_CLUSTER_ARNS", world.cluster().as_str()),
                ("SECRET_NAME_PREFIX", world.prefix),
                ("QUEUE_URL", world.deployed.queue_url.as_str()),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
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

    // Given a function that is killed when it has created the token, and is about to write the secret
    let aws = Recorder::before(&stack.aws.endpoint, |seen, _| {
        let writes_secret =
            seen.operation().as_deref() == Some("CreateSecret") && seen.body.contains("crash-crash-web");
        if writes_secret { Answer::Hang } else { Answer::Forward }
    })
    .await;
    let function = Function::invoke(&world, &aws.url, &event).await;
    eventually("the write of the secret to begin", SOON, || async {
        let seen = aws.seen();
        let begun =
            seen.iter().any(|s| s.operation().as_deref() == Some("CreateSecret") && s.body.contains("crash-crash-web"));
        if begun { Ok(()) } else { Err(format!("{:?}", aws.operations())) }
    })
    .await;
    drop(function);
    let orphans = world.tokens_about("crash-web").await;
    assert_eq!(orphans.len(), 1, "the token was created");
    assert_eq!(world.secret_text("crash-crash-web").await, None, "the secret was not written");

    // When the next event comes
    let function = Function::invoke(&world, &stack.aws.endpoint, &event).await;
    function.answered().await;
    // Then the secret holds that very token, and it is the only one
    let pair = world.provisioned("crash-crash-web").await;
    assert_eq!(orphans[0]["AccessorID"], pair.accessor_id);
    assert_eq!(world.tokens_about("crash-web").await.len(), 1);
}
