//! A noisy cluster does not delay others: neither by slow answers, nor by conflicts, nor by floods of messages.

use observe::Deadline;
use serde_json::{Value, json};

use crate::{
    environment::Environment,
    time::{LONG, later_when},
};
use local_stack::world::{World, task_id};
use test_harness::recorder::{Answer, RecordedRequest};

const LOGINS: (&str, &str) = ("TOKEN_MODE", "auth-method");

/// The setting for one deployment with both clusters.
fn both(noisy: &World<'_>, quiet: &World<'_>) -> (&'static str, &'static str) {
    ("ECS_CLUSTER_ARNS", Box::leak([noisy.cluster(), quiet.cluster()].join(",").into_boxed_str()))
}

/// The event of a stopped task whose services are left in Consul.
async fn stopped(world: &World<'_>) -> Value {
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    world.stop(&task).await;
    world.event(&task).await
}

#[tokio::test]
async fn a_slow_cluster_delays_no_other() {
    // Given a cluster that is handled first, and whose services Consul does not list in time
    let (noisy, quiet) =
        (World::without_deployment("fair-a-slow").await, World::without_deployment("fair-b-quiet").await);
    let events = [stopped(&noisy).await, stopped(&quiet).await];
    let is_slow = |seen: &RecordedRequest, _: usize| {
        let is_noisy = seen.uri.contains("node-services") && seen.uri.contains("fair-a-slow");
        if is_noisy { Answer::Hang } else { Answer::Forward }
    };
    let is_asked = |lines: &[String], what: &str| lines.iter().any(|line| line.contains(what));
    let environment = Environment::scripted(&quiet, &[LOGINS, both(&noisy, &quiet)], is_slow).await;
    // When a task of each cluster has stopped, and half of the time passes without the listing
    let is_stuck = || {
        let lines = environment.consul.lines();
        let all = ["/v1/acl/tokens", "cluster%2Ffair-a-slow", "cluster%2Ffair-b-quiet"];
        let is_all_asked = all.iter().all(|what| is_asked(&lines, what));
        match (environment.consul.under_way(), environment.consul.has_unread()) {
            (1, false) if is_all_asked => Ok(()),
            seen => Err(format!("(requests without an answer, is one unread): {seen:?}, of {lines:?}")),
        }
    };
    let deadline = Deadline::after(LONG);
    let work = environment.handle_until(deadline, &events);
    let report = later_when(work, "only the slow list to be missing", is_stuck, || deadline.left() / 2).await;
    // Then only the message of that cluster fails
    let failed: Vec<&str> = report.failures.iter().map(|failure| failure.id.as_str()).collect();
    assert_eq!(failed, ["0"], "{report:?}");
    assert_eq!(quiet.service_ids().await, Vec::<String>::new());
    assert_eq!(noisy.service_ids().await.len(), 2);
}

#[tokio::test]
async fn conflicts_on_one_node_affect_no_other() {
    let (noisy, quiet) =
        (World::without_deployment("fair-a-restless").await, World::without_deployment("fair-b-calm").await);
    let events = [stopped(&noisy).await, stopped(&quiet).await];
    let is_stale = |seen: &RecordedRequest, _: usize| {
        if seen.uri.starts_with("/v1/txn") && seen.body.contains("fair-a-restless") {
            return Answer::status(409, STALE);
        }
        Answer::Forward
    };
    let environment = Environment::scripted(&quiet, &[LOGINS, both(&noisy, &quiet)], is_stale).await;
    let report = environment.handle(&events).await;
    let failed: Vec<&str> = report.failures.iter().map(|failure| failure.id.as_str()).collect();
    assert_eq!(failed, ["0"], "{report:?}");
    assert_eq!(quiet.service_ids().await, Vec::<String>::new());
}

const STALE: &str = r#"{"Errors":[{"OpIndex":0,"What":"failed to delete service, index is stale"}]}"#;

#[tokio::test]
async fn an_entry_of_one_task_affects_no_other_task() {
    // Given entries that always change, and entries that are too large for a transaction
    for (name, status, text) in [("fair-tasks", 409, STALE), ("fair-large", 413, "Request body too large")] {
        one_of_three_fails(name, status, text).await;
    }
}

async fn one_of_three_fails(name: &'static str, status: u16, text: &'static str) {
    // Given three stopped tasks of one cluster, of which one has such an entry
    let world = World::without_deployment(name).await;
    let definition = world.mesh_definition(&world.service()).await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let task = world.run(&definition).await;
        world.register_instance(&world.service(), &task).await;
        world.stop(&task).await;
        tasks.push(task);
    }
    let restless = tasks[1].clone();
    let environment = Environment::scripted(&world, &[LOGINS], move |seen, _| {
        let is_of_it = seen.uri.starts_with("/v1/txn") && seen.body.contains(task_id(&restless));
        if is_of_it { Answer::status(status, text) } else { Answer::Forward }
    })
    .await;
    let mut events = Vec::new();
    for task in &tasks {
        events.push(world.event(task).await);
    }
    let report = environment.handle(&events).await;
    // Then only its message fails, and the entries of the others are gone
    let failed: Vec<&str> = report.failures.iter().map(|failure| failure.id.as_str()).collect();
    assert_eq!(failed, ["1"], "{report:?}");
    let left = world.service_ids().await;
    assert!(!left.is_empty() && left.iter().all(|id| id.contains(task_id(&tasks[1]))), "{left:?}");
}

#[tokio::test]
async fn a_changed_entry_of_one_task_delays_no_drain_of_another() {
    let world = World::without_deployment("fair-drains").await;
    let definition = world.mesh_definition(&world.service()).await;
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let task = world.run(&definition).await;
        world.register_instance(&world.service(), &task).await;
        tasks.push(task);
    }
    let restless = tasks[0].clone();
    let fails = move |seen: &RecordedRequest, _: usize| {
        let is_registration = seen.line().starts_with("PUT /v1/catalog/register");
        match seen.body.contains(task_id(&restless)) {
            true if is_registration => Answer::status(409, "index is stale"),
            true if seen.uri.starts_with("/v1/txn") => Answer::status(409, STALE),
            _ => Answer::Forward,
        }
    };
    let environment = Environment::scripted(&world, &[LOGINS], fails).await;
    let mut events = Vec::new();
    for task in &tasks {
        events.push(world.event_as(task, "RUNNING", "STOPPED", 4).await);
    }
    let report = environment.handle(&events).await;
    assert_eq!(report.failures.iter().map(|failure| failure.id.as_str()).collect::<Vec<_>>(), ["0"], "{report:?}");
    let is_drained = |check: &Value| check["CheckID"].as_str().unwrap().starts_with("_service_maintenance");
    assert!(world.checks_of(&tasks[1]).await.iter().any(is_drained), "the other task is drained");
}

#[tokio::test]
async fn a_flood_of_invalid_messages_fails_alone() {
    let quiet = World::without_deployment("fair-flooded").await;
    let (cluster, definition) =
        (quiet.cluster(), quiet.cluster().replace(":cluster/fair-flooded", ":task-definition/web:7"));
    let nonsense = |number: u32| {
        json!({
            "source": "aws.ecs", "detail-type": "ECS Task State Change", "time": "2026-11-20T10:00:00Z",
            "detail": {
                "clusterArn": cluster, "taskArn": number, "lastStatus": "RUNNING", "taskDefinitionArn": definition,
            },
        })
    };
    let mut events: Vec<Value> = (0..200).map(nonsense).collect();
    events.insert(100, stopped(&quiet).await);
    let environment = Environment::scripted(&quiet, &[LOGINS], |_, _| Answer::Forward).await;
    let report = environment.handle(&events).await;
    assert_eq!(report.failures.len(), 200);
    assert!(report.failures.iter().all(|failure| failure.id != "100"), "{report:?}");
    assert_eq!(quiet.service_ids().await, Vec::<String>::new());
}
