//! The event path: tokens, drain and removal are the same for every launch type and network mode, because they depend on the
//! task's ID and definition only.

use local_stack::world::{World, task_id};
use serde_json::Value;
use test_harness::jwt::JwtAuthMethod;

use crate::{
    environment::Environment,
    launch_types::{SAMPLES, Sample},
};

/// The event with everything that the sample says about the task, except which task it is and in which state.
fn as_in(sample: &Sample, event: &Value) -> Value {
    let mut detail = sample.detail();
    for field in ["taskArn", "clusterArn", "taskDefinitionArn", "lastStatus", "desiredStatus", "version"] {
        detail[field] = event["detail"][field].clone();
    }
    let mut event = event.clone();
    event["detail"] = detail;
    event
}

async fn handle(environment: &Environment, sample: &Sample, event: &Value) {
    let report = environment.handle(&[as_in(sample, event)]).await;
    assert!(report.failures.is_empty(), "{}: {report:?}", sample.file);
}

#[tokio::test]
async fn every_launch_type_gets_the_tokens_that_it_reads() {
    let world = World::without_deployment("launch-reads").await;
    let environment = Environment::start(&world, "auto").await;
    for sample in &SAMPLES {
        // Given a task of the client generation
        let service = format!("reads-{}", sample.name());
        let task = world.run(&world.mesh_definition(&service).await).await;
        // When ECS reports it as running
        handle(&environment, sample, &world.event(&task).await).await;
        // Then its secret has a valid token
        let pair = world.pair(&world.secret_name(&service)).await.unwrap_or_else(|| panic!("{}", sample.file));
        assert!(world.is_valid(&pair.token).await, "{}", sample.file);
    }
}

#[tokio::test]
async fn every_launch_type_is_drained_and_removed() {
    let world = World::without_deployment("launch-logs-in").await;
    let environment = Environment::start(&world, "auto").await;
    let method = JwtAuthMethod::create(world.consul, "launch-logs-in").await;
    for sample in &SAMPLES {
        // Given a task of the dataplane generation that has logged in and registered its service
        let service = format!("logs-in-{}", sample.name());
        let task = world.run(&world.dataplane_definition(&service).await).await;
        let login = method.log_in_task(&service, &world.cluster(), task_id(&task)).await;
        world.register_instance(&service, &task).await;
        let running = world.event(&task).await;
        handle(&environment, sample, &running).await;
        assert_eq!(world.passing(&service).await.len(), 1, "{}", sample.file);
        assert!(world.is_valid(&login.secret_id).await, "{}", sample.file);
        // When it is told to stop, then it gets no traffic
        let version = running["detail"]["version"].as_u64().unwrap();
        let told_to_stop = world.event_as(&task, "RUNNING", "STOPPED", version + 1).await;
        handle(&environment, sample, &told_to_stop).await;
        assert_eq!(world.passing(&service).await, [""; 0], "{}", sample.file);
        // When it has stopped, then nothing of it is left
        world.stop(&task).await;
        handle(&environment, sample, &world.event(&task).await).await;
        assert_eq!(world.service_ids().await, [""; 0], "{}", sample.file);
        assert!(!world.is_valid(&login.secret_id).await, "{}", sample.file);
    }
}
