//! Sweeps under faults: a cluster that could not be read is not judged, and unfinished work is left to the next sweep.

mod agents;
mod cleanup;
mod counted;
mod hostile;
mod lists;
mod namesakes;
mod pages;
mod patterns;
mod planned;
mod pre_provisioned;
mod rotation;
mod unknown_kinds;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    environment::{self, Environment, at},
    time::{Fixed, LONG, over_when},
};
use controller::Edges;
use jiff::{SignedDuration, Timestamp};
use local_stack::world::{World, cluster_arn};
use observe::{Deadline, SweepCause, SweepOrder, Waited};
use report::{ErrorLabel, SweepOutcome, SweepReport};
use serde_json::json;
use test_harness::{
    fleet::Fleet,
    recorder::{Answer, RecordedRequest, Recorder},
};

/// The settings of all environments here: no grace period, and no bootstrap.
const AT_ONCE: [(&str, &str); 2] = [("REVOCATION_GRACE_SECONDS", "0"), ("BOOTSTRAP", "none")];

async fn environment(
    world: &World<'_>,
    consul: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
    aws: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
    further: &[(&'static str, &'static str)],
    change: impl FnOnce(Edges) -> Edges,
) -> Environment {
    let consul = Recorder::before(&world.consul.address, consul).await;
    let aws = environment::aws(aws).await;
    let settings: Vec<(&str, &str)> = AT_ONCE.iter().chain(further).copied().collect();
    Environment::between(world, consul, aws, &settings, change).await
}

fn forward(_: &RecordedRequest, _: usize) -> Answer {
    Answer::Forward
}

/// An environment with the default grace period, at this time.
async fn environment_at(world: &World<'_>, now: Timestamp) -> Environment {
    let consul = Recorder::before(&world.consul.address, forward).await;
    let aws = environment::aws(forward).await;
    let clock = Arc::new(Fixed(now));
    Environment::between(world, consul, aws, &[("BOOTSTRAP", "none")], |edges| at(clock, edges)).await
}

/// The same edges an hour later, when a token that is shown now may be hidden.
fn an_hour_later(edges: Edges) -> Edges {
    at(Arc::new(Fixed(Timestamp::now() + SignedDuration::from_hours(1))), edges)
}

/// Whether a service's secret shows no token.
async fn is_hidden(world: &World<'_>, service: &str) -> bool {
    world.secret_text(&world.secret_name(service)).await.is_some_and(|text| text.contains("\"retiring\""))
}

pub(crate) async fn swept(environment: &Environment, order: &SweepOrder) -> SweepReport {
    environment.controller.sweep(order, Deadline::after(LONG)).await
}

/// A second look at tasks that ECS did not know.
pub(crate) fn second_look<'a>(tasks: impl IntoIterator<Item = &'a str>) -> SweepOrder {
    let tasks = tasks.into_iter().map(|task| task.parse().expect("a task's ARN"));
    let waited = Waited { tasks: tasks.collect(), is_forced: false };
    SweepOrder { cause: SweepCause::SecondLook(waited), ..SweepOrder::default() }
}

/// `count` registered tasks of a service.
async fn start_tasks(world: World<'_>, tasks: usize) -> Fleet<'_> {
    let mut fleet = Fleet::of(world, "auto").await;
    fleet.add_services(1).await;
    fleet.start(0, tasks).await;
    fleet
}

/// A stopped task whose services are left in Consul.
async fn stopped_task_with_services(world: &World<'_>) -> String {
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    world.stop(&task).await;
    task
}

#[tokio::test]
async fn an_empty_listing_requires_consul_s_state() {
    let (_empty, other) =
        (World::without_deployment("empty-list").await, World::without_deployment("other-list").await);
    let both: &'static str =
        Box::leak([cluster_arn("empty-list"), cluster_arn("other-list")].join(",").into_boxed_str());
    other.run(&other.mesh_definition(&format!("{}-running", other.name)).await).await;
    let idle = other.consul_ecs_controller_token("other-list-idle").await;
    // Given a cluster without listed tasks, whose node in Consul cannot be read
    let consul = |seen: &RecordedRequest, _| {
        let is_its = seen.line().starts_with("GET /v1/catalog/node-services/") && seen.line().contains("empty-list");
        if is_its { Answer::status(500, "rpc error") } else { Answer::Forward }
    };
    let settings = [("ECS_CLUSTER_ARNS", both)];
    let blind = environment(&other, consul, forward, &settings, an_hour_later).await;
    let report = swept(&blind, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Incomplete);
    assert_eq!(
        other.pair(&other.secret_name("other-list-idle")).await,
        Some(idle),
        "a task may run there, in a region that was not read"
    );
    // And when it can be read, and is empty
    let seeing = environment(&other, forward, forward, &settings, an_hour_later).await;
    let report = swept(&seeing, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    assert!(is_hidden(&other, "other-list-idle").await);
}

#[tokio::test]
async fn a_bad_credential_deletes_nothing() {
    let world = World::without_deployment("bad-credential").await;
    stopped_task_with_services(&world).await;
    // Given a Consul that refuses all reads and accepts writes
    let consul = |seen: &RecordedRequest, _| {
        if seen.method == "GET" { Answer::status(403, "ACL not found") } else { Answer::Forward }
    };
    let environment = environment(&world, consul, forward, &[], |edges| edges).await;
    let report = swept(&environment, &SweepOrder { force: true, ..SweepOrder::default() }).await;
    assert_eq!(
        (report.outcome, report.problems[0].label.clone()),
        (SweepOutcome::Incomplete, ErrorLabel::ConsulCredentialRejected)
    );
    assert!(environment.consul.lines().iter().all(|line| line.starts_with("GET")), "{:?}", environment.consul.lines());
    assert_eq!(world.service_ids().await.len(), 2);
}

#[tokio::test]
async fn unfinished_work_waits_for_the_next_sweep() {
    let world = World::without_deployment("out-of-time").await;
    let mut fleet = start_tasks(world, 40).await;
    for task in 0..40 {
        fleet.stop(task).await;
    }
    let world = &fleet.world;
    // Consul never answers the second of two transactions
    let transactions = Arc::new(AtomicUsize::new(0));
    let consul = move |seen: &RecordedRequest, _| {
        let is_second = seen.line().starts_with("PUT /v1/txn") && transactions.fetch_add(1, Ordering::SeqCst) == 1;
        if is_second { Answer::Hang } else { Answer::Forward }
    };
    let environment = environment(world, consul, forward, &[], |e| e).await;
    let order = SweepOrder { force: true, ..SweepOrder::default() };
    // When the deadline passes during that transaction
    let deadline = Deadline::after(LONG);
    let is_stuck = || {
        let written = environment.consul.lines().iter().filter(|line| line.starts_with("PUT /v1/txn")).count();
        match (written, environment.under_way()) {
            (2, ([1, 0], false)) => Ok(()),
            seen => Err(format!("(transactions, requests to Consul and to AWS that wait, is one unread): {seen:?}")),
        }
    };
    let work = environment.controller.sweep(&order, deadline);
    let (report, overrun) = over_when(work, "the second transaction", is_stuck, || deadline.left()).await;
    // Then the first transaction is reported as done, and the rest as left
    assert_eq!((report.outcome, overrun.as_secs()), (SweepOutcome::Incomplete, 0), "{overrun:?} after the deadline");
    let cluster = &report.clusters[0];
    assert_eq!((cluster.deleted["services"], cluster.left), (64, 16), "{report:?}");
    assert!(report.problems.iter().any(|problem| problem.label == ErrorLabel::OutOfTime), "{:?}", report.problems);
    let report = swept(&environment, &order).await;
    assert_eq!((report.outcome, report.clusters[0].deleted["services"]), (SweepOutcome::Done, 16));
    assert_eq!(world.service_ids().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_task_with_an_invalid_name_is_a_fault_of_its_own() {
    let world = World::without_deployment("invalid-name").await;
    stopped_task_with_services(&world).await;
    // Given a running task of the mesh whose service has no valid name
    let tags = [("consul.hashicorp.com/mesh", "true"), ("consul.hashicorp.com/service-name", "Not A Name")];
    let tags: Vec<_> = tags.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
    let task = world.run(&world.definition("invalid-name-app", &json!(tags), None).await).await;
    let environment = environment(&world, forward, forward, &[], |edges| edges).await;
    let report = swept(&environment, &SweepOrder::default()).await;
    // Then the sweep names it, and does everything else
    assert_eq!((report.outcome, report.faults.len()), (SweepOutcome::Done, 1), "{report:?}");
    let owner = report.faults[0].owner.as_deref().unwrap_or_default();
    assert!(owner.contains(local_stack::world::task_id(&task)) && owner.contains("invalid-name-app"), "{owner}");
    assert_eq!(report.clusters[0].deleted["services"], 2, "{report:?}");
}
