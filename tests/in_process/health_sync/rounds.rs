//! The times at which the rounds of one invocation begin, with paused time that advances only while a task waits.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use aws::ecs::{ClusterStatus, Clusters, EcsError, EcsService, EcsServices, TaskDefinitions, TaskList, Tasks};
use controller::{Controller, Deadline, Edges, HealthReport, settings::Settings};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    definition::TaskDefinition,
    task::DescribedTask,
};
use tokio::time::Instant;

use crate::environment::{edges_without_time_limits, sdk_at};

/// The time that a deadline reserves for the answer.
const RESERVE: Duration = Duration::from_secs(4);

/// An ECS without tasks, which answers slowly.
struct Empty {
    takes: Duration,
    start: Instant,
    /// The times of the requests, in seconds since the start.
    asked: Arc<Mutex<Vec<f32>>>,
}

#[async_trait]
impl TaskDefinitions for Empty {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        panic!("nothing names {arn}")
    }

    async fn active_definitions(&self) -> Result<Vec<TaskDefinitionArn>, EcsError> {
        panic!("no round asks for active definitions")
    }

    fn forget(&self, arn: &TaskDefinitionArn) {
        panic!("nothing names {arn}")
    }
}

#[async_trait]
impl Clusters for Empty {
    async fn list_clusters(&self) -> Result<Vec<ClusterArn>, EcsError> {
        panic!("no round lists clusters")
    }

    async fn cluster_statuses(&self, _: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        panic!("no round asks for clusters")
    }
}

#[async_trait]
impl EcsServices for Empty {
    async fn services(&self, _: &ClusterArn, _: &[String]) -> Result<Vec<EcsService>, EcsError> {
        panic!("no round asks for services")
    }

    async fn protected_tasks(&self, _: &ClusterArn, _: &[TaskArn]) -> Result<BTreeSet<TaskArn>, EcsError> {
        panic!("no round asks for protection")
    }

    async fn stop_task(&self, _: &ClusterArn, task: &TaskArn, _: &str) -> Result<(), EcsError> {
        panic!("no round stops {task}")
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

/// Syncs health with an ECS that takes this long to answer, until a deadline: the report, and the times of the requests.
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
async fn short_intervals_are_rounds_of_one_invocation() {
    // The remaining time of the invocation limits the rounds
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
async fn a_late_round_begins_at_once() {
    let (report, asked) =
        synced(Some(Duration::from_secs(2)), Duration::from_secs(3), Duration::from_millis(8_500)).await;
    // The rounds due at 2 and 4 seconds begin late, and the deadline ends the last one
    assert_eq!((report.rounds, asked), (3, vec![0.0, 3.0, 6.0]));
}

#[tokio::test(start_paused = true)]
async fn no_round_begins_after_the_deadline() {
    // Given an ECS that does not answer before the deadline, and rounds that are due meanwhile
    let (report, asked) =
        synced(Some(Duration::from_secs(1)), Duration::from_secs(60), Duration::from_millis(2_500)).await;
    // Then there is one round, which does not end
    assert_eq!((report.rounds, asked), (1, vec![0.0]));
    assert_eq!(report.problems.iter().map(|problem| problem.label).collect::<Vec<_>>(), ["out_of_time"]);
}
