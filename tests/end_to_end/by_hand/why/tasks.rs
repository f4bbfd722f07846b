//! Tasks with a fault.

use local_stack::wait::{SOON, eventually};
use serde_json::{Value, json};
use test_harness::ecs_agent::{DATAPLANE, DataplaneService, DataplaneTask, MESH_INIT, Release, SYNCED};

use super::{eventually_says, last_line, why, world};

#[tokio::test]
async fn a_task_that_never_became_healthy_names_its_container() {
    let world = world("why-unhealthy").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.mesh_init().await;
    task.report_health(DATAPLANE, "HEALTHY").await;
    task.report_health(SYNCED[0], "UNHEALTHY").await;
    let (line, code) = last_line(&world, task.id()).await;
    let expected = "It gets no traffic, because ECS reports its container app as UNHEALTHY: read the log of app, and check the command of \
                    its health check";
    assert!(line.starts_with(expected), "{line}");
    assert_eq!(code, Some(1));
    let (line, code) = last_line(&world, &world.service()).await;
    let expected = format!("Its only task, {}, has a fault: {expected}", task.id());
    assert!(line.starts_with(&expected), "{line}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_task_whose_mesh_init_failed_was_never_registered() {
    let world = world("why-mesh-init").await;
    let task = DataplaneService::of(&world, Release::V0_9).run(&world).await;
    task.report_stopped(MESH_INIT, 1).await;
    let (line, code) = last_line(&world, task.id()).await;
    let expected = "It was never registered in Consul, because its container consul-ecs-mesh-init exited with 1";
    assert!(line.starts_with(expected), "{line}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_task_that_ecs_has_forgotten_is_told_from_the_log() {
    let world = world("why-forgotten").await;
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
    world.stop(&task.arn).await;
    // Given the end of a task that ECS does not know
    let forgotten = "f0".repeat(16);
    let mut event = world.event(&task.arn).await;
    event["detail"]["stopCode"] = json!("EssentialContainerExited");
    event["detail"]["stoppedReason"] = json!("Essential container in task exited");
    event["detail"]["containers"] = json!([
        { "name": MESH_INIT, "exitCode": 0 },
        { "name": "app", "exitCode": 137, "reason": "OutOfMemoryError: Container killed due to memory usage" },
    ]);
    world.deliver_raw(&[event.to_string().replace(task.id(), &forgotten)]).await;
    world.settled().await;
    // When somebody asks later
    eventually_says(&world, &forgotten, "Its container app was killed, because it used more memory than it may").await;
    let said = why(&world, &forgotten, &["--output", "json"]).await;
    let document = said.json();
    assert_eq!((said.code, &document["cause"]), (Some(1), &json!("out-of-memory")), "{document:#}");
    assert_eq!(document["subject"]["cluster"], world.cluster());
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/why.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    // And a task that nobody knows is not one that ended
    let said = why(&world, &"0e".repeat(16), &[]).await;
    assert_eq!(said.code, Some(2));
    let searched = "(searched: cluster why-forgotten; the log of the stack why since ";
    assert!(said.out.lines().last().unwrap().contains(searched), "{}", said.out);
}

#[tokio::test]
async fn a_dead_proxy_is_named_with_when_the_controller_drained_the_task() {
    let world = world("why-proxy").await;
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
    task.report_stopped(DATAPLANE, 139).await;
    world.deliver(&[world.event(&task.arn).await]).await;
    world.events_handled().await;
    eventually_says(&world, task.id(), "; the controller drained it at ").await;
    let (line, code) = last_line(&world, task.id()).await;
    let expected = "Its container consul-dataplane exited with 139 while the task goes on, so that nothing reaches it through the mesh";
    assert!(line.starts_with(expected), "{line}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_task_that_consul_has_lost_says_what_brings_it_back() {
    let world = world("why-lost").await;
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
    task.forget().await;
    let (line, code) = last_line(&world, task.id()).await;
    let expected = "Consul has lost it: it was registered, and is not any more; nobody is known to have deregistered it: with Repair=on, the next sweep \
                    registers it again. To sweep now: ecs-mesh sweep --cluster why-lost";
    assert_eq!((line.as_str(), code), (expected, Some(1)));
    // When a sweep has done so, the timeline tells it
    world.swept().await;
    eventually("the repair in the timeline", SOON, || async {
        let said = why(&world, task.id(), &[]).await;
        if said.out.contains("controller  registered it again, because ") { Ok(()) } else { Err(said.out) }
    })
    .await;
}
