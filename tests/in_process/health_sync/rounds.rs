//! When the rounds of one invocation begin, in a time that only goes on where somebody waits for it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use aws::ecs::{ClusterStatus, Clusters, EcsError, TaskDefinitions, TaskList, Tasks};
use controller::{Controller, Deadline, Edges, HealthReport, settings::Settings};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    identity::TaskDefinition,
    task::DescribedTask,
};
use tokio::time::Instant;

use crate::environment::{edges_without_time_limits, sdk_at};

/// What a deadline keeps for the answer.
const RESERVE: Duration = Duration::from_secs(3);

/// An ECS without tasks that takes its time to say so.
struct Empty {
    takes: Duration,
    start: Instant,
    /// When it was asked, in seconds from the start on.
    asked: Arc<Mutex<Vec<f32>>>,
}

#[async_trait]
impl TaskDefinitions for Empty {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        panic!("nothing names {arn}")
    }

    fn forget(&self, arn: &TaskDefinitionArn) {
        panic!("nothing names {arn}")
    }
}

#[async_trait]
impl Clusters for Empty {
    async fn cluster_statuses(&self, _: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        panic!("no round asks for clusters")
    }
}

#[async_trait]
impl Tasks for Empty {
    async fn list_running(&self, _: &ClusterArn) -> Result<Vec<TaskArn>, EcsError> {
        self.asked.lock().unwrap().push(self.start.elapsed().as_secs_f32());
        tokio::time::sleep(self.takes).await;
        Ok(Vec::new())
    }

    async fn list_tasks(&self, _: &ClusterArn) -> Result<TaskList, EcsError> {
        panic!("no round asks for stopped tasks")
    }

    async fn describe_tasks(&self, _: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        panic!("nothing names {tasks:?}")
    }
}

/// Syncs before an ECS whose answers take so long, with so much time for work: what came of it, and when ECS was asked.
async fn synced(interval: Option<Duration>, takes: Duration, time: Duration) -> (HealthReport, Vec<f32>) {
    let settings = Settings::read(|name| {
        let value = match name {
            "CONSUL_HTTP_ADDR" => "http://127.0.0.1:1",
            "CONSUL_HTTP_TOKEN" => "own",
            "ECS_CLUSTER_ARNS" => "arn:aws:ecs:us-east-1:123456789012:cluster/prod",
            "QUEUE_URL" => "http://127.0.0.1:1/queue",
            "TOKEN_MODE" => "auth-method",
            _ => return None,
        };
        Some(value.to_owned())
    })
    .expect("settings");
    let edges = edges_without_time_limits(&settings, "own", &sdk_at("http://127.0.0.1:1")).await;
    let asked = Arc::new(Mutex::default());
    let ecs = Arc::new(Empty { takes, start: Instant::now(), asked: Arc::clone(&asked) });
    let controller = Controller::new(settings.scope, Edges { ecs, ..edges });
    let report = controller.sync_health(interval, Deadline::after(RESERVE + time)).await;
    let asked = asked.lock().unwrap().clone();
    (report, asked)
}

#[tokio::test(start_paused = true)]
async fn intervals_under_a_minute_are_rounds_of_one_invocation() {
    // What is left of the invocation bounds the rounds
    let (report, asked) = synced(Some(Duration::from_secs(1)), Duration::ZERO, Duration::from_millis(2_500)).await;
    assert_eq!((report.rounds, asked), (3, vec![0.0, 1.0, 2.0]));
    // And so does the next invocation, which begins after a minute
    let (report, asked) = synced(Some(Duration::from_secs(20)), Duration::ZERO, Duration::from_secs(300)).await;
    assert_eq!((report.rounds, asked), (3, vec![0.0, 20.0, 40.0]));
}

#[tokio::test(start_paused = true)]
async fn without_an_interval_there_is_one_round() {
    let (report, asked) = synced(None, Duration::ZERO, Duration::from_secs(300)).await;
    assert_eq!((report.rounds, asked), (1, vec![0.0]));
}

#[tokio::test(start_paused = true)]
async fn a_round_that_takes_longer_than_the_interval_is_followed_by_the_one_that_is_due() {
    let (report, asked) =
        synced(Some(Duration::from_secs(2)), Duration::from_secs(3), Duration::from_millis(8_500)).await;
    // Those of 2 and 4 seconds begin late, and the last one ends when time is over
    assert_eq!((report.rounds, asked), (3, vec![0.0, 3.0, 6.0]));
}

#[tokio::test(start_paused = true)]
async fn when_time_is_over_no_round_begins_although_one_is_due() {
    // Given an ECS that does not answer in time, and rounds that were due meanwhile
    let (report, asked) =
        synced(Some(Duration::from_secs(1)), Duration::from_secs(60), Duration::from_millis(2_500)).await;
    // Then there was one, which did not end
    assert_eq!((report.rounds, asked), (1, vec![0.0]));
    assert_eq!(report.problems.iter().map(|problem| problem.label).collect::<Vec<_>>(), ["out_of_time"]);
}
