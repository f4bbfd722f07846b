//! How tasks are listed: all clusters at once, but in each cluster first the running tasks and then the stopped ones; no faster than ECS
//! allows.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use aws::ecs::{AwsEcs, TaskList, Tasks};
use local_stack::world::{World, cluster_arn, idle_check};
use observe::SweepOrder;
use report::SweepOutcome;
use serde_json::json;
use test_harness::{
    installation::{CLUSTER, Installation, RateLimit},
    recorder::{Answer, Gate, RecordedRequest, Recorder},
};

use super::{environment, forward, swept};
use crate::environment::{Environment, sdk_at};

const CLUSTERS: [&str; 3] = ["at-once-a", "at-once-b", "at-once-c"];

fn is_list_of(seen: &RecordedRequest, status: &str) -> bool {
    seen.operation().as_deref() == Some("ListTasks") && seen.json()["desiredStatus"] == status
}

/// An environment whose ECS lists no running tasks until it was asked for the running tasks of every cluster.
async fn environment_with_gate(world: &World<'_>) -> Environment {
    let all: &'static str = Box::leak(CLUSTERS.map(cluster_arn).join(",").into_boxed_str());
    let gate = Gate::of(CLUSTERS.len());
    let aws = move |seen: &RecordedRequest, _| {
        if is_list_of(seen, "RUNNING") { Answer::ForwardThrough(Arc::clone(&gate)) } else { Answer::Forward }
    };
    environment(world, forward, aws, &[("ECS_CLUSTER_ARNS", all)], |edges| edges).await
}

#[tokio::test]
async fn clusters_are_listed_at_once() {
    let mut worlds = Vec::new();
    for name in CLUSTERS {
        worlds.push(World::without_deployment(name).await);
    }
    let world = &worlds[0];
    world.consul_ecs_controller_token(&world.service()).await;
    // When a sweep and an idle check run
    let sweeping = environment_with_gate(world).await;
    let report = swept(&sweeping, &SweepOrder::default()).await;
    let checking = environment_with_gate(world).await;
    let checked = checking.handle(&[idle_check(&world.service())]).await;
    // Then both read everything
    assert_eq!((report.outcome, report.clusters.len()), (SweepOutcome::Done, CLUSTERS.len()), "{report:?}");
    assert!(checked.failures.is_empty(), "{:?}", checked.failures);
}

#[tokio::test]
async fn a_task_that_stops_during_the_listing_is_listed() {
    // Given a task that stops after the first page of the running tasks, in which it is not
    let task = format!("{}/{:032x}", cluster_arn("moving").replace(":cluster/", ":task/"), 1);
    let (arn, has_stopped) = (task.clone(), AtomicBool::new(false));
    let ecs = Recorder::start(move |seen, _| {
        let is_first_page = seen.json()["nextToken"].is_null();
        if is_list_of(seen, "RUNNING") && is_first_page {
            return Answer::ok(json!({ "taskArns": [], "nextToken": "2" }).to_string());
        }
        if is_list_of(seen, "RUNNING") {
            has_stopped.store(true, Ordering::SeqCst);
            return Answer::ok(json!({ "taskArns": [] }).to_string());
        }
        let stopped = has_stopped.load(Ordering::SeqCst).then_some(&arn);
        Answer::ok(json!({ "taskArns": Vec::from_iter(stopped) }).to_string())
    })
    .await;
    // When its cluster is listed
    let listed = AwsEcs::new(&sdk_at(&ecs.url)).list_tasks(&cluster_arn("moving").parse().unwrap()).await.unwrap();
    // Then it is among the stopped tasks
    assert_eq!(listed, TaskList { running: Vec::new(), stopped: vec![task.parse().unwrap()] });
}

#[tokio::test]
async fn a_long_list_is_read_no_faster_than_ecs_allows() {
    // Given more pages of tasks than ECS allows to read at once
    let installation = Installation::of(15_000);
    let aws = installation.aws(RateLimit::Documented).await;
    // When they are listed
    let listed = AwsEcs::new(&sdk_at(&aws.url)).list_tasks(&CLUSTER.parse().unwrap()).await.unwrap();
    // Then no call was throttled, and repeated
    assert_eq!((listed.running.len(), listed.stopped.len()), (installation.running, installation.stopped));
    assert_eq!(aws.requests().len(), installation.pages());
}
