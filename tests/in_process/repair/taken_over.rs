//! Running tasks whose health-sync has stopped: the controller reports their health.

use controller::SweepOrder;
use serde_json::{Value, json};

use super::mesh_of_tasks::{CLUSTER, FakeTask, Mesh, why_skipped};

const HEALTH_SYNC: &str = "consul-ecs-health-sync";
const TAKEN_OVER: &str = "ECS Mesh Health Sync Taken Over";

/// A registered task without a health-sync, whose app is unhealthy, and which Consul believes to be healthy.
async fn orphaned(change: impl FnOnce(&mut FakeTask)) -> (Mesh, FakeTask) {
    let mut task = FakeTask::new(1);
    change(&mut task);
    let mesh = Mesh::forgotten(vec![task]).await;
    mesh.sweep().await;
    let task = mesh.change(0, |task| {
        task.stopped.insert(HEALTH_SYNC);
        task.unhealthy.insert("app");
    });
    (mesh, task)
}

/// Sets a field of the configuration of a task.
fn configure(task: &mut FakeTask, pointer: &str, value: Value) {
    let config = &mut task.registrar["environment"][0]["value"];
    let mut parsed: Value = serde_json::from_str(config.as_str().unwrap()).unwrap();
    *parsed.pointer_mut(pointer).unwrap() = value;
    *config = json!(parsed.to_string());
}

fn are_all(mesh: &Mesh, task: &FakeTask, status: &str) -> bool {
    mesh.statuses(task).values().all(|seen| seen == status)
}

#[tokio::test]
async fn health_of_a_task_without_a_health_sync_is_reported_every_minute() {
    // Given a registered, healthy task
    let mesh = Mesh::forgotten(vec![FakeTask::new(1), FakeTask::new(2)]).await;
    mesh.sweep().await;
    // When its health-sync stops, and its app becomes unhealthy
    let task = mesh.change(0, |task| {
        task.stopped.insert(HEALTH_SYNC);
        task.unhealthy.insert("app");
    });
    mesh.aws.forget();
    mesh.handle(&task.event()).await;
    // Then its health is written at once
    assert!(mesh.statuses(&task).values().all(|status| status == "critical"), "{:?}", mesh.statuses(&task));
    assert_eq!(mesh.published(), ["ECS Mesh Health Sync Taken Over"]);
    // And asked for every minute until the next sweep, which comes after five
    let sent = mesh.asked("SendMessageBatch");
    let delays: Vec<Value> = sent.iter().map(|batch| batch["Entries"][0]["DelaySeconds"].clone()).collect();
    assert_eq!(delays, [60, 120, 180, 240, 300]);
    // And such a message writes the health of then, without leading to another message
    let message: Value = serde_json::from_str(sent[0]["Entries"][0]["MessageBody"].as_str().unwrap()).unwrap();
    assert_eq!(message["detail"], json!({ "cluster": CLUSTER, "tasks": [task.id()] }));
    mesh.change(0, |task| task.unhealthy.clear());
    mesh.aws.forget();
    mesh.handle(&message).await;
    assert!(mesh.statuses(&task).values().all(|status| status == "passing"), "{:?}", mesh.statuses(&task));
    assert_eq!(mesh.aws.operations(), ["DescribeTasks"], "the definition is cached");
    // And a sweep does the same, without a second look, and asks for it until the sweep after it
    let mesh = mesh.in_another_environment().await;
    mesh.change(0, |task| task.unhealthy = ["app"].into());
    let report = mesh.sweep().await;
    assert_eq!((report.clusters[0].corrected, mesh.consul_calls()["GET health/node"]), (0, 2), "{report:?}");
    assert!(mesh.statuses(&task).values().all(|status| status == "critical"), "{:?}", mesh.statuses(&task));
    assert_eq!(mesh.asked("SendMessageBatch").len(), 5);
    // And it is not announced again
    assert!(mesh.published().is_empty(), "{:?}", mesh.published());
    // And another event of the task does not ask for it again
    mesh.aws.forget();
    mesh.handle(&mesh.change(0, |_| {}).event()).await;
    assert!(mesh.asked("SendMessageBatch").is_empty());
    // And a task that was told to stop is left alone
    mesh.change(0, |task| {
        task.desired_status = "STOPPED";
        task.unhealthy.clear();
    });
    mesh.handle(&message).await;
    assert!(mesh.statuses(&task).values().all(|status| status == "critical"), "{:?}", mesh.statuses(&task));
}

#[tokio::test]
async fn syncs_are_asked_for_although_the_first_one_fails() {
    let (mesh, task) = orphaned(|_| {}).await;
    // Given a Consul that refuses writes
    mesh.set_refuses(true);
    // When a sweep sees the task
    let report = mesh.sweep().await;
    // Then it says so, announces nothing, and asks for syncs
    assert!(report.problems.iter().any(|problem| problem.reason.contains("health-sync has stopped")), "{report:?}");
    let sent = mesh.asked("SendMessageBatch");
    assert_eq!((sent.len(), mesh.published().len()), (5, 0));
    // And the next sync writes and announces
    mesh.set_refuses(false);
    let message: Value = serde_json::from_str(sent[0]["Entries"][0]["MessageBody"].as_str().unwrap()).unwrap();
    mesh.handle(&message).await;
    assert!(are_all(&mesh, &task, "critical"), "{:?}", mesh.statuses(&task));
    assert_eq!(mesh.published(), [TAKEN_OVER]);
    // And once the settings want no repairs, such a message writes nothing
    let mesh = mesh.with_settings(&[("REPAIR", "report")]).await;
    mesh.change(0, |task| task.unhealthy.clear());
    mesh.handle(&message).await;
    assert!(are_all(&mesh, &task, "critical"), "{:?}", mesh.statuses(&task));
}

#[tokio::test]
async fn a_dry_run_lists_takeovers_and_writes_nothing() {
    let (mesh, task) = orphaned(|_| {}).await;
    let report = mesh.sweep_with(&SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
    let planned = json!([{ "action": "take_over_health_sync", "taskId": task.id() }]);
    assert_eq!(json!(report.clusters[0].planned), planned);
    assert!(are_all(&mesh, &task, "passing") && mesh.asked("SendMessageBatch").is_empty());
}

#[tokio::test]
async fn a_task_whose_configuration_is_not_known_is_reported() {
    // Given a registered task whose configuration comes from a secret since
    let (mesh, task) = orphaned(|_| {}).await;
    mesh.change(0, |task| {
        task.definition = "web:2".to_owned();
        task.registrar["secrets"] = json!([{ "name": "CONSUL_ECS_CONFIG_JSON", "valueFrom": "config" }]);
    });
    // When a sweep sees it without a health-sync, it lists the task, and asks for no sync
    let report = mesh.sweep().await;
    assert!(why_skipped(&report, &task).unwrap().contains("from a secret"), "{report:?}");
    assert!(are_all(&mesh, &task, "passing") && mesh.asked("SendMessageBatch").is_empty());
}

#[tokio::test]
async fn sweeps_correct_a_task_whose_metadata_have_another_task_id() {
    // Given a service whose metadata replace the ID of the task: health sync does not find it
    let own = json!({ "name": "web", "port": 9090, "meta": { "task-id": "blue" } });
    let (mesh, task) = orphaned(|task| configure(task, "/service", own)).await;
    // When a sweep sees it without a health-sync, it corrects the statuses
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].corrected, 3, "{report:?}");
    assert!(are_all(&mesh, &task, "critical"), "{:?}", mesh.statuses(&task));
}
