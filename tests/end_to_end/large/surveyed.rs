//! Commands of a person who asks about small and large clusters: the calls of `survey` grow with the pages of ECS's lists, and its time
//! with the number of tasks. docs/explanation/performance.md has measured times.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use local_stack::functions::built_binary;
use serde_json::Value;
use test_harness::{
    installation::{CLUSTER, Installation, RateLimit},
    recorder::Recorder,
};
use tokio::{process::Command, time::timeout};

use super::{DESCRIBED, calls, counts};

/// When a command has certainly got stuck.
const STUCK: Duration = Duration::from_mins(10);
/// How many times as long a survey of ten times as many tasks takes at most: with the square of their number, it would be a hundred times.
const GROWTH: u32 = 40;
/// The most services that `DescribeServices` describes.
const SERVICES_DESCRIBED: usize = 10;

/// What a command without a stack prints as JSON, and how long it takes.
async fn printed(
    installation: Installation,
    aws: &Recorder,
    consul: &Recorder,
    arguments: &[&str],
) -> (Value, Duration) {
    let mut command = Command::new(built_binary("ecs-mesh"));
    command.env_clear().env("AWS_ENDPOINT_URL", &aws.url).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
    command.env("CONSUL_HTTP_ADDR", &consul.url).env("CONSUL_HTTP_TOKEN", "own");
    command.args(arguments).args(["--cluster", CLUSTER, "--output", "json"]).kill_on_drop(true);
    let start = Instant::now();
    let output = timeout(STUCK, command.output()).await.expect("an answer").unwrap();
    let (took, tasks, command) = (start.elapsed(), installation.listed(), arguments.join(" "));
    let _ = writeln!(std::io::stderr(), "large: ecs-mesh {command} with {tasks} tasks: {took:.1?}");
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let document = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {errors}"));
    (document, took)
}

/// Surveys a cluster of this size, asserts the calls, and returns the time. Then asks for its status, and about a service.
async fn surveyed(installation: Installation) -> Duration {
    let (consul, aws) = tokio::join!(installation.consul(Duration::ZERO), installation.aws(RateLimit::None));
    let (document, took) = printed(installation, &aws, &consul, &["survey"]).await;
    // Then the login tokens of all tasks that have ended are found, and no instance of a living one
    let finding = |id: &str| document["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id);
    let unused = finding("unused-login-tokens").unwrap_or_else(|| panic!("{document:#}"));
    assert_eq!(unused["objects"].as_array().unwrap().len(), installation.ended());
    assert_eq!(finding("left-in-consul"), None);
    assert_eq!(document["unread"].as_array().unwrap().len(), 0, "{:#}", document["unread"]);
    // And the calls are these
    let Installation { services, gone, .. } = installation;
    let expected = counts(&[
        ("DescribeClusters", 1),
        ("DescribeServices", services.div_ceil(SERVICES_DESCRIBED)),
        ("DescribeTaskDefinition", services),
        ("DescribeTasks", installation.listed().div_ceil(DESCRIBED) + gone.div_ceil(DESCRIBED)),
        ("GET acl/token", services),
        ("GET acl/tokens", 2),
        ("GET agent/members", 1),
        ("GET agent/metrics", 1),
        ("GET agent/self", 3),
        ("GET catalog/node-services", 2),
        ("GET catalog/nodes", 1),
        ("GET connect/ca", 1),
        ("GET connect/intentions", 1),
        ("GET health/node", 2),
        ("GetSecretValue", services),
        ("ListServices", services.div_ceil(100)),
        ("ListTasks", installation.pages()),
        ("POST internal/acl", 3),
    ]);
    let (made, page) = (calls(&consul, &aws), include_str!("../../../docs/reference/commands/survey.md"));
    assert_eq!(made, expected);
    let of_cluster = ["GET catalog/node-services", "GET health/node"];
    let is_of_consul = |call: &String| call.contains(' ') && call != "GET acl/token";
    let (of_cluster, fixed): (Vec<_>, Vec<_>) =
        made.iter().filter(|(call, _)| is_of_consul(call)).partition(|(call, _)| of_cluster.contains(&call.as_str()));
    let sum = |calls: Vec<(&String, &usize)>| calls.into_iter().map(|(_, count)| count).sum::<usize>();
    assert_eq!((sum(fixed), sum(of_cluster)), (13, 4));
    assert!(page.contains("| Consul | 13, and four for each cluster |"));
    let (status, _) = printed(installation, &aws, &consul, &["status"]).await;
    assert_eq!(status["services"].as_array().unwrap().len(), installation.services);
    let (why, _) = printed(installation, &aws, &consul, &["why", "service-0"]).await;
    assert!(why.to_string().contains("service-0"), "{why:#}");
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_tasks_cost_few_calls() {
    surveyed(Installation { running: 9, stopped: 1, gone: 2, services: 1, tokens: 50 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_times_as_many_tasks_take_about_ten_times_as_long() {
    let of_a_thousand = surveyed(Installation::of(1_000)).await;
    let of_ten_thousand = surveyed(Installation::of(10_000)).await;
    assert!(of_ten_thousand < of_a_thousand * GROWTH, "{of_a_thousand:?}, {of_ten_thousand:?}");
}
