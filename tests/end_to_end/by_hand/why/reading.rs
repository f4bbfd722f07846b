//! What is read, and what cannot be read.

use local_stack::Stack;
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneService, DataplaneTask, Release},
    recorder::{Answer, RecordedRequest, Recorder},
};

use super::{PAGE, cause, documented, last_line, permissions, token, why_at, world};

#[tokio::test]
async fn a_healthy_task_is_healthy() {
    let world = world("why-healthy").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.settle().await;
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let (consul, arguments) = (world.consul.address.as_str(), ["--cluster", world.name, "--output", "json"]);
    let said = why_at(&aws.url, consul, token().await, task.id(), &arguments).await;
    let document = said.json();
    assert_eq!(cause(&said), ("healthy".to_owned(), Some(0)));
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/schema/why.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    // No log of a container explains what is healthy
    let mut expected = documented("why");
    assert!(expected.remove(super::log::PERMISSION), "{expected:?}");
    assert_eq!(permissions(&aws.requests()), expected);
    // The log is searched by a pattern
    let search = aws
        .requests()
        .into_iter()
        .find(|request| request.header("x-amz-target").is_some_and(|target| target.ends_with("FilterLogEvents")));
    let search: Value = serde_json::from_str(&search.expect("a search").body).unwrap();
    let pattern = format!(
        r#"{{ $.task_id = "*{id}*" || $.last_task = "*{id}" || $.outcome = "guard_tripped" }}"#,
        id = task.id()
    );
    assert_eq!(search["filterPattern"], pattern);
    // By its ARN, the cluster is known
    let by_arn = why_at(&aws.url, consul, token().await, &task.arn, &[]).await;
    assert_eq!((by_arn.code, by_arn.out.lines().last()), (Some(0), Some("healthy")), "{}", by_arn.errors);
    assert_eq!(last_line(&world, &world.service()).await, ("healthy".to_owned(), Some(0)));
}

#[tokio::test]
async fn what_cannot_be_read_is_said_and_never_counts_as_absent() {
    let world = world("why-unread").await;
    let task = DataplaneTask::start(&world, Release::V0_9).await;
    task.forget().await;
    let stack = Stack::shared().await;
    let denied = Recorder::before_aws(&stack.aws, |request, _| {
        let is_search = request.header("x-amz-target").is_some_and(|target| target.ends_with("FilterLogEvents"));
        let refusal = r#"{"__type":"AccessDeniedException","message":"not authorized"}"#;
        if is_search { Answer::Reply(400, Vec::new(), refusal.to_owned()) } else { Answer::Forward }
    })
    .await;
    let arguments = ["--cluster", world.name];
    let consul = world.consul.address.as_str();
    // Without permission to read the log
    let said = why_at(&denied.url, consul, token().await, task.id(), &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("error: the controller's history could not be read: log group "), "{}", said.errors);
    let line = said.out.lines().last().unwrap();
    let unknown = "the controller's log could not be read, so it is unknown who deregistered it";
    assert!(line.contains(unknown), "{line}");
    // Without Consul, and with a token that may not list tokens
    let open = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;
    let said = why_at(&open.url, "http://127.0.0.1:1", token().await, task.id(), &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("Consul could not be read at CONSUL_HTTP_ADDR"), "{}", said.errors);
    assert!(said.out.lines().last().unwrap().contains("Consul could not be read. Ask again"), "{}", said.out);
    let policy = PAGE.split_once("```hcl\n").and_then(|(_, rest)| rest.split_once("```")).expect("a policy").0;
    let of_status = stack.consul.token_with_rules("why-unread", policy).await;
    let said = why_at(&open.url, consul, &of_status.secret_id, task.id(), &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("lacks acl = \"read\""), "{}", said.errors);
    // Without such a stack
    let said =
        why_at(&open.url, consul, token().await, task.id(), &[&arguments[..], &["--stack", "nowhere"]].concat()).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("error: there is no stack nowhere, so no log"), "{}", said.errors);
}

/// A page of the log, which says whether there is another one.
fn page(lines: &[Value], next: Option<&str>) -> Answer {
    let events: Vec<Value> =
        lines.iter().map(|line| json!({ "timestamp": 1_700_000_000_000_i64, "message": line.to_string() })).collect();
    let mut body = json!({ "events": events });
    body["nextToken"] = next.into();
    Answer::Reply(200, vec![("content-type", "application/x-amz-json-1.1".to_owned())], body.to_string())
}

#[tokio::test]
async fn a_long_history_is_read_page_by_page_and_not_for_ever() {
    let world = world("why-unread").await;
    let stack = Stack::shared().await;
    let id = "ab".repeat(16);
    let is_search =
        |request: &RecordedRequest| request.header("x-amz-target").is_some_and(|it| it.ends_with("FilterLogEvents"));
    let now = jiff::Timestamp::now().to_string();
    let end = json!({
        "timestamp": now, "action": "task_stopped", "outcome": "seen", "task_id": id, "cluster_arn": world.cluster(),
        "stop_code": "SpotInterruption", "stopped_at": now,
    });
    // Given a first page without a match, as CloudWatch Logs answers when it has searched a part
    let two_pages = Recorder::before_aws(&stack.aws, move |request, _| {
        if !is_search(request) {
            return Answer::Forward;
        }
        let is_second = request.body.contains("more-of-it");
        if is_second { page(std::slice::from_ref(&end), None) } else { page(&[], Some("more-of-it")) }
    })
    .await;
    let (consul, arguments) = (world.consul.address.as_str(), ["--cluster", world.name]);
    let in_json = [&arguments[..], &["--output", "json"]].concat();
    let said = why_at(&two_pages.url, consul, token().await, &id, &in_json).await;
    assert_eq!(cause(&said), ("spot-interruption".to_owned(), Some(0)));
    // Given pages without an end
    let endless = Recorder::before_aws(&stack.aws, move |request, _| {
        if is_search(request) { page(&[], Some("more-of-it")) } else { Answer::Forward }
    })
    .await;
    let said = why_at(&endless.url, consul, token().await, &id, &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("the search stopped after 50000 lines or 200 pages"), "{}", said.errors);
    assert!(said.out.lines().last().unwrap().contains("not everything could be read"), "{}", said.out);
}
