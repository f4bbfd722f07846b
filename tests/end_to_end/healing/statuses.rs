//! Statuses that contradict ECS for longer than a health-sync needs are corrected.

use serde_json::json;
use test_harness::ecs_agent::{
    DATAPLANE, DataplaneService, DataplaneTask, HEALTH_SYNC, Release, SYNCED, catalog, deregister, node_checks, writes,
};

use super::{assert_settled, log_lines, one_of_each_release, swept_after, world};

#[tokio::test]
async fn statuses_of_a_restored_snapshot_are_corrected() {
    let world = world("snapshot").await;
    // Given what Consul held when one container of each task was unhealthy
    let mut tasks = one_of_each_release(&world).await;
    for (task, health_sync) in &mut tasks {
        task.report_health(SYNCED[1], "UNHEALTHY").await;
        health_sync.tick().await;
    }
    let snapshot = node_checks(&world).await;
    // And health-syncs that have written since that all are healthy
    for (task, health_sync) in &mut tasks {
        task.report_all_healthy().await;
        health_sync.tick().await;
        assert_eq!(task.statuses().await, task.all_checks("passing"));
    }
    let healthy = catalog(&world).await;
    // When the old statuses are restored
    let swept = swept_after(&world, async || {
        for check in snapshot.iter().filter(|check| check["Status"] == "critical") {
            let of = |task: &DataplaneTask<'_>| check["ServiceID"].as_str().unwrap().contains(task.id());
            let (task, _) = tasks.iter().find(|(task, _)| of(task)).unwrap();
            task.write_status(check["CheckID"].as_str().unwrap(), "critical").await;
        }
        assert_ne!(catalog(&world).await, healthy);
    })
    .await;
    // Then they are corrected: one check of 0.8, three of each later release
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(0), &json!(7)), "{swept}");
    assert_eq!(catalog(&world).await, healthy);
    for (task, _) in &tasks {
        let line = &log_lines(task, "correct_health").await[0];
        assert_eq!(line["outcome"], "done", "{line}");
        assert!(line["in_ecs"].as_str().unwrap().contains("worker HEALTHY"), "{line}");
        assert!(line["in_consul"].as_str().unwrap().contains("-worker critical"), "{line}");
    }
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_status_that_hides_a_failure_is_corrected() {
    let world = world("settled-in").await;
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let (other, _its_health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    // Given a container that fails, as health-sync has written
    task.report_health(SYNCED[0], "UNHEALTHY").await;
    health_sync.tick().await;
    assert_eq!(world.passing(&world.service()).await, [other.instance()]);
    // When the status from before comes back, so that the instance gets traffic again
    for id in task.check_ids() {
        task.write_status(&id, "passing").await;
    }
    assert_eq!(world.passing(&world.service()).await.len(), 2);
    assert_eq!(health_sync.tick().await, (0, 0), "it has written the failure before");
    world.swept().await;
    // Then it gets none
    assert_eq!(world.passing(&world.service()).await, [other.instance()]);
    assert_settled(&world).await;
}

#[tokio::test]
async fn health_of_a_task_without_a_health_sync_is_corrected_by_each_sweep() {
    let world = world("no-reporter").await;
    let (_other, _its_health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let (task, _ended) = DataplaneTask::start(&world, Release::V0_10).await;
    task.report_stopped(HEALTH_SYNC, 1).await;
    for (health, status) in [("UNHEALTHY", "critical"), ("HEALTHY", "passing")] {
        for container in SYNCED.into_iter().chain([DATAPLANE]) {
            task.report_health(container, health).await;
        }
        world.swept().await;
        assert_eq!(task.statuses().await, task.all_checks(status));
    }
}

#[tokio::test]
async fn two_sweeps_at_once_repair_once_and_correctly() {
    let world = world("two-sweeps").await;
    let tasks = one_of_each_release(&world).await;
    let before = catalog(&world).await;
    // Given a task that is forgotten, one with a missing check and one with a wrong status
    let [gone, partly, wrong] = [&tasks[0].0, &tasks[1].0, &tasks[2].0];
    gone.forget().await;
    deregister(&world, &json!({ "CheckID": partly.check_ids()[0] })).await;
    wrong.write_status(&wrong.check_ids()[0], "critical").await;
    // When two sweeps run at once
    let order = json!({ "clusters": [world.cluster()] });
    let sweep = || world.aws.invoke(&world.deployed.reconcile, &order);
    let (one, two) = tokio::join!(sweep(), sweep());
    // Then one that a busy machine has left incomplete has no other error, and everything is as it was
    for error in [one, two].into_iter().filter_map(Result::err) {
        assert_eq!(error["errorType"], "incomplete", "{error}");
    }
    world.swept().await;
    assert_eq!(catalog(&world).await, before);
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_task_that_was_just_repaired_follows_its_health_sync() {
    let world = world("just-changed").await;
    let service = DataplaneService::of(&world, Release::V0_10);
    let task = service.run(&world).await;
    // Given a task that Consul forgets before its health-sync has written anything
    task.mesh_init().await;
    task.report_all_healthy().await;
    deregister(&world, &json!({})).await;
    world.swept().await;
    assert_eq!(task.statuses().await, task.all_checks("passing"));
    // When health-sync starts, it writes the same
    let mut health_sync = task.health_sync().await;
    let before = catalog(&world).await;
    assert_eq!(health_sync.tick().await, (1, 0));
    assert_eq!(catalog(&world).await, before);
    // And a restart, which only the health shows, is written by health-sync, and by no sweep
    task.report_restarted(SYNCED[0]).await;
    health_sync.tick().await;
    let written = writes(&world).await;
    assert_settled(&world).await;
    assert_eq!(writes(&world).await, written);
    assert_eq!(task.statuses().await[&format!("{}-app", task.instance())], "critical");
}
