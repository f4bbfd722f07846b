//! Deadlines, and messages that are too large.

use crate::{
    environment::Environment,
    time::{LONG, over_when},
};
use controller::{ControllerError, Deadline};
use local_stack::world::World;
use serde_json::json;
use test_harness::recorder::Answer;

#[tokio::test]
async fn a_deadline_hands_back_only_unfinished_messages() {
    let world = World::without_deployment("deadline").await;
    let mesh = world.mesh_definition(&world.service()).await;
    let plain = world.definition("deadline-plain", &json!([]), None).await;
    let (in_mesh, outside) = (world.run(&mesh).await, world.run(&plain).await);
    // Given a Consul that accepts connections and never answers
    let environment = Environment::scripted(&world, &[], |_, _| Answer::Hang).await;
    let events = [world.event(&in_mesh).await, world.event(&outside).await];
    // When the deadline passes during a request
    let deadline = Deadline::after(LONG);
    let is_stuck = || match (environment.consul.under_way(), environment.consul.has_unread()) {
        (1.., false) => Ok(()),
        seen => Err(format!("(requests to Consul, is one unread): {seen:?}")),
    };
    let work = environment.handle_until(deadline, &events);
    let (report, overrun) =
        over_when(work, "a request that Consul does not answer", is_stuck, || deadline.left()).await;
    // Then the function answers at once
    assert_eq!(overrun.as_secs(), 0, "it took {overrun:?} after the deadline");
    let failed: Vec<&str> = report.failures.iter().map(|failure| failure.id.as_str()).collect();
    assert_eq!(failed, ["0"]);
    assert!(matches!(*report.failures[0].error, ControllerError::OutOfTime), "{report:?}");
}

#[tokio::test]
async fn a_body_of_two_megabytes_fails_alone() {
    let world = World::without_deployment("too-large").await;
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.run(&definition).await;
    let mut large = world.event(&task).await;
    large["detail"]["padding"] = json!("x".repeat(2_000_000));
    let environment = Environment::start(&world, "auto").await;
    let report = environment.handle(&[large, world.event(&task).await]).await;
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].id, "0");
    assert!(report.failures[0].error.to_string().starts_with("body: got "), "{report:?}");
    world.provisioned(&world.secret_name(&world.service())).await;
}
