//! The audit function's clients of S3, SNS and `EventBridge` against a recorder: their exact requests, and their handling of
//! answers.

use audit_function::{Message, ReportStore, S3Store, SnsTopic, Topic, Version};
use aws::events::{DefaultBus, EventPublisher};
use aws_config::{SdkConfig, retry::RetryConfig};
use aws_sdk_ecs::config::{Credentials, SharedCredentialsProvider};
use report::Event;
use reqwest::Url;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use crate::environment::sdk_at;

const TOPIC: &str = "arn:aws:sns:us-east-1:123456789012:findings";
const DEFINITION: &str = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:7";
const KEY: &str = "announced/web/7.json";

fn config(server: &Recorder) -> SdkConfig {
    let credentials = Credentials::new("test", "test", Some("session".to_owned()), None, "tests");
    sdk_at(&server.url)
        .into_builder()
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .retry_config(RetryConfig::disabled())
        .build()
}

fn bucket(server: &Recorder) -> S3Store {
    S3Store::new(&config(server), "mesh-reports".to_owned())
}

fn topic(server: &Recorder) -> SnsTopic {
    SnsTopic::new(&config(server), TOPIC.to_owned())
}

fn with_etag(etag: &str, body: &str) -> Answer {
    Answer::Reply(200, vec![("etag", etag.to_owned())], body.to_owned())
}

fn refusal(status: u16, code: &str) -> Answer {
    Answer::status(status, format!("<Error><Code>{code}</Code><Message>as S3 says it</Message></Error>"))
}

/// The form of a request in SNS's query protocol.
fn form(seen: &RecordedRequest) -> Vec<(String, String)> {
    let url = Url::parse(&format!("http://form/?{}", seen.body)).unwrap();
    url.query_pairs().into_owned().collect()
}

// ---- SNS ----

#[tokio::test]
async fn a_message_has_subject_text_and_severity() {
    let server = Recorder::start(|_, _| {
        Answer::ok("<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>")
    })
    .await;
    let message =
        Message { subject: "1 error in web:7".to_owned(), text: "ünder\nlines".to_owned(), severity: "error" };
    topic(&server).notify(&message).await.unwrap();
    let seen = server.requests();
    assert_eq!(server.lines(), ["POST /"]);
    let expected = [
        ("Action", "Publish"),
        ("Version", "2010-03-31"),
        ("TopicArn", TOPIC),
        ("Message", "ünder\nlines"),
        ("Subject", "1 error in web:7"),
        ("MessageAttributes.entry.1.Name", "severity"),
        ("MessageAttributes.entry.1.Value.DataType", "String"),
        ("MessageAttributes.entry.1.Value.StringValue", "error"),
    ];
    assert_eq!(form(&seen[0]), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn a_refused_message_is_an_error() {
    let server = Recorder::start(|_, _| {
        let error = "<Error><Type>Sender</Type><Code>AuthorizationError</Code><Message>not allowed</Message></Error>";
        Answer::status(403, format!("<ErrorResponse>{error}</ErrorResponse>"))
    })
    .await;
    let message = Message { subject: "s".to_owned(), text: "t".to_owned(), severity: "info" };
    let error = topic(&server).notify(&message).await.unwrap_err().to_string();
    assert!(error.contains("Publish") && error.contains("not allowed"), "{error}");
}

// ---- EventBridge ----

fn finding(n: usize) -> Value {
    json!({
        "taskDefinitionArn": DEFINITION, "family": "web", "revision": "7", "rule": "ecs-network-mode", "severity": "error",
        "container": null, "message": format!("finding {n}"), "effect": "", "help": "", "page": "", "fingerprint": "",
    })
}

fn events(number: usize) -> Vec<Event> {
    let event = |n: usize| json!({ "detail-type": "ECS Mesh Audit Finding", "detail": finding(n) });
    (0..number).map(|n| serde_json::from_value(event(n)).unwrap()).collect()
}

#[tokio::test]
async fn events_are_put_ten_at_a_time() {
    let server = Recorder::start(|seen, _| {
        let entries = vec![json!({ "EventId": "e" }); seen.json()["Entries"].as_array().unwrap().len()];
        Answer::ok(json!({ "FailedEntryCount": 0, "Entries": entries }).to_string())
    })
    .await;
    DefaultBus::new(&config(&server)).publish(&events(12)).await.unwrap();
    assert_eq!(server.operations(), ["PutEvents"; 2]);
    let mut calls: Vec<Value> = server.requests().iter().map(RecordedRequest::json).collect();
    // They are sent at the same time
    calls.sort_by_key(|call| std::cmp::Reverse(call["Entries"].as_array().unwrap().len()));
    assert_eq!(calls[0]["Entries"].as_array().unwrap().len(), 10);
    let expected = |n: usize| {
        json!({
            "Source": "ecs-mesh-controller",
            "Resources": [DEFINITION],
            "DetailType": "ECS Mesh Audit Finding",
            "Detail": finding(n).to_string(),
        })
    };
    assert_eq!(calls[1], json!({ "Entries": [expected(10), expected(11)] }));
}

#[tokio::test]
async fn a_rejected_event_fails_the_call() {
    let server = Recorder::start(|_, _| {
        let refused = json!({ "ErrorCode": "ThrottlingException", "ErrorMessage": "too many" });
        Answer::ok(json!({ "FailedEntryCount": 1, "Entries": [{ "EventId": "e" }, refused] }).to_string())
    })
    .await;
    let error = DefaultBus::new(&config(&server)).publish(&events(2)).await.unwrap_err().to_string();
    assert!(error.contains("PutEvents") && error.contains("too many"), "{error}");
}

// ---- S3 ----

#[tokio::test]
async fn a_report_has_its_content_type() {
    let server = Recorder::start(|_, _| with_etag("\"1\"", "")).await;
    bucket(&server).put_report("reports/a.html", "<p>".to_owned(), "text/html; charset=utf-8").await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!(seen.line(), "PUT /mesh-reports/reports/a.html?x-id=PutObject");
    assert_eq!(seen.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(seen.body, "<p>");
    assert_eq!((seen.header("if-match"), seen.header("if-none-match")), (None, None));
}

#[tokio::test]
async fn a_link_is_valid_for_an_hour() {
    let server = Recorder::start(|_, _| Answer::Hang).await;
    let link = bucket(&server).link("reports/a b.html").await.unwrap();
    let link = Url::parse(&link).unwrap();
    assert_eq!(link.path(), "/mesh-reports/reports/a%20b.html");
    let value = |key: &str| link.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
    assert_eq!(value("X-Amz-Expires").as_deref(), Some("3600"));
    assert_eq!(value("X-Amz-Security-Token").as_deref(), Some("session"));
    assert!(value("X-Amz-Signature").is_some());
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_record_is_created_only_once() {
    let server = Recorder::start(|_, before| match before {
        0 => with_etag("\"1\"", ""),
        1 => refusal(412, "PreconditionFailed"),
        _ => refusal(409, "ConditionalRequestConflict"),
    })
    .await;
    let bucket = bucket(&server);
    assert_eq!(bucket.create(KEY, "{}".to_owned()).await.unwrap(), Some(Version("\"1\"".to_owned())));
    assert_eq!(bucket.create(KEY, "{}".to_owned()).await.unwrap(), None);
    assert_eq!(bucket.create(KEY, "{}".to_owned()).await.unwrap(), None);
    for seen in server.requests() {
        assert_eq!(seen.line(), "PUT /mesh-reports/announced/web/7.json?x-id=PutObject");
        assert_eq!((seen.header("if-none-match"), seen.header("if-match")), (Some("*"), None));
        assert_eq!(seen.body, "{}");
    }
}

#[tokio::test]
async fn a_record_is_replaced_by_version() {
    let server = Recorder::start(|seen, before| match (seen.method.as_str(), before) {
        ("GET", _) => with_etag("\"7\"", "{\"announced\":{}}"),
        (_, 1) => with_etag("\"8\"", ""),
        (_, 2) => refusal(412, "PreconditionFailed"),
        _ => refusal(404, "NoSuchKey"),
    })
    .await;
    let bucket = bucket(&server);
    let stored = bucket.read(KEY).await.unwrap();
    assert_eq!(stored.text, "{\"announced\":{}}");
    let replaced = bucket.replace(KEY, "{}".to_owned(), &stored.version).await.unwrap();
    assert_eq!(replaced, Some(Version("\"8\"".to_owned())));
    assert_eq!(bucket.replace(KEY, "{}".to_owned(), &stored.version).await.unwrap(), None);
    assert_eq!(bucket.replace(KEY, "{}".to_owned(), &stored.version).await.unwrap(), None, "gone meanwhile");
    for seen in server.requests().iter().skip(1) {
        assert_eq!((seen.header("if-match"), seen.header("if-none-match")), (Some("\"7\""), None));
    }
}

#[tokio::test]
async fn a_denied_request_names_the_object() {
    let server = Recorder::start(|_, _| refusal(403, "AccessDenied")).await;
    let bucket = bucket(&server);
    for error in [
        bucket.create(KEY, "{}".to_owned()).await.unwrap_err(),
        bucket.read(KEY).await.unwrap_err(),
        bucket.put_report(KEY, "{}".to_owned(), "text/plain").await.unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.contains(KEY) && error.contains("as S3 says it"), "{error}");
    }
}
