//! What the health of containers in ECS says of the checks in Consul.

use mesh::{
    catalog::CheckStatus::{self, Critical, Passing},
    consul_ecs::names::DATAPLANE,
    health::{SyncedTask, verdict},
    task::ContainerHealth::{self, Healthy, Unhealthy, Unknown},
};
use mesh_examples::container;

fn task(containers: &[(&str, ContainerHealth)]) -> SyncedTask {
    let containers = containers.iter().map(|(name, health)| container(name, *health));
    SyncedTask { containers: containers.collect(), synced: vec!["app".to_owned()], is_overall: Some(true) }
}

/// What ECS says of the checks of the app and the dataplane.
fn statuses(task: &SyncedTask) -> [Option<CheckStatus>; 2] {
    ["app", DATAPLANE].map(|container| verdict(task, container).unwrap().status)
}

#[test]
fn checks_pass_if_all_containers_are_healthy() {
    let task = task(&[("app", Healthy), (DATAPLANE, Healthy), ("other", Healthy)]);
    assert_eq!(statuses(&task), [Some(Passing); 2]);
    assert_eq!(verdict(&task, "other"), None, "it is not synced");
}

#[test]
fn unhealthy_stopped_or_missing_app_makes_all_checks_critical() {
    let unhealthy = task(&[("app", Unhealthy), (DATAPLANE, Healthy)]);
    let mut stopped = task(&[("app", Healthy), (DATAPLANE, Healthy)]);
    stopped.containers[0].is_stopped = true;
    for task in [unhealthy, stopped, task(&[(DATAPLANE, Healthy)])] {
        assert_eq!(statuses(&task), [Some(Critical); 2]);
    }
}

#[test]
fn unknown_health_of_a_running_container_says_nothing() {
    assert_eq!(statuses(&task(&[("app", Unknown), (DATAPLANE, Healthy)])), [None; 2]);
    assert_eq!(statuses(&task(&[("app", Healthy), (DATAPLANE, Unknown)])), [Some(Passing), None]);
    assert_eq!(statuses(&task(&[("app", Unhealthy), (DATAPLANE, Unknown)])), [Some(Critical); 2]);
    let verdict = verdict(&task(&[("app", Unknown), (DATAPLANE, Healthy)]), DATAPLANE).unwrap();
    assert_eq!((verdict.initial(), verdict.why.as_str()), (Critical, "ECS health status of container app: UNKNOWN"));
}

#[test]
fn another_container_lowers_the_dataplane_only_in_releases_that_do() {
    let of_release = |is_overall: Option<bool>, app: ContainerHealth, dataplane: ContainerHealth| {
        statuses(&SyncedTask { is_overall, ..task(&[("app", app), (DATAPLANE, dataplane)]) })[1]
    };
    assert_eq!(of_release(Some(true), Unhealthy, Healthy), Some(Critical));
    assert_eq!(of_release(Some(false), Unhealthy, Healthy), Some(Passing));
    // Where the release is not known, only its own health does; it passes where it would in every release
    assert_eq!(of_release(None, Unhealthy, Healthy), None);
    assert_eq!(of_release(None, Healthy, Unhealthy), Some(Critical));
    assert_eq!(of_release(None, Healthy, Healthy), Some(Passing));
}
