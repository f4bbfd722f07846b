//! The function's binary, killed between two of its calls: the next event completes the work.

use local_stack::{
    Stack,
    functions::binary,
    wait::{SOON, eventually},
    world::World,
};
use serde_json::json;
use test_harness::{
    invocation::{FunctionSetup, Invocation},
    recorder::{Answer, RecordedRequest, Recorder},
};

#[tokio::test]
async fn the_next_event_repairs_a_crash() {
    let stack = Stack::shared().await;
    let world = World::without_deployment("crash").await;
    let definition = world.mesh_definition("crash-web").await;
    let task = world.run(&definition).await;
    let event = world.event(&task).await;

    // Given a function that is killed after it has created the token, and before it writes the secret
    let shows_token =
        |seen: &RecordedRequest| seen.operation().as_deref() == Some("CreateSecret") && seen.body.contains("crash-web");
    let aws = Recorder::before(
        &stack.aws.endpoint,
        move |seen, _| {
            if shows_token(seen) { Answer::Hang } else { Answer::Forward }
        },
    )
    .await;
    let consul_address = stack.consul.address.as_str();
    let binaries = ["TaskEventsFunction", "ReconcileFunction"].map(binary);
    let task_events = |aws_endpoint| FunctionSetup { binary: &binaries[0], consul_address, aws_endpoint };
    let function = Invocation::start(&world, &task_events(&aws.url), &event).await;
    eventually("the write of the secret", SOON, || async {
        if aws.requests().iter().any(shows_token) { Ok(()) } else { Err(format!("{:?}", aws.operations())) }
    })
    .await;
    function.kill();
    assert_eq!(world.secret_text("crash-crash-web").await, None, "no task can read it");
    assert_eq!(world.tokens_about("crash-web").await.len(), 1);

    // When the next event is handled
    let function = Invocation::start(&world, &task_events(&stack.aws.endpoint), &event).await;
    function.answered().await.expect("the event is done");
    // Then the task has a token, and sweeps delete both when the service is idle
    world.provisioned("crash-crash-web").await;
    world.stop(&task).await;
    let reconcile = FunctionSetup { binary: &binaries[1], consul_address, aws_endpoint: &stack.aws.endpoint };
    let settings = [("REVOCATION_GRACE_SECONDS", "0"), ("BOOTSTRAP", "none")];
    eventually("no token of the service to be left", SOON, || async {
        let sweep = Invocation::start_with(&world, &reconcile, &settings, &json!({ "force": true })).await;
        sweep.answered().await.expect("the sweep is done");
        let left = world.tokens_about("crash-web").await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:#?}")) }
    })
    .await;
}
