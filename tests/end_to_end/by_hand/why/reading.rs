//! What is read, and what cannot be read.

use local_stack::Stack;
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneService, DataplaneTask, Release},
    recorder::{Answer, Recorder},
};

use super::{PAGE, documented, last_line, permissions, token, why_at, world};

#[tokio::test]
async fn a_healthy_task_is_healthy() {
    let world = world("why-healthy").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.settle().await;
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let (consul, arguments) = (world.consul.address.as_str(), ["--cluster", world.name, "--output", "json"]);
    let said = why_at(&aws.url, consul, token().await, task.id(), &arguments).await;
    let document = said.json();
    assert_eq!((said.code, &document["conclusion"]), (Some(0), &json!("healthy")), "{document:#}{}", said.errors);
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/why.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    assert_eq!(permissions(&aws.requests()), documented("why"));
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
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
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
    let unknown = "who deregistered it is not known, because the controller's log could not be read";
    assert!(line.contains(unknown), "{line}");
    // Without Consul, and with a token that may not list tokens
    let open = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;
    let said = why_at(&open.url, "http://127.0.0.1:1", token().await, task.id(), &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("Consul could not be read at CONSUL_HTTP_ADDR"), "{}", said.errors);
    assert!(said.out.lines().last().unwrap().contains("Consul could not be read: ask again"), "{}", said.out);
    let policy = PAGE.split_once("```hcl\n").and_then(|(_, rest)| rest.split_once("```")).expect("a policy").0;
    let of_status = stack.consul.token_with_rules("why-unread", policy).await;
    let said = why_at(&open.url, consul, &of_status.secret_id, task.id(), &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("lacks acl = \"read\""), "{}", said.errors);
    // Without such a stack
    let said =
        why_at(&open.url, consul, token().await, task.id(), &[&arguments[..], &["--stack", "nowhere"]].concat()).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("resources of stack nowhere"), "{}", said.errors);
}
