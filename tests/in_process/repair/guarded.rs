//! What waits for a second look or for a person: tasks that ECS does not know, and corrections of a large share of a service.

use mesh::{catalog::CheckStatus, time::Bounds};
use observe::SweepOrder;
use report::{PlannedAction, SweepOutcome};
use serde_json::json;
use simulation::containers::Containers;

use super::Mesh;
use crate::counted::{Counters, counts};

fn forced() -> SweepOrder {
    SweepOrder { force: true, ..SweepOrder::default() }
}

const GUARD_TRIPPED: &str = "Guard Tripped";

/// How many transactions deregistered instances.
fn deregistrations(mesh: &Mesh) -> usize {
    mesh.calls("Consul").iter().filter(|call| call.starts_with("PUT txn")).count()
}

fn kinds(mesh: &Mesh) -> Vec<String> {
    mesh.announced().into_iter().map(|(kind, _)| kind).collect()
}

#[tokio::test(start_paused = true)]
async fn corrections_that_take_a_large_share_of_a_service_wait_for_force() {
    let (mesh, counters) = (Mesh::running(12), Counters::start());
    let failed = Containers { is_unhealthy: true, ..Containers::default() };
    (0..4).for_each(|task| mesh.set_containers(task, failed));
    // When a sweep finds four of twelve instances that are unhealthy in ECS only
    let report = mesh.sweep().await;
    // Then it corrects none, and says so as for deletions
    let cluster = &report.clusters[0];
    assert_eq!((report.outcome, cluster.corrected), (SweepOutcome::GuardTripped, 0), "{report:?}");
    assert!(cluster.guard.as_ref().unwrap().contains("4 of 12 passing instances of service-0"), "{cluster:?}");
    assert_eq!(cluster.blocked.iter().filter(|it| matches!(it.action, PlannedAction::CorrectHealth { .. })).count(), 4);
    assert_eq!(counters.take(), counts(&[("FullSweeps", 1), ("GuardTripped", 1)]));
    assert_eq!(kinds(&mesh), [GUARD_TRIPPED]);
    assert!((0..4).all(|task| mesh.are_all(task, CheckStatus::Passing)));
    // And a forced sweep corrects them
    let report = mesh.sweep_with(&forced(), |_| ()).await;
    assert_eq!((report.outcome, report.clusters[0].corrected), (SweepOutcome::Done, 12), "{report:?}");
    // And what is to pass again is not held back
    (0..4).for_each(|task| mesh.set_containers(task, Containers::default()));
    assert_eq!(mesh.sweep().await.clusters[0].corrected, 12);
}

#[tokio::test(start_paused = true)]
async fn only_a_second_look_that_was_to_delete_raises_the_alarm() {
    // Given eleven registered tasks that ECS does not list, although it counts more than it lists; no login says how old they are
    let (mesh, counters) = (Mesh::running(12), Counters::start());
    (1..12).for_each(|task| mesh.log_out(task));
    mesh.change(|world| {
        world.scenario.miscounts = true;
        world.ecs.tasks.truncate(1);
    });
    // When a person looks at the plan
    let report = mesh.dry_run().await;
    // Then the plan says what waits, and nothing else does
    let waiting = &report.clusters[0].waiting;
    let is_second_look = |reason: Option<&str>| reason == Some("a recheck of the task in ECS");
    assert!(waiting.iter().all(|it| is_second_look(it.waits_for.as_deref())), "{waiting:?}");
    assert_eq!((waiting.len(), report.clusters[0].planned.len()), (22, 0), "each task has an instance and a proxy");
    assert_eq!((counters.take(), kinds(&mesh).len(), mesh.calls("Sqs").len()), (counts(&[]), 0, 0));
    // And a sweep removes nothing, and looks again once ECS must have described them
    let report = mesh.sweep_with(&SweepOrder::default(), |scope| scope.bounds = Bounds::DEFAULT).await;
    assert_eq!((report.outcome, deregistrations(&mesh)), (SweepOutcome::Done, 0), "{report:?}");
    let sent = mesh.calls("Sqs");
    assert!(sent.len() == 1 && sent[0].ends_with(" in 330s"), "{sent:?}");
    let message = mesh.message();
    assert_eq!(message["detail"]["tasks"].as_array().unwrap().len(), 11, "{message}");
    assert!(!message.to_string().contains("service-0"), "it names tasks, and not what to delete: {message}");
    // And the second look finds too many of them
    counters.take();
    mesh.handle(&message, |_| ()).await;
    assert_eq!((deregistrations(&mesh), kinds(&mesh)), (0, vec![GUARD_TRIPPED.to_owned()]));
    assert_eq!(counters.take().get("GuardTripped"), Some(&1));
    let why = mesh.steps("ECS Mesh Guard Tripped: ").concat();
    assert!(why.contains("11 of 12 tasks of service service-0, and its list may be incomplete"), "{why}");
    assert!(why.contains("counts 2 running and pending tasks in the cluster, and lists 1"), "{why}");
    // And a person forces them
    mesh.sweep_with(&forced(), |_| ()).await;
    assert_eq!(deregistrations(&mesh), 0, "not before ECS must have described them");
    let message = mesh.message();
    mesh.handle(&message, |_| ()).await;
    assert_eq!((deregistrations(&mesh), mesh.calls("Sqs").len()), (1, 0), "no message leads to another one");
}

#[tokio::test(start_paused = true)]
async fn a_forged_second_look_deletes_nothing_of_living_tasks() {
    let mesh = Mesh::running(11);
    let tasks = mesh.0.with(|world| world.ecs.tasks.iter().map(|task| task.arn.to_string()).collect::<Vec<_>>());
    let other = mesh.0.with(|world| format!("{}-of-others", world.ecs.tasks[0].cluster));
    let second_look = |clusters: &[&str], tasks: &[String]| {
        let detail = json!({ "clusters": clusters, "tasks": tasks, "force": true });
        json!({ "source": "ecs-mesh-controller", "detail-type": "Unknown Task Second Look", "detail": detail })
    };
    // One of another deployment's cluster is ignored
    mesh.handle(&second_look(&[&other], &[]), |_| ()).await;
    assert_eq!(mesh.calls("Ecs"), [""; 0]);
    // And one that no sweep has sent removes no task that ECS describes
    mesh.handle(&second_look(&[], &tasks), |_| ()).await;
    assert_eq!((deregistrations(&mesh), mesh.calls("Ecs").is_empty()), (0, false));
    // Nor one that it does not name, although ECS does not describe it
    mesh.change(|world| {
        world.scenario.miscounts = true;
        world.ecs.tasks.truncate(1);
    });
    mesh.handle(&second_look(&[], &tasks[..1]), |_| ()).await;
    assert_eq!(deregistrations(&mesh), 0, "force is for the tasks in the message");
}
