//! Tasks that are reported, and left as they are, because it is not known, or not wanted, what Consul should hold for them.

use local_stack::world::mesh_tags;
use serde_json::{Value, json};
use test_harness::ecs_agent::{DataplaneService, DataplaneTask, MESH_INIT, Release, deregister};

use super::{swept_after, why_skipped, world};

const OFF: (&str, &str) = ("ecs-mesh-controller/repair", "off");

fn off() -> Value {
    json!([{ "key": OFF.0, "value": OFF.1 }])
}

/// Sweeps, and asserts that the task is left alone with a reason, and that nothing is registered.
async fn assert_left_alone(task: &DataplaneTask<'_>, reason: &str) {
    let world = task.world();
    let swept = world.swept().await;
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(0), &json!(0)), "{swept}");
    assert!(why_skipped(&swept, task).is_some_and(|why| why.contains(reason)), "{swept}");
    assert_eq!(world.service_ids().await, [""; 0]);
    // And a dry run says the same, and plans nothing
    let planned = world.sweep(&json!({ "dryRun": true })).await.expect("a dry run");
    let planned = &planned["clusters"][0];
    assert!(planned.get("planned").is_none() && why_skipped(planned, task).is_some(), "{planned}");
}

#[tokio::test]
async fn a_task_whose_mesh_init_has_failed_is_reported() {
    let world = world("failed-init").await;
    let task = DataplaneService::of(&world, Release::V0_10).run(&world).await;
    task.report_stopped(MESH_INIT, 1).await;
    task.report_all_healthy().await;
    assert_left_alone(&task, "consul-ecs-mesh-init has failed").await;
}

#[tokio::test]
async fn a_task_without_contact_is_reported() {
    let world = world("disconnected").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    task.lose_contact().await;
    // A status that contradicts what ECS last heard is left as it is, too
    let id = &task.check_ids()[0];
    task.write_status(id, "critical").await;
    let swept = world.swept().await;
    assert_eq!(swept["corrected"], 0, "{swept}");
    assert_eq!(task.statuses().await[id], "critical");
    deregister(&world, &json!({})).await;
    assert_left_alone(&task, "lost contact").await;
}

#[tokio::test]
async fn a_task_with_an_unknown_field_is_reported() {
    let world = world("unknown-field").await;
    let mut service = DataplaneService::of(&world, Release::V0_10);
    service.config["service"]["shape"] = json!("canary");
    let task = service.run(&world).await;
    task.settle().await;
    deregister(&world, &json!({})).await;
    assert_left_alone(&task, "service.shape").await;
    let swept = world.swept().await;
    assert!(!swept.to_string().contains("canary"), "{swept}");
}

#[tokio::test]
async fn a_task_in_bridge_mode_is_reported() {
    let world = world("bridged").await;
    let service = DataplaneService { network_mode: "bridge", ..DataplaneService::of(&world, Release::V0_10) };
    let task = service.run(&world).await;
    task.settle().await;
    deregister(&world, &json!({})).await;
    assert_left_alone(&task, "no IPv4 address").await;
}

#[tokio::test]
async fn a_tag_of_the_task_or_of_its_definition_opts_out() {
    let world = world("own-tag").await;
    let service = DataplaneService::of(&world, Release::V0_10);
    // Given a task with the tag, one whose definition has it, and one with another value of it
    let task = service.run_tagged(&world, &off()).await;
    let defined = service.clone().tagged(OFF.0, OFF.1).run(&world).await;
    let other = service.tagged(OFF.0, "on").run(&world).await;
    for task in [&task, &defined, &other] {
        task.settle().await;
    }
    let swept = swept_after(&world, async || deregister(&world, &json!({})).await).await;
    // Then only the third is repaired
    assert_eq!(swept["repaired"], 1, "{swept}");
    assert_eq!(world.service_ids().await, [other.instance(), other.sidecar()]);
    for task in [&task, &defined] {
        assert!(why_skipped(&swept, task).unwrap().contains(OFF.0), "{swept}");
    }
    // And when it registers itself, its statuses are its own
    task.register().await;
    world.swept().await;
    assert!(task.statuses().await.values().all(|status| status == "critical"), "as mesh-init writes them");
}

#[tokio::test]
async fn a_tag_of_the_ecs_service_opts_out() {
    let world = world("service-tag").await;
    let service = DataplaneService::of(&world, Release::V0_10);
    let mut other = DataplaneService::of(&world, Release::V0_10);
    other.name = format!("{}-api", world.name);
    other.config["service"]["name"] = json!(other.name);
    other.tags = mesh_tags(&other.name);
    let task = service.run_by_ecs_service(&world, &off()).await;
    let repaired = other.run_by_ecs_service(&world, &json!([])).await;
    task.settle().await;
    repaired.settle().await;
    let swept = swept_after(&world, async || deregister(&world, &json!({})).await).await;
    assert_eq!(swept["repaired"], 1, "{swept}");
    assert!(why_skipped(&swept, &task).unwrap().contains(OFF.0), "{swept}");
    assert_eq!(world.service_ids().await, [repaired.instance(), repaired.sidecar()]);
}

#[tokio::test]
async fn a_task_that_is_not_registered_yet_is_left_to_its_mesh_init() {
    let world = world("starting").await;
    let task = DataplaneService::of(&world, Release::V0_10).run(&world).await;
    let swept = world.swept().await;
    assert_eq!((&swept["repaired"], why_skipped(&swept, &task)), (&json!(0), None), "{swept}");
    // Also between its two writes
    world.consul.put("/v1/catalog/register", &task.registrations().await[0]).await;
    let swept = world.swept().await;
    assert_eq!((&swept["repaired"], why_skipped(&swept, &task)), (&json!(0), None), "{swept}");
    assert_eq!(world.service_ids().await, [task.instance()]);
}

#[tokio::test]
async fn the_client_generation_is_left_to_its_agents() {
    let world = world("clients").await;
    let agent = json!({ "name": "consul-client", "image": "hashicorp/consul:1.8", "essential": false });
    let definition = world.definition_with(&world.service(), &[agent]).await;
    let task = world.run(&definition).await;
    let exited = json!({
        "cluster": world.name, "task": task, "containerName": MESH_INIT, "status": "STOPPED", "exitCode": 0,
    });
    world.ecs_call("SubmitContainerStateChange", &exited).await;
    let swept = world.swept().await;
    assert_eq!((&swept["repaired"], swept.get("skipped")), (&json!(0), None), "{swept}");
    assert_eq!(world.service_ids().await, [""; 0]);
}
