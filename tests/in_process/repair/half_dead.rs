//! Running tasks whose proxy or health-sync has stopped, or whose login tokens are gone.

use controller::{SweepOrder, SweepOutcome};
use serde_json::{Value, json};

use super::mesh_of_tasks::{FakeTask, Mesh, why_skipped};

const DATAPLANE: &str = "consul-dataplane";

fn maintenance(task: &FakeTask, suffix: &str) -> String {
    format!("_service_maintenance:web-*{suffix}").replace(task.id(), "*")
}

#[tokio::test]
async fn a_task_without_a_proxy_is_drained_by_its_event_and_by_a_sweep() {
    for by_event in [true, false] {
        // Given a registered task whose proxy has stopped
        let mesh = Mesh::forgotten(vec![FakeTask::new(1), FakeTask::new(2)]).await;
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
    let mesh = Mesh::forgotten(vec![FakeTask::new(1)]).await;
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
    let config = &mut task.registrar["environment"][0]["value"];
    let mut parsed: Value = serde_json::from_str(config.as_str().unwrap()).unwrap();
    parsed["consulLogin"] = json!({ "enabled": true });
    *config = json!(parsed.to_string());
    task
}

#[tokio::test]
async fn a_task_without_login_tokens_is_reported_and_replaced_if_the_settings_want_it() {
    for replaces in ["off", "on"] {
        // Given eight tasks of which one has no token and another only one of two
        let tasks: Vec<FakeTask> = (1..=8).map(logging_in).collect();
        let mesh = Mesh::with(tasks.clone(), &[("REPLACE_BROKEN_TASKS", replaces)]).await;
        let both = tasks[2..].iter().flat_map(|task| [task.id().to_owned(), task.id().to_owned()]);
        mesh.set_logins(both.chain([tasks[1].id().to_owned()]).collect());
        mesh.sweep().await;
        // Then both are reported with what to do, and the one without is replaced
        let report = mesh.sweep().await;
        assert!(why_skipped(&report, &tasks[1]).unwrap().contains("only one of its two"), "{report:?}");
        let is_stopped = |index: usize| mesh.change(index, |_| {}).desired_status == "STOPPED";
        assert_eq!((is_stopped(0), is_stopped(1), is_stopped(2)), (replaces == "on", false, false));
        if replaces == "off" {
            assert!(why_skipped(&report, &tasks[0]).unwrap().contains("none of its login tokens"), "{report:?}");
        }
    }
}

#[tokio::test]
async fn tasks_without_a_proxy_are_replaced_a_quarter_of_a_service_at_a_time() {
    // Given a service of eight tasks, five of them without a proxy, and one task without a service
    let mut tasks: Vec<FakeTask> = (1..=9).map(FakeTask::new).collect();
    for task in &mut tasks[..5] {
        task.stopped.insert(DATAPLANE);
    }
    tasks[8].service = None;
    tasks[8].stopped.insert(DATAPLANE);
    let mesh = Mesh::with(tasks, &[("REPLACE_BROKEN_TASKS", "on")]).await;
    // When a dry run sees them, it lists two
    let planned =
        mesh.sweep_with(&SweepOrder { dry_run: true, ..SweepOrder::default() }).await.clusters.remove(0).planned;
    assert_eq!(planned.iter().filter(|planned| planned["action"] == "replace_task").count(), 2, "{planned:?}");
    assert!(mesh.asked("StopTask").is_empty());
    // When a sweep sees them
    let report = mesh.sweep().await;
    // Then two are stopped, with the reason, and the others wait until the service has started others
    assert_eq!(report.clusters[0].replaced, 2, "{report:?}");
    let stops = mesh.asked("StopTask");
    assert_eq!(stops.len(), 2);
    assert!(stops[0]["reason"].as_str().unwrap().contains("consul-dataplane has stopped"), "{}", stops[0]);
    assert!(mesh.published().contains(&"ECS Mesh Task Replaced".to_owned()));
    let report = mesh.sweep().await;
    assert_eq!((report.clusters[0].replaced, mesh.asked("StopTask").len()), (0, 0), "{report:?}");
}

#[tokio::test]
async fn replacements_beyond_the_share_of_the_guard_wait_for_force() {
    // Given twelve services with one task each, all without a proxy
    const SERVICES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let tasks = SERVICES.iter().zip(1..).map(|(name, number)| {
        let mut task = FakeTask::new(number);
        (task.service, task.stopped) = (Some(*name), [DATAPLANE].into());
        task
    });
    let mesh = Mesh::with(tasks.collect(), &[("REPLACE_BROKEN_TASKS", "on")]).await;
    // When a sweep sees them, it stops none, and says so
    let report = mesh.sweep().await;
    assert_eq!((report.outcome, mesh.asked("StopTask").len()), (SweepOutcome::GuardTripped, 0), "{report:?}");
    assert!(report.clusters[0].guard.as_ref().unwrap().contains("12 of 12 tasks"), "{report:?}");
    // And with `force` it replaces them
    let report = mesh.sweep_with(&SweepOrder { force: true, ..SweepOrder::default() }).await;
    assert_eq!((report.clusters[0].replaced, mesh.asked("StopTask").len()), (12, 12), "{report:?}");
}

#[tokio::test]
async fn tokens_that_no_listing_shows_break_no_task() {
    // Given tasks that log in, and a Consul that lists no login token: they may be in another datacenter
    let tasks: Vec<FakeTask> = (1..=3).map(logging_in).collect();
    let mesh = Mesh::with(tasks.clone(), &[("REPLACE_BROKEN_TASKS", "on")]).await;
    let report = mesh.sweep().await;
    assert_eq!((why_skipped(&report, &tasks[0]), mesh.asked("StopTask").len()), (None, 0), "{report:?}");
}
