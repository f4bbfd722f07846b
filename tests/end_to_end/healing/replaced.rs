//! `ReplaceBrokenTasks`: running tasks that cannot be repaired are stopped, so that their ECS service starts others.

use local_stack::{Stack, deploy::Deployed, world::World};
use serde_json::{Value, json};
use test_harness::ecs_agent::{DATAPLANE, DataplaneService, DataplaneTask, Release};
use tokio::sync::OnceCell;

use super::{deployment, log_lines, why_skipped, world};

/// The clusters of the deployment with `ReplaceBrokenTasks=on`: one for each test.
const REPLACING: [&str; 3] = ["quarter-broken", "alone-broken", "guarded-broken"];
/// The cluster of the deployment with `Repair=report` beside it.
const REPORTING: &str = "only-reported";

/// A cluster in which broken tasks are replaced.
async fn replacing(name: &'static str) -> World<'static> {
    static DEPLOYED: OnceCell<Deployed> = OnceCell::const_new();
    let further = [("ReplaceBrokenTasks", "on")];
    let deployed = DEPLOYED.get_or_init(|| deployment("replacing", &REPLACING, &further)).await;
    World::new(Stack::shared().await, deployed, "replacing", name)
}

/// Registered, healthy tasks of one ECS service.
async fn service_of<'a>(world: &'a World<'a>, desired: usize) -> (DataplaneService, Vec<DataplaneTask<'a>>) {
    let service = DataplaneService::of(world, Release::V0_10);
    let tasks = service.create_ecs_service(world, desired, &json!([])).await;
    for task in &tasks {
        task.settle().await;
    }
    (service, tasks)
}

/// Sweeps, and returns why each of these tasks that does not run any more was stopped.
async fn stopped_after_a_sweep(world: &World<'_>, tasks: &[DataplaneTask<'_>]) -> Vec<String> {
    world.swept().await;
    let mut reasons = Vec::new();
    for task in tasks {
        reasons.extend(task.stopped_reason().await);
    }
    reasons
}

#[tokio::test]
async fn a_quarter_of_a_service_is_replaced_at_a_time() {
    let world = replacing("quarter-broken").await;
    // Given a service of eight tasks, of which three have no proxy any more
    let (service, tasks) = service_of(&world, 8).await;
    let (broken, working) = tasks.split_at(3);
    for task in broken {
        task.report_stopped(DATAPLANE, 137).await;
    }
    // When a sweep runs, then two of the three are stopped, with the reason
    let reasons = stopped_after_a_sweep(&world, broken).await;
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    for reason in &reasons {
        assert!(reason.starts_with("ecs-mesh-controller: its container consul-dataplane has stopped"), "{reason}");
    }
    for task in broken {
        if task.stopped_reason().await.is_some() {
            let line = &log_lines(task, "replace_task").await[0];
            assert_eq!((&line["outcome"], &line["service"]), (&json!("done"), &json!(world.service())), "{line}");
        }
    }
    // And no further sweep stops the third one while there are no others for them, or while those start
    assert_eq!(stopped_after_a_sweep(&world, broken).await.len(), 2);
    let started = service.start_replacements(&world).await;
    assert_eq!(started.len(), 2);
    assert_eq!(stopped_after_a_sweep(&world, broken).await.len(), 2);
    // But once they are healthy, the third one is stopped
    for task in &started {
        task.settle().await;
    }
    assert_eq!(stopped_after_a_sweep(&world, broken).await.len(), 3);
    // And never a task that works
    for task in working.iter().chain(&started) {
        assert_eq!(task.stopped_reason().await, None);
    }
}

#[tokio::test]
async fn a_task_without_a_service_is_not_stopped() {
    let world = replacing("alone-broken").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    task.report_stopped(DATAPLANE, 137).await;
    for _ in 0..2 {
        // Nobody would start another one: a person has to
        let swept = world.swept().await;
        assert!(why_skipped(&swept, &task).is_some_and(|why| why.contains("replace the task")), "{swept}");
        assert_eq!(task.stopped_reason().await, None);
    }
}

#[tokio::test]
async fn a_task_with_scale_in_protection_is_stopped_only_after_that() {
    let world = replacing("guarded-broken").await;
    let (_, tasks) = service_of(&world, 1).await;
    tasks[0].protect(true).await;
    tasks[0].report_stopped(DATAPLANE, 137).await;
    assert_eq!(stopped_after_a_sweep(&world, &tasks).await, [""; 0]);
    tasks[0].protect(false).await;
    assert_eq!(stopped_after_a_sweep(&world, &tasks).await.len(), 1);
}

/// Asserts that sweeps report a broken task of a service, and do not stop it. Returns the actions that the last one has planned.
async fn only_reported(world: &World<'_>) -> Vec<Value> {
    let (_, tasks) = service_of(world, 4).await;
    tasks[0].report_stopped(DATAPLANE, 137).await;
    let mut planned = Vec::new();
    for _ in 0..2 {
        let swept = world.swept().await;
        assert!(why_skipped(&swept, &tasks[0]).is_some_and(|why| why.contains("replace the task")), "{swept}");
        assert_eq!(swept["replaced"], 0, "{swept}");
        let of_task = swept["planned"].as_array().into_iter().flatten().filter(|it| it["taskId"] == tasks[0].id());
        planned = of_task.map(|it| it["action"].clone()).collect();
    }
    assert_eq!(stopped_after_a_sweep(world, &tasks).await, [""; 0]);
    planned
}

#[tokio::test]
async fn nothing_is_stopped_by_default() {
    assert_eq!(only_reported(&world("kept-broken").await).await, [""; 0]);
}

#[tokio::test]
async fn a_replacement_is_only_planned_if_repairs_are_only_reported() {
    let further = [("Repair", "report"), ("ReplaceBrokenTasks", "on")];
    let deployed = deployment("reporting", &[REPORTING], &further).await;
    let world = World::new(Stack::shared().await, &deployed, "reporting", REPORTING);
    assert!(only_reported(&world).await.contains(&json!("replace_task")));
}
