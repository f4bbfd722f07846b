//! One list of ECS's tasks serves an inspection and a plan, as `ecs-mesh survey` makes them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aws::{ec2::AwsEc2, ecs::AwsEcs, iam::AwsIam, secrets::AwsSecrets};
use consul::{ConsulAddresses, ConsulUrls};
use controller::{Planner, settings::without_deployment};
use mesh::{cluster_selection::ClusterSelection, tenancy::Tenancy};
use observe::{Deadline, Inspection, Inspector, Reads, SystemClock};
use report::{PlannedAction, SweepReport};
use serde_json::Value;
use test_harness::{
    installation::{CLUSTER, Installation, RateLimit, task_arn, task_id},
    recorder::{Answer, Recorder},
};

use crate::{
    environment::{client, sdk_at},
    time::LONG,
};

const TEN_TASKS: Installation = Installation { running: 9, stopped: 1, gone: 2, services: 1, tokens: 50 };

/// Inspects the cluster, and then plans a sweep of it.
async fn surveyed(aws: &Recorder, consul: &Recorder) -> (Inspection, SweepReport) {
    let sdk = sdk_at(&aws.url);
    let (ecs, of_plan) = (Arc::new(AwsEcs::new(&sdk).keeping_definitions()), client(&consul.url, "own"));
    let prefix = "consul-ecs".parse().unwrap();
    let addresses = ConsulAddresses::Urls(consul.url.parse::<ConsulUrls>().unwrap());
    let selection = ClusterSelection::parse(CLUSTER, None).unwrap();
    let scope = without_deployment(selection, &addresses, &prefix, &Tenancy::Community).unwrap();
    let reads = Reads {
        consul: Arc::new(of_plan),
        ecs: ecs.clone(),
        ec2: Arc::new(AwsEc2::new(&sdk)),
        iam: Arc::new(AwsIam::new(&sdk)),
        secrets: Arc::new(AwsSecrets::new(&sdk, None, BTreeMap::new())),
        clock: Arc::new(SystemClock),
    };
    let (planner, consul) = (Planner::new(scope, reads), client(&consul.url, "own"));
    let deadline = Deadline::after(LONG);
    let inspector =
        Inspector { ecs: &ecs, consul: &consul, secret_prefix: prefix, default_tenancy: Tenancy::Community, deadline };
    let begun = planner.begin(deadline).await;
    let (inspection, tokens) = inspector.inspect(&begun.existing(), &|_| {}).await;
    tokens.unwrap();
    let plan = planner.plan_after(begun.with_tasks_of(&inspection), deadline).await;
    (inspection, plan)
}

fn count(aws: &Recorder, operation: &str) -> usize {
    aws.operations().iter().filter(|it| *it == operation).count()
}

#[tokio::test]
async fn tasks_services_and_definitions_are_read_once() {
    let (consul, aws) = tokio::join!(TEN_TASKS.consul(Duration::ZERO), TEN_TASKS.aws(RateLimit::None));
    let (inspection, plan) = surveyed(&aws, &consul).await;
    assert_eq!(inspection.clusters[0].tasks.len(), TEN_TASKS.listed());
    assert_eq!(plan.clusters[0].found["tasks"], TEN_TASKS.listed());
    assert!(plan.problems.is_empty() && plan.faults.is_empty(), "{plan:?}");
    // Both lists once, and the tasks that they do not have
    let calls = ["DescribeClusters", "ListTasks", "DescribeTasks", "DescribeTaskDefinition", "ListServices"];
    assert_eq!(calls.map(|call| count(&aws, call)), [1, 2, 2, 1, 1]);
}

/// The plan reads Consul after the list of tasks, which may be old by then.
#[tokio::test]
async fn task_that_has_started_since_the_list_is_asked_about_and_stays() {
    let (consul, listing) = tokio::join!(TEN_TASKS.consul(Duration::ZERO), TEN_TASKS.aws(RateLimit::None));
    // Given a task with instances in Consul that the list does not have yet
    let aws = Recorder::before(&listing.url, |seen, _| match seen.operation().as_deref() {
        Some("ListTasks") => Answer::ForwardAs(seen.body.clone(), Box::new(|answer| without_task(&answer, 0))),
        _ => Answer::Forward,
    })
    .await;
    let (inspection, plan) = surveyed(&aws, &consul).await;
    assert_eq!(inspection.clusters[0].tasks.len(), TEN_TASKS.listed() - 1);
    // Then ECS is asked about it, and nothing of it is left over
    let asked: Vec<Value> = aws.requests().iter().map(|seen| seen.json()["tasks"].clone()).collect();
    let times = asked.iter().filter(|tasks| tasks.to_string().contains(&task_arn(0))).count();
    assert_eq!(times, 1, "{asked:?}");
    let removes = |action: &PlannedAction| matches!(action, PlannedAction::Deregister { task_id: removed, .. } if *removed == task_id(0));
    assert!(!plan.clusters[0].planned.iter().any(removes), "{:?}", plan.clusters[0].planned);
}

fn without_task(answer: &str, number: usize) -> String {
    let mut answer: Value = serde_json::from_str(answer).unwrap();
    answer["taskArns"].as_array_mut().unwrap().retain(|arn| *arn != task_arn(number));
    answer.to_string()
}
