//! Registered tasks that ECS does not know: they wait for a second look, which the guard judges.

use controller::SweepOrder;
use report::SweepOutcome;
use serde_json::{Value, json};

use super::mesh_of_tasks::{CLUSTER, FakeTask, Mesh};
use crate::counted::{Counters, counts};

/// Eleven registered tasks of one service.
async fn registered_tasks() -> Mesh {
    let mesh = Mesh::lost((1..=11).map(FakeTask::new).collect()).await;
    mesh.sweep().await;
    // No login says how old they are
    mesh.set_logins(Vec::new());
    mesh
}

/// The message of the second look that the last sweep asked for, and its delay in seconds.
fn second_look(mesh: &Mesh) -> (Value, Value) {
    let sent = mesh.asked("SendMessageBatch").remove(0)["Entries"][0].clone();
    (serde_json::from_str(sent["MessageBody"].as_str().unwrap()).unwrap(), sent["DelaySeconds"].clone())
}

/// How many transactions deregistered instances since the last sweep began.
fn deregistrations(mesh: &Mesh) -> usize {
    mesh.consul_calls().get("PUT txn").copied().unwrap_or_default()
}

#[tokio::test]
async fn only_a_look_that_was_to_delete_raises_the_alarm() {
    // Given tasks that ECS counts and does not list any more
    let mesh = registered_tasks().await;
    mesh.lose_tasks(true);
    let counters = Counters::start();
    // When a person looks at the plan
    let report = mesh.sweep_with(&SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
    // Then the plan says what waits, and nothing else does
    assert_eq!(report.outcome, SweepOutcome::DryRun, "{report:?}");
    let waiting = &report.clusters[0].waiting;
    assert!(
        waiting.iter().all(|it| it.waits_for.as_deref() == Some("a second look at the task in ECS")),
        "{waiting:?}"
    );
    assert_eq!((waiting.len(), report.clusters[0].planned.len()), (22, 0), "each task has an instance and a proxy");
    assert_eq!((counters.take(), mesh.published().len()), (counts(&[]), 0));
    assert!(mesh.asked("SendMessageBatch").is_empty());
    // And a sweep removes nothing, and looks again when ECS must have described them
    let report = mesh.sweep().await;
    assert_eq!((report.outcome, deregistrations(&mesh)), (SweepOutcome::Done, 0), "{report:?}");
    let (message, delay) = second_look(&mesh);
    assert_eq!(delay, 330);
    let detail = &message["detail"];
    assert_eq!((&detail["clusters"], detail["tasks"].as_array().unwrap().len()), (&json!([]), 11), "{message}");
    assert!(!message.to_string().contains("web"), "it names tasks, and not what to delete: {message}");
    // And the second look finds too many of them
    mesh.consul.forget();
    counters.take();
    mesh.handle(&message).await;
    assert_eq!(deregistrations(&mesh), 0);
    assert_eq!(counters.take().get("GuardTripped"), Some(&1));
    assert_eq!(mesh.published(), ["ECS Mesh Guard Tripped"]);
    // And a person forces them
    mesh.sweep_with(&SweepOrder { force: true, ..SweepOrder::default() }).await;
    assert_eq!(deregistrations(&mesh), 0, "not before ECS must have described them");
    mesh.handle(&second_look(&mesh).0).await;
    assert_eq!(deregistrations(&mesh), 1);
}

#[tokio::test]
async fn an_empty_cluster_is_cleaned_up_at_the_second_look() {
    let mesh = registered_tasks().await;
    mesh.with(|world| world.tasks.clear());
    // Given tasks that logged in long ago, where ECS counts none
    mesh.set_logins((1..=11).map(|number| FakeTask::new(number).id().to_owned()).collect());
    let report = mesh.sweep().await;
    assert_eq!((report.outcome, report.clusters[0].waiting.len()), (SweepOutcome::Done, 33), "{report:?}");
    assert_eq!(deregistrations(&mesh), 0, "a cluster in another region looks the same");
    // When ECS still counts none, all of them are removed
    let (message, _) = second_look(&mesh);
    mesh.aws.forget();
    mesh.handle(&message).await;
    let deleted = mesh.consul_calls()["DELETE acl/token"];
    assert_eq!((deregistrations(&mesh), deleted), (1, 11));
    assert!(
        mesh.published().is_empty() && mesh.asked("SendMessageBatch").is_empty(),
        "no message leads to another one"
    );
}

#[tokio::test]
async fn a_forged_second_look_deletes_nothing_of_living_tasks() {
    // Given tasks that run, and more of them that ECS does not list than the guard lets a sweep remove
    let mesh = registered_tasks().await;
    let look = |tasks: &[&str]| {
        let detail = json!({ "clusters": [], "tasks": tasks, "force": true });
        json!({ "source": "ecs-mesh-controller", "detail-type": "Unknown Task Second Look", "detail": detail })
    };
    // When a message that no sweep has sent names all of them
    let named: Vec<FakeTask> = (1..=11).map(FakeTask::new).collect();
    let named: Vec<&str> = named.iter().map(|task| task.arn.as_str()).collect();
    mesh.consul.forget();
    mesh.handle(&look(&named)).await;
    assert_eq!(deregistrations(&mesh), 0, "ECS describes them");
    // And when ECS does not describe them, and the message names none of them
    mesh.lose_tasks(true);
    mesh.consul.forget();
    mesh.handle(&look(&[])).await;
    assert_eq!(deregistrations(&mesh), 0, "force is for the tasks in the message");
}

#[tokio::test]
async fn a_second_look_of_another_deployment_s_cluster_is_ignored() {
    let mesh = registered_tasks().await;
    mesh.aws.forget();
    let detail = json!({ "clusters": [format!("{CLUSTER}-of-others")], "tasks": [], "force": true });
    let look = json!({ "source": "ecs-mesh-controller", "detail-type": "Unknown Task Second Look", "detail": detail });
    mesh.handle(&look).await;
    assert_eq!(mesh.aws.operations(), Vec::<String>::new());
}
