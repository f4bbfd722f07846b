//! Which statuses a sweep corrects, and which it leaves.

use controller::SweepOrder;
use report::{PlannedAction, SweepOutcome, SweepReport};
use serde_json::json;

use super::mesh_of_tasks::{FakeTask, Mesh, why_skipped};
use crate::counted::{Counters, counts};

/// Registered, healthy tasks of one service.
async fn registered(count: usize) -> Mesh {
    let mesh = Mesh::lost((1..=count).map(FakeTask::new).collect()).await;
    mesh.sweep().await;
    mesh
}

/// The apps of the first tasks fail in ECS, and their checks pass in Consul.
fn fail(mesh: &Mesh, count: usize) -> Vec<FakeTask> {
    (0..count).map(|index| mesh.change(index, |task| task.unhealthy = ["app"].into())).collect()
}

fn is_passing(mesh: &Mesh, task: &FakeTask) -> bool {
    mesh.statuses(task).values().all(|status| status == "passing")
}

fn corrected(report: &SweepReport) -> usize {
    report.clusters[0].corrected
}

#[tokio::test]
async fn a_container_with_unknown_health_is_reported_also_with_what_is_missing_or_wrong() {
    // Given a task of which ECS does not know the app, while its worker's check is missing and its dataplane has failed
    let mut with_worker = FakeTask::new(1);
    with_worker.configure(&json!({ "healthSyncContainers": ["app", "worker"] }));
    let mesh = Mesh::lost(vec![with_worker, FakeTask::new(2)]).await;
    mesh.sweep().await;
    let task = mesh.change(0, |task| {
        (task.unknown, task.unhealthy) = (["app"].into(), ["consul-dataplane"].into());
    });
    mesh.with(|world| world.checks.remove(&format!("web-{}-worker", task.id()))).expect("a registered check");
    // When a sweep repairs and corrects it
    let report = mesh.sweep().await;
    assert_eq!((report.clusters[0].repaired, corrected(&report)), (1, 2), "{report:?}");
    // Then it is reported, once
    let what = format!("task {}", task.id());
    let why: Vec<_> = report.clusters[0].skipped.iter().filter(|it| it.what == what).collect();
    assert_eq!(why.len(), 1, "{report:?}");
    assert!(why_skipped(&report, &task).unwrap().starts_with("ECS health status of container app: UNKNOWN"));
    assert_eq!(mesh.statuses(&task)["web-*-app"], "passing");
}

#[tokio::test]
async fn corrections_that_take_a_large_share_of_a_service_wait_for_force() {
    let mesh = registered(12).await;
    let failed = fail(&mesh, 4);
    let counters = Counters::start();
    // When a sweep finds four of twelve instances that are unhealthy in ECS only
    let report = mesh.sweep().await;
    // Then it corrects none, and says so as for deletions
    assert_eq!((report.outcome, corrected(&report)), (SweepOutcome::GuardTripped, 0), "{report:?}");
    let cluster = &report.clusters[0];
    assert!(cluster.guard.as_ref().unwrap().contains("4 of 12 passing instances of web"), "{cluster:?}");
    assert_eq!(cluster.blocked.iter().filter(|it| matches!(it.action, PlannedAction::CorrectHealth { .. })).count(), 4);
    assert_eq!(counters.take(), counts(&[("FullSweeps", 1), ("GuardTripped", 1)]));
    assert_eq!(mesh.published(), ["ECS Mesh Guard Tripped"]);
    assert!(failed.iter().all(|task| is_passing(&mesh, task)));
    // And a forced sweep corrects them
    let report = mesh.sweep_with(&SweepOrder { force: true, ..SweepOrder::default() }).await;
    assert_eq!((report.outcome, corrected(&report)), (SweepOutcome::Done, 12), "{report:?}");
    // And what is to pass again is not held back
    (0..4).for_each(|index| drop(mesh.change(index, |task| task.unhealthy.clear())));
    assert_eq!(corrected(&mesh.sweep().await), 12);
}

#[tokio::test]
async fn a_definition_that_was_tagged_meanwhile_opts_its_tasks_out() {
    // Given a controller that knows the definition, which an operator then tags
    let mesh = registered(2).await;
    let task = mesh.change(0, |task| task.repair = "off");
    for suffix in ["", "-sidecar-proxy"] {
        mesh.forget(&format!("web-{}{suffix}", task.id()));
    }
    // When a sweep finds a task that Consul has lost
    let report = mesh.sweep().await;
    assert_eq!((report.clusters[0].repaired, mesh.registered().len()), (0, 0), "{report:?}");
    assert!(why_skipped(&report, &task).unwrap().contains("ecs-mesh-controller/repair"), "{report:?}");
}
