//! What load balancers say of the tasks of the destination.

use std::collections::BTreeSet;

use mesh::catalog::CheckStatus;
use observe::{Balanced, Origin, Target, TargetsError};

use super::*;
use crate::examples::described;

const GROUP: &str = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/6d0ecf831eec9f09";
const OTHER: &str = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-green/1d0ecf831eec9f08";

/// The service web, which has two tasks, is called. Its ECS service registers them in a target group, with these states.
fn balanced(states: &[(&str, &str)]) -> World {
    let mut world = World::new(NEW);
    tasks::to_web(&mut world);
    let cluster = &mut world.observed.clusters[0];
    for (number, task) in (1..).zip(&mut cluster.tasks) {
        described(task).placement.address = Some([10, 0, 0, number].into());
    }
    let entry = Balanced { container: "app".to_owned(), port: 8080, groups: vec![GROUP.to_owned()] };
    cluster.services[0].state.balanced = vec![entry];
    world.targets.0.insert(GROUP.to_owned(), Ok(targets(states)));
    world
}

fn targets(states: &[(&str, &str)]) -> Vec<Target> {
    let target = |(address, state): &(&str, &str)| {
        let reason = if *state == "healthy" { "" } else { "Target.FailedHealthChecks" };
        Target { id: (*address).to_owned(), port: Some(8080), state: (*state).to_owned(), reason: reason.to_owned() }
    };
    states.iter().map(target).collect()
}

/// What is said of load balancers: after the line about the proxies.
fn said(world: &World) -> Vec<PathLine> {
    world.path().lines.into_iter().filter(|line| line.place == Place::DestinationTasks).skip(1).collect()
}

#[test]
fn task_that_ecs_calls_healthy_and_its_load_balancer_does_not_is_possible() {
    let [line] = said(&balanced(&[("10.0.0.1", "healthy"), ("10.0.0.2", "unhealthy")])).try_into().unwrap();
    let part = format!(
        "1 of 2 healthy tasks of ECS service web have no healthy target in web: task {} at 10.0.0.2:8080 is unhealthy \
         (Target.FailedHealthChecks). Requests of the mesh do not pass the load balancer",
        id(2)
    );
    assert!(line.verdict == PlaceVerdict::Possible && line.what.starts_with(&part), "{line:?}");
    assert_eq!(line.commands, [format!("aws elbv2 describe-target-health --target-group-arn {GROUP}")]);
    let [line] = said(&balanced(&[("10.0.0.1", "healthy")])).try_into().unwrap();
    assert!(line.what.contains("at 10.0.0.2 is not registered there"), "{line:?}");
    // It never stops a request of the mesh
    let path = balanced(&[]).path();
    assert_eq!(path.passage, Passage::Open, "{path:#?}");
    assert!(path.conclusion.ends_with("Possible: destination-tasks"), "{}", path.conclusion);
    // A target that is being checked is not judged, and neither is a task that ECS or Consul calls unhealthy
    for state in ["healthy", "initial", "unavailable", "draining"] {
        let found = said(&balanced(&[("10.0.0.1", "healthy"), ("10.0.0.2", state)]));
        assert!(found.is_empty(), "{state}: {found:?}");
    }
    let mut failing = balanced(&[("10.0.0.1", "healthy"), ("10.0.0.2", "unhealthy")]);
    for check in &mut failing.observed.clusters[0].catalog.as_mut().unwrap().checks {
        check.status = CheckStatus::Critical;
    }
    assert!(said(&failing).is_empty(), "{:?}", said(&failing));
}

#[test]
fn arn_of_a_target_group_is_one_word_of_a_shell() {
    let mut world = balanced(&[]);
    let group = format!("{GROUP}$(id)");
    world.observed.clusters[0].services[0].state.balanced[0].groups = vec![group.clone()];
    world.targets.0.insert(group.clone(), Ok(Vec::new()));
    let [line] = said(&world).try_into().unwrap();
    assert_eq!(line.commands, [format!("aws elbv2 describe-target-health --target-group-arn '{group}'")]);
}

#[test]
fn sentence_about_a_target_has_no_unknown_port_no_empty_reason_and_no_secret() {
    let what = |port: Option<u16>, state: &str, reason: &str| {
        let id = "10.0.0.2".to_owned();
        let other = Target { id, port, state: state.to_owned(), reason: reason.to_owned() };
        let mut world = balanced(&[("10.0.0.1", "healthy")]);
        world.targets.0.insert(OTHER.to_owned(), Ok(vec![other]));
        world.observed.clusters[0].services[0].state.balanced[0].groups.push(OTHER.to_owned());
        let [line] = said(&world).try_into().unwrap();
        line.what
    };
    let found = what(None, "unhealthy", "");
    assert!(found.contains(" at 10.0.0.2 is unhealthy. Requests"), "{found}");
    let found = what(Some(8080), "", "");
    assert!(found.contains(" at 10.0.0.2:8080 is in an unknown state. Requests"), "{found}");
    let found = what(Some(8080), "unhealthy", "refused: password=hunter2secret");
    assert!(found.contains("is unhealthy (refused: ") && !found.contains("hunter2secret"), "{found}");
}

#[test]
fn target_of_either_group_of_a_deployment_that_shifts_requests_is_enough() {
    let mut world = balanced(&[("10.0.0.1", "healthy")]);
    world.observed.clusters[0].services[0].state.balanced[0].groups.push(OTHER.to_owned());
    world.targets.0.insert(OTHER.to_owned(), Ok(targets(&[("10.0.0.2", "healthy")])));
    assert!(said(&world).is_empty(), "{:?}", said(&world));
}

#[test]
fn target_health_that_could_not_be_read_is_unknown_with_its_permission() {
    let with = |error| {
        let mut world = balanced(&[]);
        world.targets.0.insert(GROUP.to_owned(), Err(error));
        let [line] = said(&world).try_into().unwrap();
        (line.verdict, line.missing_permission)
    };
    let permission = "elasticloadbalancing:DescribeTargetHealth".to_owned();
    let refused = with(TargetsError::Refused("AccessDenied".to_owned()));
    assert_eq!(refused, (PlaceVerdict::Unknown, Some(permission)));
    assert_eq!(with(TargetsError::Failed("status 503".to_owned())), (PlaceVerdict::Unknown, None));
}

#[test]
fn only_the_target_groups_of_the_services_that_the_name_means_are_read() {
    let groups = |world: &World| {
        let origin = Origin { source: &world.source, mesh: &world.mesh };
        target_groups(&world.observed, &world.destination, origin)
    };
    assert_eq!(groups(&balanced(&[])), BTreeSet::from([GROUP.to_owned()]));
    // Another service is called, or none of its own is in a target group
    let mut other = balanced(&[]);
    other.destination.chain = World::new(NEW).destination.chain;
    assert!(groups(&other).is_empty());
    let mut without = balanced(&[]);
    without.observed.clusters[0].services[0].state.balanced.clear();
    assert!(groups(&without).is_empty());
    // In another datacenter, or of a peer
    for (datacenter, peer) in [("dc2", ""), ("dc1", "east")] {
        let mut elsewhere = balanced(&[]);
        for target in elsewhere.destination.chain.as_mut().unwrap().targets.values_mut() {
            (target.datacenter, target.peer) = (datacenter.to_owned(), peer.to_owned());
        }
        assert!(groups(&elsewhere).is_empty(), "{datacenter} {peer}");
    }
}
