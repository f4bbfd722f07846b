//! A task whose `consul-dataplane` has stopped gets no traffic any more, although its health-sync may say that it is healthy.

use local_stack::wait::{SOON, eventually};
use serde_json::{Value, json};
use test_harness::ecs_agent::{DATAPLANE, DataplaneTask, HealthSync, Release, SYNCED, deregister};

use super::{swept_after, world};

/// The maintenance checks of a task: the instance that each drains, and its output.
async fn drained(task: &DataplaneTask<'_>) -> Vec<(String, String)> {
    let mut checks = task.world().checks_of(&task.arn).await;
    checks.retain(|check| check["CheckID"].as_str().unwrap().starts_with("_service_maintenance:"));
    assert!(checks.iter().all(|check| check["Status"] == "critical"), "{checks:?}");
    let text = |check: &Value, field: &str| check[field].as_str().unwrap().to_owned();
    let mut drained: Vec<_> = checks.iter().map(|it| (text(it, "ServiceID"), text(it, "Output"))).collect();
    drained.sort();
    drained
}

fn both(task: &DataplaneTask<'_>) -> Vec<(String, String)> {
    let output = "the container consul-dataplane has stopped in the running task";
    [task.instance(), task.sidecar()].map(|id| (id, output.to_owned())).into()
}

/// Asserts that the task stays drained, whatever its health-sync writes and however often sweeps run.
async fn assert_drained_for_good(task: &DataplaneTask<'_>, health_sync: &mut HealthSync<'_>) {
    let world = task.world();
    for health in ["UNHEALTHY", "HEALTHY"] {
        task.report_health(SYNCED[0], health).await;
        health_sync.tick().await;
        world.swept().await;
        health_sync.tick().await;
        assert_eq!(drained(task).await, both(task));
        assert!(!world.passing(&world.service()).await.contains(&task.instance()));
    }
}

#[tokio::test]
async fn the_event_of_a_dead_proxy_drains_its_task() {
    let world = world("proxy-event").await;
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_9).await;
    let (other, _its_health_sync) = DataplaneTask::start(&world, Release::V0_9).await;
    // When another container has stopped, its event drains nothing
    task.report_stopped(SYNCED[1], 1).await;
    world.deliver(&[world.event(&task.arn).await]).await;
    world.events_handled().await;
    assert_eq!(drained(&task).await, []);
    // When the proxy has stopped, its event does
    task.report_stopped(DATAPLANE, 137).await;
    world.deliver(&[world.event(&task.arn).await]).await;
    eventually("the task to be drained", SOON, || async {
        let drained = drained(&task).await;
        if drained == both(&task) { Ok(()) } else { Err(format!("{drained:?}")) }
    })
    .await;
    // And the other task keeps its traffic
    assert_eq!(world.passing(&world.service()).await, [other.instance()]);
    assert_drained_for_good(&task, &mut health_sync).await;
    assert_eq!(drained(&other).await, []);
}

#[tokio::test]
async fn a_sweep_drains_the_task_if_the_event_was_lost() {
    let world = world("proxy-sweep").await;
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    task.report_stopped(DATAPLANE, 137).await;
    world.swept().await;
    assert_eq!(drained(&task).await, both(&task));
    assert_drained_for_good(&task, &mut health_sync).await;
    // And if Consul forgets the task, it comes back without traffic, and drained
    let swept = swept_after(&world, async || deregister(&world, &json!({})).await).await;
    assert_eq!(swept["repaired"], 1, "{swept}");
    assert_eq!(world.passing(&world.service()).await, [""; 0]);
    world.swept().await;
    assert_drained_for_good(&task, &mut health_sync).await;
}

#[tokio::test]
async fn a_task_that_is_told_to_stop_is_not_repaired() {
    let world = world("told-to-end").await;
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    // Given a task that stops: ECS tells it, its health-sync writes that, its proxy ends
    task.tell_to_stop().await;
    health_sync.tell_to_stop().await;
    let swept = world.swept().await;
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(0), &json!(0)), "{swept}");
    task.report_stopped(DATAPLANE, 0).await;
    assert_eq!(health_sync.tick().await, (2, 0));
    // Then nothing brings back what health-sync has deregistered
    let swept = world.swept().await;
    assert_eq!(swept["repaired"], 0, "{swept}");
    assert_eq!(world.service_ids().await, [""; 0]);
    world.stop_task(&task.arn).await;
    world.events_handled().await;
    world.swept().await;
    assert_eq!(world.service_ids().await, [""; 0]);
}
