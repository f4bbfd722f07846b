//! Running tasks whose proxy or health-sync has stopped, or whose login tokens are gone.

use controller::SweepOrder;
use serde_json::json;

use super::mesh_of_tasks::{FakeTask, Mesh, why_skipped};

const DATAPLANE: &str = "consul-dataplane";

fn maintenance(task: &FakeTask, suffix: &str) -> String {
    format!("_service_maintenance:web-*{suffix}").replace(task.id(), "*")
}

#[tokio::test]
async fn a_task_without_a_proxy_is_drained_by_its_event_and_by_a_sweep() {
    for by_event in [true, false] {
        // Given a registered task whose proxy has stopped
        let mesh = Mesh::lost(vec![FakeTask::new(1), FakeTask::new(2)]).await;
        mesh.sweep().await;
        let task = mesh.change(0, |task| task.stopped = [DATAPLANE].into());
        // When its event arrives, or a sweep sees it
        mesh.aws.forget();
        if by_event {
            mesh.handle(&task.event()).await;
        } else {
            mesh.sweep().await;
        }
        // Then both of its instances are in maintenance mode, and no other task's
        let statuses = mesh.statuses(&task);
        for suffix in ["", "-sidecar-proxy"] {
            assert_eq!(statuses[&maintenance(&task, suffix)], "critical", "{statuses:?}");
        }
        assert_eq!(mesh.statuses(&mesh.change(1, |_| {})).len(), 3);
        assert!(mesh.published().contains(&"ECS Mesh Task Drained".to_owned()));
        // And once
        mesh.aws.forget();
        mesh.handle(&task.event()).await;
        assert!(!mesh.published().contains(&"ECS Mesh Task Drained".to_owned()));
    }
}

#[tokio::test]
async fn a_disconnected_task_is_not_drained() {
    let mesh = Mesh::lost(vec![FakeTask::new(1)]).await;
    mesh.sweep().await;
    let task = mesh.change(0, |task| task.stopped = [DATAPLANE].into());
    let mut event = task.event();
    event["detail"]["connectivity"] = json!("DISCONNECTED");
    mesh.handle(&event).await;
    assert_eq!(mesh.statuses(&task).len(), 3, "no maintenance check");
}

/// A task that logs in.
fn logging_in(number: usize) -> FakeTask {
    let mut task = FakeTask::new(number);
    task.configure(&json!({ "consulLogin": { "enabled": true } }));
    task
}

#[tokio::test]
async fn a_task_without_login_tokens_is_reported_and_left_alone() {
    // Given eight tasks of which one has no token and another only one of two
    let tasks: Vec<FakeTask> = (1..=8).map(logging_in).collect();
    let mesh = Mesh::lost(tasks.clone()).await;
    mesh.sweep().await;
    let both = tasks[2..].iter().flat_map(|task| [task.id().to_owned(), task.id().to_owned()]);
    mesh.set_logins(both.chain([tasks[1].id().to_owned()]).collect());
    // Then both are reported with what to do, at each sweep
    for _ in 0..2 {
        let report = mesh.sweep().await;
        let why = [0, 1].map(|index| why_skipped(&report, &tasks[index]).unwrap());
        assert!(why[0].contains("none of its login tokens") && why[1].contains("only one of its two"), "{why:?}");
        let command = format!("aws ecs stop-task --region us-east-1 --cluster shop --task {}", tasks[0].id());
        assert!(why[0].ends_with(&command), "{why:?}");
        let broken = mesh.published().into_iter().filter(|kind| kind == "ECS Mesh Task Broken").count();
        assert_eq!((broken, mesh.asked("StopTask").len()), (2, 0));
    }
    // And a dry run announces nothing
    let report = mesh.sweep_with(&SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
    assert!(why_skipped(&report, &tasks[0]).is_some() && mesh.published().is_empty(), "{report:?}");
}
