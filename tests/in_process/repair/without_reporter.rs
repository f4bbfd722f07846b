//! Running tasks whose health-sync has stopped: only sweeps write their health.

use std::time::Duration;

use controller::{Deadline, SweepOrder};
use serde_json::json;

use super::mesh_of_tasks::{FakeTask, Mesh, why_skipped};

const HEALTH_SYNC: &str = "consul-ecs-health-sync";

/// A registered task without a health-sync, whose app is unhealthy, and which Consul believes to be healthy.
async fn orphaned(change: impl FnOnce(&mut FakeTask)) -> (Mesh, FakeTask) {
    let mut task = FakeTask::new(1);
    change(&mut task);
    let mesh = Mesh::lost(vec![task, FakeTask::new(2)]).await;
    mesh.sweep().await;
    let task = mesh.change(0, |task| {
        task.stopped.insert(HEALTH_SYNC);
        task.unhealthy.insert("app");
    });
    (mesh, task)
}

fn are_all(mesh: &Mesh, task: &FakeTask, status: &str) -> bool {
    mesh.statuses(task).values().all(|seen| seen == status)
}

#[tokio::test]
async fn checks_that_contradict_ecs_are_corrected_at_the_first_look() {
    // Given a sweep that has no time for a second look
    let (mesh, task) = orphaned(|_| {}).await;
    let mesh = mesh.with_settings(&[("TIME_BOUNDS", "health-lag=120")]).await;
    let order = SweepOrder::default();
    let sweep = || mesh.controller.sweep(&order, Deadline::after(Duration::from_secs(100)));
    mesh.consul.forget();
    let report = sweep().await;
    assert_eq!((report.outcome.as_str(), report.clusters[0].corrected), ("done", 3), "{report:?}");
    assert!(are_all(&mesh, &task, "critical"), "{:?}", mesh.statuses(&task));
    // It reads the checks once more
    assert_eq!(mesh.consul_calls()["GET health/node"], 2);
    // And those of a task with a health-sync wait for the second look
    let other = mesh.change(1, |task| task.unhealthy = ["app"].into());
    let report = sweep().await;
    assert_eq!((report.outcome.as_str(), report.clusters[0].corrected), ("incomplete", 0), "{report:?}");
    assert!(are_all(&mesh, &other, "passing"));
}

#[tokio::test]
async fn a_task_whose_configuration_is_not_known_is_reported() {
    // Given a registered task whose configuration comes from a secret since
    let (mesh, task) = orphaned(|_| {}).await;
    mesh.change(0, |task| {
        task.definition = "web:2".to_owned();
        task.registrar["secrets"] = json!([{ "name": "CONSUL_ECS_CONFIG_JSON", "valueFrom": "config" }]);
    });
    // When a sweep sees it without a health-sync, it lists the task
    let report = mesh.sweep().await;
    assert!(why_skipped(&report, &task).unwrap().contains("from a secret"), "{report:?}");
    assert!(are_all(&mesh, &task, "passing"));
}

#[tokio::test]
async fn a_task_whose_metadata_have_another_task_id_is_corrected() {
    // Given a service whose metadata replace the ID of the task
    let own = json!({ "service": { "name": "web", "port": 9090, "meta": { "task-id": "blue" } } });
    let (mesh, task) = orphaned(|task| task.configure(&own)).await;
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].corrected, 3, "{report:?}");
    assert!(are_all(&mesh, &task, "critical"), "{:?}", mesh.statuses(&task));
}
