//! Pages of ECS's answers that are missing or incomplete.

use ::aws::ecs::AwsEcs;
use jiff::Timestamp;
use mesh::tenancy::Tenancy;
use observe::{Deadline, Inspector, SweepOrder};
use report::{SweepOutcome, SweptStatus};
use serde_json::{Value, json};

use super::{
    an_hour_later, environment as start, forward, is_hidden, second_look, start_tasks, stopped_task_with_services,
    swept,
};
use crate::{
    environment::{client, refusal, sdk_at},
    time::LONG,
};
use local_stack::world::{World, cluster_arn, idle_check};
use test_harness::recorder::{Answer, RecordedRequest};

/// The running tasks: more than one page.
const RUNNING: usize = 105;

type Script = fn(&RecordedRequest, usize) -> Answer;

/// Whether it is the `DescribeTasks` call for the second chunk of the tasks in cluster `pages`.
fn is_second_chunk(seen: &RecordedRequest) -> bool {
    let asked = seen.json()["tasks"].as_array().map_or(0, Vec::len);
    seen.operation().as_deref() == Some("DescribeTasks") && seen.body.contains("cluster/pages") && asked < 100
}

fn without_next_page(seen: &RecordedRequest, _: usize) -> Answer {
    if seen.operation().as_deref() == Some("ListTasks") && seen.json()["nextToken"].is_string() {
        return refusal("AccessDeniedException");
    }
    Answer::Forward
}

fn without_second_chunk(seen: &RecordedRequest, _: usize) -> Answer {
    if is_second_chunk(seen) { refusal("AccessDeniedException") } else { Answer::Forward }
}

/// The last task of the second chunk is neither described nor reported as missing.
fn with_short_chunk(seen: &RecordedRequest, _: usize) -> Answer {
    if !is_second_chunk(seen) {
        return Answer::Forward;
    }
    changed(seen, |answer| drop(answer["tasks"].as_array_mut().unwrap().pop()))
}

/// ECS describes none of the tasks that it lists.
fn with_nothing_described(seen: &RecordedRequest, _: usize) -> Answer {
    if seen.operation().as_deref() != Some("DescribeTasks") {
        return Answer::Forward;
    }
    changed(seen, |answer| {
        let tasks = answer["tasks"].as_array().unwrap().clone();
        answer["failures"] = tasks.iter().map(|task| json!({ "arn": task["taskArn"], "reason": "MISSING" })).collect();
        answer["tasks"] = json!([]);
    })
}

fn changed(seen: &RecordedRequest, change: impl FnOnce(&mut Value) + Send + 'static) -> Answer {
    let translation = move |text: String| {
        let mut answer: Value = serde_json::from_str(&text).unwrap();
        change(&mut answer);
        answer.to_string()
    };
    Answer::ForwardAs(seen.body.clone(), Box::new(translation))
}

async fn everything(world: &World<'_>) -> (Vec<String>, Vec<Value>) {
    (world.service_ids().await, world.tokens_about(world.name).await)
}

#[tokio::test]
async fn a_missing_page_leaves_the_cluster_unjudged() {
    let world = &start_tasks(World::without_deployment("pages").await, RUNNING).await.world;
    stopped_task_with_services(world).await;
    world.consul_ecs_controller_token("pages-idle").await;
    let before = everything(world).await;
    assert_eq!(before.0.len(), 2 * (RUNNING + 1));
    // And another cluster, whose pages can all be read
    let readable = World::without_deployment("readable").await;
    let both: &'static str = Box::leak([world.cluster(), readable.cluster()].join(",").into_boxed_str());
    let settings = [("TOKEN_MODE", "auth-method"), ("ECS_CLUSTER_ARNS", both)];

    let faults: [(&str, Script); 3] = [
        ("the second page of the list", without_next_page),
        ("the second chunk of the description", without_second_chunk),
        ("a task of the second chunk", with_short_chunk),
    ];
    for (missing, fault) in faults {
        stopped_task_with_services(&readable).await;
        let order = SweepOrder { force: true, ..SweepOrder::default() };
        let environment = start(world, forward, fault, &settings, an_hour_later).await;
        let report = swept(&environment, &order).await;
        let status: Vec<SweptStatus> = report.clusters.iter().map(|cluster| cluster.status).collect();
        assert_eq!(status, [SweptStatus::Unread, SweptStatus::Active], "{missing}");
        assert_eq!(report.outcome, SweepOutcome::Incomplete, "{missing}");
        assert_eq!(report.problems.len(), 1, "{missing}: {:?}", report.problems);
        assert!(report.problems[0].reason.contains("cluster/pages"), "{missing}: {:?}", report.problems);
        assert_eq!(report.problems[0].cluster_arn, Some(world.cluster()));
        assert!(report.clusters[0].deleted.is_empty(), "{missing}: {report:?}");
        assert_eq!(everything(world).await, before, "{missing}");
        // The other cluster is swept
        assert_eq!(readable.service_ids().await, [""; 0], "{missing}");
    }

    // And with every page, the sweep finds work
    let environment = start(world, forward, forward, &settings, an_hour_later).await;
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    assert_eq!(world.service_ids().await.len(), 2 * RUNNING);
    assert!(is_hidden(world, "pages-idle").await);
}

#[tokio::test]
async fn only_ecs_declares_a_task_missing() {
    let world = World::without_deployment("silent").await;
    let definition = world.mesh_definition(&world.service()).await;
    let running = world.run(&definition).await;
    world.register_instance(&world.service(), &running).await;
    let forgotten = format!("{}/{}", running.rsplit_once('/').unwrap().0, "0".repeat(32));
    world.register_instance(&world.service(), &forgotten).await;
    // ECS does not mention the task in its answer
    let aws = |seen: &RecordedRequest, _| {
        let asks_by_name = seen.operation().as_deref() == Some("DescribeTasks") && seen.body.contains(&"0".repeat(32));
        if asks_by_name { Answer::ok(r#"{"tasks":[],"failures":[]}"#) } else { Answer::Forward }
    };
    let silent = start(&world, forward, aws, &[], |edges| edges).await;
    let report = swept(&silent, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Incomplete);
    assert!(report.problems[0].reason.contains("does not mention task 0000"), "{:?}", report.problems);
    assert_eq!(world.service_ids().await.len(), 4);
    // And with status MISSING
    let environment = start(&world, forward, forward, &[], |edges| edges).await;
    assert_eq!(swept(&environment, &second_look([forgotten.as_str()])).await.outcome, SweepOutcome::Done);
    assert_eq!(world.service_ids().await.len(), 2);
}

#[tokio::test]
async fn an_undescribed_task_keeps_its_token() {
    let world = World::without_deployment("undescribed").await;
    world.run(&world.mesh_definition(&world.service()).await).await;
    let pair = world.consul_ecs_controller_token(&world.service()).await;
    let environment = start(&world, forward, with_nothing_described, &[], |edges| edges).await;
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!((report.outcome, report.clusters[0].status), (SweepOutcome::Done, SweptStatus::Unread));
    assert!(report.faults[0].reason.contains("does not describe it"), "{:?}", report.faults);
    // And the message of an event returns to the queue
    let handled = environment.handle(&[idle_check(&world.service())]).await;
    assert_eq!(handled.failures.len(), 1);
    assert!(environment.consul.lines().iter().all(|line| line.starts_with("GET")), "{:?}", environment.consul.lines());
    assert!(world.is_valid(&pair.token).await);
}

#[tokio::test]
async fn sweep_and_status_say_the_same_of_a_task_that_is_not_described() {
    // Given a registered task that ECS lists and does not describe
    let world = World::without_deployment("one-view").await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    let environment = start(&world, forward, with_nothing_described, &[], |edges| edges).await;
    // Then the sweep takes it for neither stopped nor unknown, and says so
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!((report.outcome, report.clusters[0].status), (SweepOutcome::Done, SweptStatus::Unread));
    assert!(report.faults[0].reason.contains("does not describe it"), "{:?}", report.faults);
    assert_eq!(world.service_ids().await.len(), 2);
    // And so does status, which goes on: its instance is no leftover
    let cluster = cluster_arn("one-view").parse().unwrap();
    let (ecs, consul) =
        (AwsEcs::new(&sdk_at(&environment.aws.url)), client(&world.consul.address, &world.consul.management_token));
    let inspector = Inspector {
        ecs: &ecs,
        consul: &consul,
        secret_prefix: "one-view".parse().unwrap(),
        default_tenancy: Tenancy::Community,
        deadline: Deadline::after(LONG),
    };
    let (inspection, _) = inspector.inspect(&[cluster], &|_| {}).await;
    let status = diagnosis::status(&inspection, None, Timestamp::now());
    assert!(status.problems[0].contains("does not describe it"), "{:?}", status.problems);
    assert!(status.services.iter().all(|service| service.faults.is_empty()), "{:?}", status.services);
}

#[tokio::test]
async fn a_cluster_deleted_meanwhile_has_no_tasks() {
    let world = World::without_deployment("deleted-since").await;
    world.run(&world.mesh_definition(&world.service()).await).await;
    world.consul_ecs_controller_token(&world.service()).await;
    let aws = |seen: &RecordedRequest, before| match seen.operation().as_deref() {
        Some("DescribeClusters") => {
            let cluster = json!({ "clusterArn": crate::sweep::cluster_arn("deleted-since"), "status": "INACTIVE" });
            Answer::ok(json!({ "clusters": [cluster] }).to_string())
        }
        _ => with_nothing_described(seen, before),
    };
    let environment = start(&world, forward, aws, &[], an_hour_later).await;
    let handled = environment.handle(&[idle_check(&world.service())]).await;
    assert!(handled.failures.is_empty(), "{:?}", handled.failures);
    assert!(is_hidden(&world, &world.service()).await, "its services are idle");
}
