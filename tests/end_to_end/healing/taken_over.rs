//! A task whose `health-sync` has stopped, while another one's runs: the controller writes the statuses of its checks from then on,
//! by messages that it sends to itself.
//!
//! SQS delays them by a minute or more. The tests deliver copies of them when they want, so that no verdict depends on time.

use std::collections::BTreeMap;

use local_stack::{
    wait::{SOON, eventually},
    world::World,
};
use test_harness::ecs_agent::{DataplaneTask, HEALTH_SYNC, HealthSync, Release, SYNCED, writes};

use super::{one_of_each_release, statuses_with_failing_app, world};

/// A message by which the health of a task is synced later, once it waits in the queue.
async fn order_about(task: &DataplaneTask<'_>) -> String {
    let world = task.world();
    eventually("a message about the task", SOON, || async {
        let waiting = world.waiting(&world.deployed.queue_url).await;
        let mut bodies = waiting.iter().filter_map(|message| message["Body"].as_str());
        let order = bodies.find(|body| body.contains("Health Sync Takeover") && body.contains(task.id()));
        order.map(str::to_owned).ok_or("there is none")
    })
    .await
}

/// Delivers a message about each task, and waits until their checks have these statuses.
async fn assert_written(tasks: &[(&DataplaneTask<'_>, BTreeMap<String, String>)]) {
    for (task, expected) in tasks {
        task.world().deliver_raw(&[order_about(task).await]).await;
        eventually("the health in Consul", SOON, || async {
            let statuses = task.statuses().await;
            if statuses == *expected { Ok(()) } else { Err(format!("{statuses:?}")) }
        })
        .await;
    }
}

/// What Consul holds of a task: the number of the last write of each part.
async fn writes_of(task: &DataplaneTask<'_>) -> BTreeMap<String, u64> {
    let mut writes = writes(task.world()).await;
    writes.retain(|id, _| id.contains(task.id()));
    writes
}

/// A task of each release whose `health-sync` has stopped.
async fn orphans<'a>(world: &'a World<'a>) -> Vec<(DataplaneTask<'a>, Release)> {
    let mut orphans = Vec::new();
    for ((task, _ended), release) in one_of_each_release(world).await.into_iter().zip(Release::ALL) {
        task.report_stopped(HEALTH_SYNC, 1).await;
        orphans.push((task, release));
    }
    orphans
}

/// Asserts that the health of these tasks reaches Consul whenever it changes, and only theirs.
async fn assert_followed(orphans: &[(DataplaneTask<'_>, Release)], other: (DataplaneTask<'_>, HealthSync<'_>)) {
    let (other, mut its_health_sync) = other;
    let before = writes_of(&other).await;
    // When a container of each task fails
    for task in orphans.iter().map(|(task, _)| task).chain([&other]) {
        task.report_health(SYNCED[0], "UNHEALTHY").await;
    }
    let failing: Vec<_> =
        orphans.iter().map(|(task, release)| (task, statuses_with_failing_app(task, *release))).collect();
    assert_written(&failing).await;
    // And when it recovers
    for (task, _) in orphans {
        task.report_all_healthy().await;
    }
    assert_written(&orphans.iter().map(|(task, _)| (task, task.all_checks("passing"))).collect::<Vec<_>>()).await;
    // Then the other task was left to its own health-sync
    assert_eq!(writes_of(&other).await, before);
    assert_eq!(its_health_sync.tick().await, (1, 0));
    assert_eq!(other.statuses().await, statuses_with_failing_app(&other, Release::V0_10));
}

#[tokio::test]
async fn health_of_a_task_without_a_health_sync_follows_ecs_after_its_event() {
    let world = world("taken-by-event").await;
    let other = DataplaneTask::start(&world, Release::V0_10).await;
    let orphans = orphans(&world).await;
    // Given that the events of the stops are handled: what follows them is in the queue
    for (task, _) in &orphans {
        world.deliver(&[world.event(&task.arn).await]).await;
        order_about(task).await;
        assert_eq!(task.statuses().await, task.all_checks("passing"));
    }
    assert_followed(&orphans, other).await;
}

#[tokio::test]
async fn health_of_a_task_without_a_health_sync_follows_ecs_after_a_sweep() {
    let world = world("taken-by-sweep").await;
    let other = DataplaneTask::start(&world, Release::V0_10).await;
    let orphans = orphans(&world).await;
    // Given that the events of the stops were lost, and that a container has failed meanwhile
    for (task, _) in &orphans {
        task.report_health(SYNCED[1], "UNHEALTHY").await;
    }
    // When a sweep runs, then it writes that
    world.swept().await;
    for (task, release) in &orphans {
        let statuses = task.statuses().await;
        assert_eq!(statuses[&format!("{}-{}", task.instance(), SYNCED[1])], "critical", "{release:?}: {statuses:?}");
    }
    // And what changes after it is written, too
    for (task, _) in &orphans {
        task.report_all_healthy().await;
    }
    assert_followed(&orphans, other).await;
}
