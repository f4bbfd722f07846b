//! Deadlines, messages that are too large, and messages that cause a panic.

use std::sync::Arc;

use crate::{
    environment::Environment,
    time::{LONG, over_when},
};
use controller::{ControllerError, Edges, Entropy, SystemEntropy};
use local_stack::world::World;
use observe::{CallError, Deadline};
use report::ErrorLabel;
use secrecy::SecretString;
use serde_json::json;
use test_harness::recorder::{Answer, Recorder};
use uuid::Uuid;

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
    assert!(matches!(*report.failures[0].error, ControllerError::Call(CallError::OutOfTime(_))), "{report:?}");
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

/// Entropy that panics when it is asked for the secret ID of a token.
struct Defect;

impl Entropy for Defect {
    fn secret(&self) -> SecretString {
        panic!("a planted defect")
    }

    fn uuid(&self) -> Uuid {
        SystemEntropy.uuid()
    }

    fn below(&self, limit: usize) -> usize {
        SystemEntropy.below(limit)
    }
}

#[tokio::test]
async fn a_message_that_causes_a_panic_fails_alone() {
    let manifest = include_str!("../../Cargo.toml");
    assert!(!manifest.contains("panic = \"abort\""), "what ships unwinds, as this test does");
    let world = World::without_deployment("panic").await;
    // Given a batch of five stopped tasks, and in their midst the start of a task that needs a new token
    let stopping = world.mesh_definition(&world.service()).await;
    let mut events = Vec::new();
    for _ in 0..5 {
        let task = world.run(&stopping).await;
        world.register_instance(&world.service(), &task).await;
        world.stop(&task).await;
        events.push(world.event(&task).await);
    }
    let starting = world.run(&world.mesh_definition("panic-new").await).await;
    events.insert(2, world.event(&starting).await);
    // When the creation of the token panics
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let defect = |edges| Edges { entropy: Arc::new(Defect), ..edges };
    let report = Environment::with(&world, consul, &[], defect).await.handle(&events).await;
    // Then the services of the stopped tasks are gone, and only the start returns to the queue
    let failed: Vec<_> = report.failures.iter().map(|failure| (failure.id.as_str(), failure.error.label())).collect();
    assert_eq!(failed, [("2", ErrorLabel::Panicked)]);
    assert_eq!(world.service_ids().await, [""; 0]);
}
