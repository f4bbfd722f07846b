//! The function's own binary, killed between two of its calls: what it leaves behind heals at the next event.

use local_stack::{
    Stack,
    deploy::Deployed,
    wait::{SOON, eventually},
    world::World,
};
use serde_json::Value;
use test_harness::{
    invocation::{Invocation, Place},
    recorder::{Answer, Recorder, Seen},
};

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
    let at = |consul_address| Place {
        binary: env!("CARGO_BIN_EXE_task-events"),
        consul_address,
        aws_endpoint: &stack.aws.endpoint,
    };
    let function = Invocation::start(&world, &at(&consul.url), &event).await;
    eventually("the creation of the token to begin", SOON, || async {
        if consul.seen().iter().any(creates_token) { Ok(()) } else { Err(format!("{:?}", consul.lines())) }
    })
    .await;
    function.kill();
    let written = world.pair("crash-crash-web").await.expect("the secret was written");
    assert_eq!(world.tokens_about("crash-web").await, Vec::<Value>::new(), "the token was not created");

    // When the next event comes
    let function = Invocation::start(&world, &at(&stack.consul.address), &event).await;
    function.answered().await.expect("the event is done");
    // Then Consul has the very token that the secret held, and no other
    assert_eq!(world.provisioned("crash-crash-web").await, written);
    assert_eq!(world.tokens_about("crash-web").await.len(), 1);
}
