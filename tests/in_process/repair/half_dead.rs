//! Running tasks with a container that has stopped or has failed: what is drained, corrected, reported and announced.

use std::time::Duration;

use mesh::{
    catalog::CheckStatus,
    consul_ecs::{MESH_TAG, SERVICE_NAME_TAG, check_id, sidecar_of},
    repair::REPAIR_TAG,
    scope::Scope,
    settings::Mode,
    tags::Tags,
    task::ContainerHealth,
};
use observe::SweepOrder;
use serde_json::json;
use simulation::containers::Containers;

use super::Mesh;
use crate::counted::{Counters, counts};

const DEFAULT: Containers =
    Containers { is_unhealthy: false, has_lost_proxy: false, has_lost_sync: false, is_hidden: false };
const WITHOUT_PROXY: Containers = Containers { has_lost_proxy: true, ..DEFAULT };
/// Its app is unhealthy, and nothing in the task writes that.
const WITHOUT_SYNC: Containers = Containers { is_unhealthy: true, has_lost_sync: true, ..DEFAULT };

/// Five registered tasks. The first has lost its proxy, the second its health-sync while its app is unhealthy, the third its
/// registration.
fn half_dead() -> Mesh {
    let mesh = Mesh::running(5);
    mesh.set_containers(0, WITHOUT_PROXY);
    mesh.set_containers(1, WITHOUT_SYNC);
    mesh.lose(2);
    mesh
}

fn observe(scope: &mut Scope) {
    scope.mode = Mode::Observe;
}

/// A recheck would come after the deadline.
fn without_recheck(scope: &mut Scope) {
    scope.bounds.health_lag = Duration::from_secs(120);
}

fn events(kinds: &[&str], mode: &str) -> Vec<(String, String)> {
    kinds.iter().map(|kind| ((*kind).to_owned(), mode.to_owned())).collect()
}

fn assert_nothing_written(mesh: &Mesh) {
    let writes: Vec<String> = mesh.calls("Consul").into_iter().filter(|call| !call.starts_with("GET ")).collect();
    assert_eq!(writes, [""; 0]);
    assert_eq!(mesh.calls("Sqs"), [""; 0], "nothing is waited for that was not written");
}

const ALL: [&str; 5] = ["Health Corrected", "Health Corrected", "Task Broken", "Task Drained", "Task Repaired"];

#[tokio::test(start_paused = true)]
async fn sweeps_say_what_they_would_do_and_do_nothing() {
    let mesh = half_dead();
    let counters = Counters::start();
    // When sweeps observe
    for _ in 0..2 {
        let report = mesh.sweep_with(&SweepOrder::default(), observe).await;
        // Then the report says what they would do, every time
        assert_eq!((report.mode, report.outcome.as_str()), (Mode::Observe, "observed"), "{report:?}");
        assert_eq!((report.clusters[0].drained, report.clusters[0].repaired), (2, 1), "{report:?}");
        assert_eq!(mesh.announced(), events(&ALL, "observe"));
        assert_nothing_written(&mesh);
        assert_eq!(counters.take(), counts(&[("FullSweeps", 1)]), "nothing was done");
    }
    // And with the mode act, which needs nothing else, a sweep does that
    let report = mesh.sweep().await;
    assert_eq!((report.mode, report.outcome.as_str()), (Mode::Act, "done"), "{report:?}");
    assert_eq!((report.clusters[0].drained, report.clusters[0].repaired), (2, 1), "{report:?}");
    assert_eq!(mesh.announced(), events(&ALL, "act"));
    let counted = counters.take();
    let kinds = ["Broken", "Corrected", "Drained", "Repaired"].map(|kind| counted[&format!("Tasks{kind}")]);
    assert_eq!((kinds, counted["InstancesDrained"], counted["Drift"]), ([1, 2, 1, 1], 2, 8), "{counted:?}");
    assert_eq!(mesh.statuses(0).len(), 5, "a maintenance check of each instance");
}

#[tokio::test(start_paused = true)]
async fn events_say_what_they_would_do_and_do_nothing() {
    let mesh = half_dead();
    let event = mesh.event(0);
    mesh.handle(&event, observe).await;
    assert_eq!(mesh.announced(), events(&["Task Drained"], "observe"));
    assert_nothing_written(&mesh);
    // Nor is a task drained whose agent is disconnected: ECS does not know its containers
    let mut unknown = event.clone();
    unknown["detail"]["connectivity"] = json!("DISCONNECTED");
    mesh.handle(&unknown, |_| ()).await;
    assert_nothing_written(&mesh);
    // And otherwise it is, and announced, once
    for announced in [&["Task Drained"][..], &[]] {
        mesh.handle(&event, |_| ()).await;
        assert_eq!(mesh.announced(), events(announced, "act"));
        assert_eq!((mesh.statuses(0).len(), mesh.statuses(3).len()), (5, 3));
    }
}

/// A container whose health check has no result yet is UNKNOWN in `DescribeTasks`, and an event has no health at all:
/// <https://github.com/aws/containers-roadmap/issues/1515>
#[tokio::test(start_paused = true)]
async fn health_that_ecs_does_not_know_changes_nothing() {
    let mesh = Mesh::running(1);
    mesh.set_containers(0, Containers { is_hidden: true, ..DEFAULT });
    let before = mesh.statuses(0);
    let mut event = mesh.event(0);
    for container in event["detail"]["containers"].as_array_mut().into_iter().flatten() {
        container.as_object_mut().unwrap().remove("healthStatus");
    }
    for _ in 0..2 {
        mesh.handle(&event, |_| ()).await;
        assert_nothing_written(&mesh);
    }
    mesh.sweep().await;
    assert_nothing_written(&mesh);
    assert_eq!(mesh.statuses(0), before);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_registered_is_not_rechecked() {
    let mesh = Mesh::running(2);
    mesh.lose(0);
    // When a sweep observes, which has no time for a recheck
    let settings = |scope: &mut Scope| {
        observe(scope);
        without_recheck(scope);
    };
    let report = mesh.sweep_with(&SweepOrder::default(), settings).await;
    // Then it is complete
    assert_eq!((report.outcome.as_str(), report.clusters[0].repaired), ("observed", 1), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn checks_that_contradict_ecs_are_corrected_at_the_first_read() {
    // Given a task without a health-sync, and a sweep that has no time for a recheck
    let mesh = Mesh::running(3);
    mesh.set_containers(0, WITHOUT_SYNC);
    let report = mesh.sweep_with(&SweepOrder::default(), without_recheck).await;
    assert_eq!((report.outcome.as_str(), report.clusters[0].corrected), ("done", 3), "{report:?}");
    assert!(mesh.are_all(0, CheckStatus::Critical), "{:?}", mesh.statuses(0));
    // It reads the checks once more
    assert_eq!(mesh.calls("Consul").iter().filter(|call| call.starts_with("GET checks of ")).count(), 2);
    // And the checks of a task with a health-sync wait for the recheck
    mesh.set_containers(1, Containers { is_unhealthy: true, ..DEFAULT });
    let report = mesh.sweep_with(&SweepOrder::default(), without_recheck).await;
    assert_eq!((report.outcome.as_str(), report.clusters[0].corrected), ("incomplete", 0), "{report:?}");
    assert!(mesh.are_all(1, CheckStatus::Passing));
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_configuration_is_not_known_is_reported() {
    // Given a registered task without a health-sync, whose configuration comes from a secret
    let mesh = Mesh::running(2);
    mesh.set_containers(0, WITHOUT_SYNC);
    mesh.change(|world| {
        world.ecs.rewrites.definition =
            Box::new(|definition| definition.programs.registrar.as_mut().unwrap().reads_more = true);
    });
    // When a sweep sees it, it lists the task
    let report = mesh.sweep().await;
    assert!(mesh.why_skipped(&report, 0).contains("from a secret"), "{report:?}");
    assert!(mesh.are_all(0, CheckStatus::Passing));
}

#[tokio::test(start_paused = true)]
async fn a_container_with_unknown_health_is_reported_also_with_what_is_missing_or_wrong() {
    // Given a task whose app has an unknown health in ECS, while a check is missing and its proxy has failed
    let mesh = Mesh::running(2);
    let (id, missing) = (mesh.id(0), check_id(&sidecar_of(mesh.id(0).as_str()), "consul-dataplane"));
    mesh.change(|world| {
        world.consul.checks.retain(|check| !check.id.ends_with(&missing));
        world.ecs.rewrites.task = Box::new(move |task| {
            for container in task.containers.iter_mut().filter(|_| *task.arn.id() == id) {
                match container.name.as_str() {
                    "app" => container.health = ContainerHealth::Unknown,
                    "consul-dataplane" => container.health = ContainerHealth::Unhealthy,
                    _ => {}
                }
            }
        });
    });
    // When a sweep repairs and corrects it
    let report = mesh.sweep().await;
    assert_eq!((report.clusters[0].repaired, report.clusters[0].corrected), (1, 1), "{report:?}");
    // Then it is reported, once
    assert!(mesh.why_skipped(&report, 0).starts_with("ECS health status of container app: UNKNOWN"), "{report:?}");
    assert_eq!(mesh.statuses(0)["service-0-*-app"], CheckStatus::Passing);
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_was_tagged_meanwhile_opts_its_tasks_out() {
    // Given an environment that knows the definition, which an operator then tags
    let mesh = Mesh::running(2);
    mesh.sweep().await;
    mesh.change(|world| {
        world.ecs.rewrites.definition = Box::new(|definition| {
            let tags = [(MESH_TAG, "true"), (SERVICE_NAME_TAG, "service-0"), (REPAIR_TAG, "off")];
            definition.tags = Tags::from_iter(tags);
        });
    });
    mesh.lose(0);
    // When a sweep finds a task that Consul has lost
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].repaired, 0, "{report:?}");
    assert!(mesh.why_skipped(&report, 0).contains(REPAIR_TAG), "{report:?}");
}
