//! A large installation, of 10,000 tasks and 50,000 ACL tokens: the functions' binaries do their work within their
//! template's time and memory, against stand-ins for Consul and AWS. The list of tokens takes longer to arrive than the
//! limit of other requests.

mod lost_catalog;
mod surveyed;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    time::{Duration, Instant},
};

use local_stack::{
    functions::{self, Limits},
    pids,
    world::{envelope, idle_check},
};
use serde_json::{Value, json};
use test_harness::{
    function::{Function, RuntimeApi},
    installation::{self, Installation, RateLimit, stopped_accessor},
    recorder::{RecordedRequest, Recorder},
};

/// The tasks that ECS lists.
const TASKS: usize = 10_000;
/// The pause before each part of the list of tokens: together longer than the limit of other requests, 5 seconds.
const PAUSE: Duration = Duration::from_millis(350);
/// The most tasks that `DescribeTasks` describes.
const DESCRIBED: usize = 100;
/// The stopped tasks in a batch of events.
const BATCH: usize = 10;

/// What a function did.
struct Work {
    answer: Value,
    /// The number of calls to Consul and AWS, by kind.
    calls: BTreeMap<String, usize>,
    /// The accessor IDs of the deleted tokens.
    deleted: BTreeSet<String>,
}

/// Has a function handle an event in the large installation, and asserts that its time and half of its memory suffice.
async fn handled(function: &str, what: &str, event: Value) -> Work {
    let installation = Installation::of(TASKS);
    let (consul, aws) = tokio::join!(installation.consul(PAUSE), installation.aws(RateLimit::None));
    handled_with(&consul, &aws, &[], function, what, event).await
}

/// The same with other stand-ins, and with further settings.
async fn handled_with(
    consul: &Recorder,
    aws: &Recorder,
    settings: &[(&str, &str)],
    function: &str,
    what: &str,
    event: Value,
) -> Work {
    let (binary, Limits { time, memory_mib }) = (functions::binary(function), functions::limits(function));
    let runtime = RuntimeApi::start_for(time, vec![event]).await;
    let mut variables = installation::settings(consul, aws);
    variables.extend(settings);
    let start = Instant::now();
    let function = Function::start(&binary, &runtime, &variables);
    let answers = runtime.answers(1).await;
    let took = start.elapsed();
    let peak_mib = pids::peak_resident_kib(function.pid()).expect("the function runs") / 1024;
    let printed = function.end();
    let answer = &answers[0];
    assert!(answer.uri.ends_with("/response"), "{}\n{printed}", answer.body);
    let _ = writeln!(std::io::stderr(), "large: {what}: {took:.1?}, at most {peak_mib} MiB of {memory_mib}");
    assert!(peak_mib < memory_mib / 2, "{what} used {peak_mib} MiB of {memory_mib}");
    Work { answer: answer.json(), calls: calls(consul, aws), deleted: deleted(consul) }
}

/// The calls of an invocation, without the three that open connections before it.
fn calls(consul: &Recorder, aws: &Recorder) -> BTreeMap<String, usize> {
    let of_consul = |seen: &RecordedRequest| {
        let path: Vec<&str> = seen.uri.split(['?', '/']).skip(2).take(2).collect();
        format!("{} {}", seen.method, path.join("/"))
    };
    let mut calls = BTreeMap::new();
    for call in consul.requests().iter().map(of_consul).chain(aws.operations()) {
        *calls.entry(call).or_default() += 1;
    }
    for opening in ["GET status/leader", "ListClusters"] {
        calls.remove(opening);
    }
    calls
}

fn deleted(consul: &Recorder) -> BTreeSet<String> {
    let lines = consul.lines();
    let accessors = lines.iter().filter_map(|line| line.strip_prefix("DELETE /v1/acl/token/"));
    accessors.map(str::to_owned).collect()
}

fn counts(calls: &[(&str, usize)]) -> BTreeMap<String, usize> {
    calls.iter().map(|(call, count)| ((*call).to_owned(), *count)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_handled_beside_fifty_thousand_tokens() {
    let installation = Installation::of(TASKS);
    let stopped = installation.running..installation.running + BATCH;
    let record = |task: usize| {
        let mut detail = installation.task(task, 0);
        detail.as_object_mut().unwrap().remove("tags");
        json!({ "messageId": task.to_string(), "body": envelope(&detail).to_string() })
    };
    let batch = json!({ "Records": stopped.clone().map(record).collect::<Vec<_>>() });
    let work = handled("TaskEventsFunction", "a batch of stopped tasks", batch).await;
    assert_eq!(work.answer, json!({ "batchItemFailures": [] }));
    // Then the tokens of these tasks are deleted, and nothing else
    assert_eq!(work.deleted, stopped.map(stopped_accessor).collect());
    let expected = counts(&[
        ("DELETE acl/token", BATCH),
        ("DescribeTaskDefinition", BATCH),
        ("GET acl/tokens", 1),
        ("GET catalog/node-services", 1),
        ("SendMessageBatch", 1),
    ]);
    assert_eq!(work.calls, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_check_reads_a_hundred_pages_of_tasks() {
    let check = json!({ "Records": [{ "messageId": "check", "body": idle_check("service-7").to_string() }] });
    let work = handled("TaskEventsFunction", "an idle check", check).await;
    assert_eq!(work.answer, json!({ "batchItemFailures": [] }));
    assert_eq!(work.deleted, BTreeSet::new(), "tasks use the token");
    let installation = Installation::of(TASKS);
    let expected = counts(&[
        ("DescribeTaskDefinition", installation.services),
        ("DescribeTasks", TASKS / DESCRIBED),
        ("GET acl/token", 1),
        ("GetSecretValue", 1),
        ("ListTasks", installation.pages()),
    ]);
    assert_eq!(work.calls, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_clears_the_dead_among_fifty_thousand_tokens() {
    let installation = Installation::of(TASKS);
    let work = handled("ReconcileFunction", "a sweep", json!({ "scheduled": true })).await;
    let cluster = &work.answer["clusters"][0];
    assert_eq!((&work.answer["outcome"], &cluster["left"]), (&json!("done"), &json!(0)), "{}", work.answer);
    // Then the tokens of all stopped tasks are deleted, and nothing else
    assert_eq!(work.deleted, (installation.running..TASKS + installation.gone).map(stopped_accessor).collect());
    // And every running task is compared with the catalog, which lacks nothing
    assert_eq!((&cluster["repaired"], &cluster["corrected"]), (&json!(0), &json!(0)));
    assert_eq!(cluster.get("skipped"), None, "{cluster}");
    assert_eq!(cluster["deleted"], json!({ "loginTokens": installation.ended() }));
    let expected = counts(&[
        ("DELETE acl/token", installation.ended()),
        ("DescribeClusters", 1),
        ("DescribeTaskDefinition", installation.services),
        ("DescribeTasks", (TASKS + installation.gone) / DESCRIBED),
        ("GET acl/token", installation.services),
        ("GET acl/tokens", 1),
        ("GET agent/members", 1),
        ("GET catalog/node-services", 1),
        ("GET health/node", 1),
        ("GetSecretValue", installation.services),
        ("ListTasks", installation.pages()),
    ]);
    assert_eq!(work.calls, expected);
}
