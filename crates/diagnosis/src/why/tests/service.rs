//! Services.

use mesh::{task::ContainerHealth, tenancy::Tenancy};
use observe::{CatalogReading, Definitions, ServiceMessage, ServiceState};

use mesh_examples::container;

use super::*;
use crate::examples::{INIT, described};

/// The answer for the service, after a change.
fn asked(change: impl FnOnce(&mut InspectedCluster, &mut Background)) -> WhyReport {
    let (mut cluster, mut background) = (healthy(), background());
    change(&mut cluster, &mut background);
    let observed = Inspection { clusters: vec![cluster], problems: Vec::new() };
    let Found::One(row) = find_service("web", &Within::default(), &observed, None, now()) else { panic!("not once") };
    why_service("web", Some(&row), &observed, &background, now())
}

#[test]
fn healthy_service_is_healthy() {
    assert_eq!(asked(|_, _| {}).conclusion, "healthy");
}

#[test]
fn service_is_explained_by_its_worst_task() {
    let report = asked(|cluster, _| deregister(cluster));
    let expected = format!("1 of its 2 tasks, {}, has a fault: Consul has lost it", id(1));
    assert!(report.conclusion.starts_with(&expected), "{}", report.conclusion);
    assert_eq!(report.cause, WhyCause::LostFromTheCatalog);
}

#[test]
fn service_whose_tasks_fail_is_explained_by_the_last_that_stopped() {
    let report = asked(|cluster, _| {
        cluster.tasks.truncate(1);
        stop(cluster, "TaskFailedToStart", "Dependency failed", vec![exited(INIT, Some(1), None)]);
        cluster.catalog.as_mut().unwrap().instances.clear();
    });
    let expected = format!("0 of its 2 desired tasks run; the last failed task is {}: It was never registered", id(1));
    assert!(report.conclusion.starts_with(&expected), "{}", report.conclusion);
    // Also if ECS no longer knows it
    let report = asked(|cluster, background| {
        cluster.tasks.clear();
        cluster.catalog.as_mut().unwrap().instances.clear();
        background.history.lines.push(end_line("EssentialContainerExited", "app exited with 3"));
    });
    assert_eq!(report.cause, WhyCause::EssentialContainerExited, "{}", report.conclusion);
    assert!(report.timeline.iter().any(|event| event.what.contains("app exited with 3")), "{report:?}");
}

#[test]
fn service_that_starts_again_and_again_says_why_the_last_task_failed() {
    let starting = |cluster: &mut InspectedCluster| {
        let task = described(&mut cluster.tasks[1]);
        (task.end.created_at, task.end.started_at) = (Some(minutes_ago(1)), None);
        task.containers[0] = container(INIT, ContainerHealth::Unknown);
        cluster.catalog.as_mut().unwrap().instances.clear();
        cluster.services[0].state.desired = 1;
    };
    let report = asked(|cluster, _| {
        starting(cluster);
        cluster.tasks.remove(0);
    });
    assert_eq!((report.cause, report.condition), (WhyCause::Starting, Condition::Starting), "{}", report.conclusion);
    let report = asked(|cluster, _| {
        starting(cluster);
        stop(cluster, "EssentialContainerExited", "…", vec![exited("app", Some(3), None)]);
    });
    assert_eq!((report.cause, report.condition), (WhyCause::EssentialContainerExited, Condition::Faulty));
    let expected = format!("It is starting again; the last failed task is {}: It stopped because", id(1));
    assert!(report.conclusion.starts_with(&expected), "{}", report.conclusion);
}

#[test]
fn service_that_ecs_cannot_place_says_why() {
    let report = asked(|cluster, _| {
        cluster.services[0].state.desired = 3;
        cluster.services[0].state.trouble = Some("was unable to place a task because of no capacity".to_owned());
    });
    let expected = "2 of its 3 desired tasks run because ECS was unable to place a task because of no capacity. Fix \
                    this problem";
    assert_eq!((report.cause, report.conclusion.as_str()), (WhyCause::NotPlaced, expected));
}

#[test]
fn service_in_several_clusters_is_asked_for_its_cluster() {
    let other = InspectedCluster {
        arn: "arn:aws:ecs:us-east-1:123456789012:cluster/test".parse().unwrap(),
        catalog: Some(CatalogReading::default()),
        ..healthy()
    };
    let observed = Inspection { clusters: vec![healthy(), other], problems: Vec::new() };
    let Found::Several(places) = find_service("web", &Within::default(), &observed, None, now()) else {
        panic!("it was found once")
    };
    assert_eq!(places, ["web (cluster prod)", "web (cluster test)"]);
}

#[test]
fn service_in_several_namespaces_is_asked_for_its_namespace() {
    let mut cluster = healthy();
    for (number, namespace) in ["default", "team-a"].iter().enumerate() {
        let tenancy =
            Tenancy::Enterprise { partition: "default".parse().unwrap(), namespace: namespace.parse().unwrap() };
        cluster.tasks[number].identity.service.tenancy = tenancy;
    }
    cluster.services.clear();
    let observed = Inspection { clusters: vec![cluster], problems: Vec::new() };
    let Found::Several(places) = find_service("web", &Within::default(), &observed, None, now()) else {
        panic!("it was found once")
    };
    let place = |namespace: &str| format!("web (cluster prod, partition default, namespace {namespace})");
    assert!(["default", "team-a"].iter().all(|namespace| places.contains(&place(namespace))), "{places:?}");
    let within = Within { namespace: Some("team-a".to_owned()), ..Within::default() };
    let Found::One(row) = find_service("web", &within, &observed, None, now()) else { panic!("not found once") };
    assert_eq!(row.namespace.as_deref(), Some("team-a"));
    let within = Within { namespace: Some("team-b".to_owned()), ..Within::default() };
    let Found::Elsewhere(places) = find_service("web", &within, &observed, None, now()) else { panic!("found") };
    assert_eq!(places.len(), 2);
}

#[test]
fn ecs_service_outside_the_mesh_is_told_what_is_missing() {
    let outside = |is_read: bool, is_express: bool| {
        let mut cluster = healthy();
        let state = ServiceState { name: "batch".to_owned(), is_express, ..cluster.services[0].state.clone() };
        cluster.outside.services.push(state);
        if !is_read {
            cluster.definitions = Definitions::default();
        }
        let observed = Inspection { clusters: vec![cluster], problems: Vec::new() };
        why_service("batch", None, &observed, &background(), now())
    };
    let report = outside(true, false);
    assert_eq!((report.cause, report.condition), (WhyCause::NotInTheMesh, Condition::Faulty), "{}", report.conclusion);
    assert!(report.conclusion.contains("its task definition web:3 lacks the tag"), "{}", report.conclusion);
    // A tag that is added to what Express Mode generates may be lost with the next update
    let report = outside(true, true);
    let expected = "It is an ECS service in cluster prod but not in the mesh: Express Mode manages it, and its updates may \
                    overwrite what others change. To have it in the mesh, create an ECS service with a task definition of your own";
    assert_eq!((report.cause, report.conclusion.as_str()), (WhyCause::NotInTheMesh, expected));
    let report = outside(false, true);
    assert_eq!(
        (report.cause, report.condition),
        (WhyCause::DefinitionNotRead, Condition::Unknown),
        "{}",
        report.conclusion
    );
}

#[test]
fn service_that_is_gone_or_was_never_there_is_told_apart() {
    let without = |background: &Background| {
        let observed = Inspection {
            clusters: vec![InspectedCluster { services: Vec::new(), tasks: Vec::new(), ..healthy() }],
            problems: Vec::new(),
        };
        why_service("billing", None, &observed, background, now())
    };
    let report = without(&background());
    assert_eq!((report.cause, report.condition), (WhyCause::UnknownService, Condition::Unknown));
    let mut background = background();
    background.log(60, json!({ "action": "revoke", "outcome": "done", "holder": "service billing" }));
    let report = without(&background);
    assert_eq!((report.cause, report.condition), (WhyCause::Gone, Condition::Ended), "{}", report.conclusion);
}

#[test]
fn name_that_nothing_has_is_told_with_what_was_meant() {
    let observed = Inspection { clusters: vec![healthy()], problems: Vec::new() };
    let said = |name: &str| why_service(name, None, &observed, &background(), now()).conclusion;
    assert!(said("wbe").contains(". Did you mean web? Check the name"), "{}", said("wbe"));
    let task = id(1).to_string();
    let whole = format!(". A task needs its whole ID: ecs-mesh why {task}. Check");
    let short: String = task.chars().take(8).collect();
    assert!(said(&short).contains(&whole), "{}", said(&short));
    assert!(said("payments").contains("Check the name"), "{}", said("payments"));
}

#[test]
fn timeline_has_what_ecs_and_the_controller_did_oldest_first() {
    let report = asked(|cluster, background| {
        let said = |minutes, message: &str| ServiceMessage { at: minutes_ago(minutes), message: message.to_owned() };
        cluster.services[0].state.events = vec![said(8, "has reached a steady state"), said(3_000, "too long ago")];
        described(&mut cluster.tasks[0]).containers[1].health = ContainerHealth::Unhealthy;
        for (holder, accessor) in [("service web", "a"), ("service other", "b")] {
            let created =
                json!({ "action": "create_token", "outcome": "done", "holder": holder, "accessor_id": accessor });
            background.log(9, created);
        }
    });
    let said: Vec<(Who, &str)> = report.timeline.iter().map(|event| (event.who, event.what.as_str())).collect();
    let created = "created it for the service web: web:3, consul-ecs 0.9.0, consul-dataplane 1.6.2";
    let started = "started all of its containers";
    let of_tasks = [(1, created), (2, created), (1, started), (2, started)];
    let of_tasks = of_tasks.map(|(number, what)| format!("task {}: {what}", id(number)));
    assert_eq!(said[..4], of_tasks.each_ref().map(|what| (Who::Ecs, what.as_str())));
    assert_eq!(
        said[4..],
        [
            (Who::Controller, "created the token a of the service web"),
            (Who::Ecs, "service web has reached a steady state"),
            (Who::Ecs, "now runs 2 of 2 desired tasks"),
            (Who::Consul, "now has 2 instances (passing all checks: 2)"),
        ]
    );
}
