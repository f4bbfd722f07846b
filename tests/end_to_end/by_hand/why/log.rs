//! The log of the container that has failed.

use local_stack::{Stack, world::World};
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DATAPLANE, DataplaneService, DataplaneTask, Release},
    recorder::{Answer, RecordedRequest, Recorder},
};

use super::{documented, permissions, token, why_at, world};

/// What reading a log needs.
pub(super) const PERMISSION: &str = "logs:GetLogEvents";

fn reads_a_stream(request: &RecordedRequest) -> bool {
    request.header("x-amz-target").is_some_and(|target| target.ends_with(".GetLogEvents"))
}

/// AWS, which answers so where a stream is read.
async fn answering(answer: impl Fn(&RecordedRequest) -> Answer + Send + Sync + 'static) -> Recorder {
    let script =
        move |request: &RecordedRequest, _| if reads_a_stream(request) { answer(request) } else { Answer::Forward };
    Recorder::before_aws(&Stack::shared().await.aws, script).await
}

/// What `why` says of a task, the exit code, and the requests that have read its log.
async fn asked(world: &World<'_>, task: &str, aws: &Recorder, further: &[&str]) -> (Value, Option<i32>, Vec<Value>) {
    let arguments = [&["--cluster", world.name, "--output", "json"], further].concat();
    let said = why_at(&aws.url, &world.consul.address, token().await, task, &arguments).await;
    assert_eq!(said.errors, "", "{}", said.out);
    let reads = aws.requests().into_iter().filter(reads_a_stream).map(|request| request.json()).collect();
    (said.json(), said.code, reads)
}

fn refused(kind: &str, message: &str) -> Answer {
    Answer::Reply(400, Vec::new(), json!({ "__type": kind, "message": message }).to_string())
}

fn page(texts: &[&str], before: &str) -> Answer {
    let events: Vec<Value> =
        texts.iter().map(|text| json!({ "timestamp": 1_700_000_000_000_i64, "message": text })).collect();
    let body = json!({ "events": events, "nextBackwardToken": before, "nextForwardToken": "f/0" });
    Answer::Reply(200, vec![("content-type", "application/x-amz-json-1.1".to_owned())], body.to_string())
}

/// A task whose proxy has exited with an error.
async fn broken<'w>(world: &'w World<'w>, service: &str) -> DataplaneTask<'w> {
    let task = DataplaneService::named(service, Release::V0_9).run_by_ecs_service(world, &json!([])).await;
    task.settle().await;
    task.report_stopped(DATAPLANE, 1).await;
    task
}

#[tokio::test]
async fn a_failed_container_s_log_is_read_once_and_a_problem_with_it_changes_nothing_else() {
    let world = world("why-log").await;
    let task = broken(&world, "why-log").await;
    let place = ("/ecs/why-log".to_owned(), format!("ecs/{DATAPLANE}/{}", task.id()));
    let open = answering(|_| Answer::Forward).await;
    let of_log = |document: &Value| document["log"]["problem"].as_str().unwrap_or_default().to_owned();
    // Without a log group
    let (unread, code, reads) = asked(&world, task.id(), &open, &[]).await;
    assert_eq!((code, reads.len(), &unread["cause"]), (Some(1), 1, &json!("proxy-stopped")), "{unread:#}");
    let expected = format!("log group {} has no stream {}, or does not exist", place.0, place.1);
    assert!(of_log(&unread).starts_with(&expected), "{unread:#}");
    // Of the last errors, the known one is translated; nothing secret is shown
    let secret = "0b3c5ff2-5a3e-4a0f-9e6c-8b8f7d2f9b11";
    let known = format!("[ERROR] \u{1b}[31mconnecting\u{1b}[0m: rpc error: desc = ACL not found, token={secret}");
    task.write_log(DATAPLANE, &["[INFO] starting", &known]).await;
    open.forget();
    let (document, code, reads) = asked(&world, task.id(), &open, &[]).await;
    let request = json!({ "logGroupName": place.0, "logStreamName": place.1, "startFromHead": false, "limit": 200 });
    assert_eq!((code, reads), (Some(1), vec![request]));
    assert_eq!(permissions(&open.requests()), documented("why"));
    let lines = &document["log"]["lines"];
    assert_eq!(lines.as_array().map(Vec::len), Some(1), "{lines}");
    assert_eq!(lines[0]["text"], "[ERROR] connecting: rpc error: desc = ACL not found, token=…");
    let conclusion = document["conclusion"].as_str().unwrap();
    assert!(
        conclusion.contains(&format!("The log of {DATAPLANE} says: Consul does not know the token")),
        "{conclusion}"
    );
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/schema/why.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    let (document, ..) = asked(&world, task.id(), &open, &["--logs"]).await;
    assert_eq!(document["log"]["lines"].as_array().map(Vec::len), Some(2), "{document:#}");
    // Without permission
    let message = "User: on-call is not authorized to perform: logs:GetLogEvents";
    let denied = answering(move |_| refused("AccessDeniedException", message)).await;
    let (document, code, reads) = asked(&world, task.id(), &denied, &[]).await;
    assert_eq!((code, reads.len(), &document["conclusion"]), (Some(1), 1, &unread["conclusion"]), "{document:#}");
    assert!(
        of_log(&document).contains(message) && of_log(&document).contains("Allow logs:GetLogEvents"),
        "{document:#}"
    );
    // Without an answer that is meant
    let invalid = answering(|_| refused("InvalidParameterException", "1 validation error")).await;
    let (document, code, _) = asked(&world, task.id(), &invalid, &[]).await;
    assert_eq!((code, &document["conclusion"]), (Some(1), &unread["conclusion"]), "{document:#}");
    assert!(of_log(&document).contains("the call failed: "), "{document:#}");
}

#[tokio::test]
async fn the_end_of_a_log_is_found_behind_empty_pages_in_ten_calls_at_most() {
    let world = world("why-log").await;
    let task = broken(&world, "why-pages").await;
    let is_second = |request: &RecordedRequest| request.json()["nextToken"] == "b/1";
    let later =
        answering(move |request| if is_second(request) { page(&["panic"], "b/2") } else { page(&[], "b/1") }).await;
    let (document, _, reads) = asked(&world, task.id(), &later, &[]).await;
    assert_eq!((reads.len(), &document["log"]["lines"][0]["text"]), (2, &json!("panic")), "{document:#}");
    // An empty stream repeats the token
    let empty = answering(|_| page(&[], "b/1")).await;
    let (document, _, reads) = asked(&world, task.id(), &empty, &[]).await;
    assert_eq!((reads.len(), &document["log"]["lines"]), (2, &json!([])), "{document:#}");
    assert_eq!(document["log"]["problem"], Value::Null);
    // Pages without an end
    let endless =
        answering(|request| page(&[], &format!("{}x", request.json()["nextToken"].as_str().unwrap_or("b/")))).await;
    let (document, code, reads) = asked(&world, task.id(), &endless, &[]).await;
    assert_eq!((code, reads.len()), (Some(1), 10));
    assert!(document["log"]["problem"].as_str().unwrap().contains("the last 10 pages are empty"), "{document:#}");
}
