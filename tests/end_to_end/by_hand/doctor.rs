//! `ecs-mesh doctor` names each fault, with the command that corrects it.

use std::process::Stdio;

use local_stack::{
    Stack,
    aws::ACCOUNT,
    consul::{self, Consul},
    wait::{SOON, eventually},
    world::{World, cluster_arn, documented_policy},
};
use reqwest::Method;
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneService, DataplaneTask, Release},
    recorder::{Answer, Recorder},
};
use tokio::{process::Command, sync::OnceCell};

use super::{Said, command, documented, permissions, said};
use crate::fixture::{Fixture, controller_token};

const EVENT: &str = include_str!("../../../events/task-stopped-essential-container-exited.json");

async fn doctor(aws: &str, arguments: &[&str]) -> Said {
    said(&mut command(aws, &[&["doctor"], arguments].concat()).await).await
}

/// The checks that are not ok: their names, outcomes, what was seen, and commands.
fn faults(document: &Value) -> Vec<Value> {
    let checks = document["checks"].as_array().expect("checks").iter();
    checks.filter(|check| check["outcome"] != "ok").cloned().collect()
}

/// A trail that logs API calls: there is one for all tests.
async fn trail(stack: &Stack) {
    static TRAIL: OnceCell<()> = OnceCell::const_new();
    let create = || async {
        let call = async |action: &str, body: Value| {
            let target = format!("com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101.{action}");
            stack.aws.call("cloudtrail", &target, &body).await;
        };
        call("CreateTrail", json!({ "Name": "all", "S3BucketName": "artifacts" })).await;
        let selector = json!({ "ReadWriteType": "WriteOnly", "IncludeManagementEvents": true });
        call("PutEventSelectors", json!({ "TrailName": "all", "EventSelectors": [selector] })).await;
        call("StartLogging", json!({ "Name": "all" })).await;
    };
    TRAIL.get_or_init(create).await;
}

/// Runs a command of Consul's as it was shown, with the management token.
async fn paste(consul: &Consul, command: &str) {
    let directory = consul::program().parent().expect("a directory").to_owned();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::join_paths([directory].into_iter().chain(std::env::split_paths(&paths))).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env_clear().env("PATH", paths).stdin(Stdio::null()).kill_on_drop(true);
    shell.env("CONSUL_HTTP_ADDR", &consul.address).env("CONSUL_HTTP_TOKEN", &consul.management_token);
    let ended = said(&mut shell).await;
    assert_eq!(ended.code, Some(0), "{command}: {}", ended.errors);
}

/// The controller of consul-ecs, as an ECS service.
async fn run_always_on_controller(world: &World<'_>) {
    let container = json!({
        "name": "consul-ecs-controller", "image": "public.ecr.aws/hashicorp/consul-ecs:0.9.0", "command": ["controller"],
    });
    let family = format!("{}-controller", world.name);
    let definition = json!({ "family": family, "cpu": "256", "memory": "512", "containerDefinitions": [container] });
    world.ecs_call("RegisterTaskDefinition", &definition).await;
    let service = json!({
        "cluster": world.name, "serviceName": "consul-controller", "taskDefinition": family, "desiredCount": 1, "launchType": "EC2",
    });
    world.ecs_call("CreateService", &service).await;
}

async fn deployed<'a>(stack: &'static Stack, topic: &str) -> World<'a> {
    // Without client agents, `operator` is more than the controller needs.
    let rules = documented_policy().replace("operator = \"write\"\n", "");
    let token = stack.consul.token_with_rules("controller-doctor", &rules).await.secret_id;
    let cluster = cluster_arn("doctor");
    let parameters = [("Bootstrap", "none"), ("AlarmTopicArn", topic), ("EcsClusterArns", cluster.as_str())];
    Fixture::get().await.deployment_of_its_own(&stack.consul, "doctor", &token, &parameters).await
}

/// A topic with a key that CloudWatch may use: its ARN. Who else may use the key, IAM decides.
async fn encrypted_topic(stack: &Stack) -> String {
    let root = format!("arn:aws:iam::{ACCOUNT}:root");
    let account = json!({ "Effect": "Allow", "Principal": { "AWS": root }, "Action": "kms:*", "Resource": "*" });
    let statement = json!({
        "Effect": "Allow", "Principal": { "Service": "cloudwatch.amazonaws.com" },
        "Action": ["kms:Decrypt", "kms:GenerateDataKey*"], "Resource": "*",
    });
    let policy = json!({ "Version": "2012-10-17", "Statement": [account, statement] }).to_string();
    let key = stack.aws.call("kms", "TrentService.CreateKey", &json!({ "Policy": policy })).await;
    let query = [
        ("Action", "CreateTopic"),
        ("Version", "2010-03-31"),
        ("Name", "alarms"),
        ("Attributes.entry.1.key", "KmsMasterKeyId"),
        ("Attributes.entry.1.value", key["KeyMetadata"]["KeyId"].as_str().expect("a key")),
    ];
    let created = stack.aws.request(Method::GET, "/", "sns").query(&query).send().await.unwrap().text().await.unwrap();
    let (_, arn) = created.split_once("<TopicArn>").expect("a topic");
    arn.split('<').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_working_installation_then_a_wrong_policy_and_a_rival_controller() {
    let stack = Stack::shared().await;
    let topic = encrypted_topic(stack).await;
    let world = deployed(stack, &topic).await;
    trail(stack).await;
    let _task = DataplaneTask::start(&world, Release::V0_9).await;
    let aws = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;
    let checked = async || {
        let made = doctor(&aws.url, &["--stack", "doctor", "--output", "json"]).await;
        let document = made.json();
        (made.code, faults(&document), document)
    };

    // Given a working installation
    let (code, not_ok, document) = checked().await;
    assert_eq!((code, not_ok.as_slice()), (Some(0), &[][..]), "{document:#}");
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/reference/schema/doctor.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    let text = doctor(&aws.url, &["--stack", "doctor"]).await.out;
    assert!(text.contains(&format!("CloudWatch may publish to {topic} with the key arn:")), "{text}");
    assert!(text.contains("Mode=act, clusters arn:aws:ecs:us-east-1:000000000000:cluster/doctor"), "{text}");

    // When the controller's token loses a permission
    let policy = stack.consul.get("/v1/acl/policy/name/controller-doctor").await;
    let without = policy["Rules"].as_str().unwrap().replace("node_prefix \"arn:\" {\n  policy = \"write\"\n}", "");
    let body = json!({ "Name": "controller-doctor", "Rules": &without });
    stack.consul.put(&format!("/v1/acl/policy/{}", policy["ID"].as_str().unwrap()), &body).await;
    let named = eventually("the lost permission", SOON, || async {
        let (code, not_ok, document) = checked().await;
        if code == Some(1) { Ok(not_ok) } else { Err(format!("{document:#}")) }
    });
    let named = named.await;
    assert_eq!((named.len(), &named[0]["check"]), (1, &json!("consul-token")), "{named:#?}");
    let seen = named[0]["seen"].as_str().unwrap();
    let lacks = " lacks: node \"arn:aws:ecs:us-east-1:000000000000:cluster/doctor\" { policy = \"write\" }";
    assert!(seen.ends_with(lacks), "{seen}");
    // Then the commands that are shown correct it: the policy of another name is left as it is
    let fix = named[0]["fix"].as_array().unwrap();
    assert!(fix[1].as_str().unwrap().ends_with(" -policy-name doctor"), "{fix:#?}");
    for command in fix {
        paste(&stack.consul, command.as_str().unwrap()).await;
    }
    assert_eq!(stack.consul.get("/v1/acl/policy/name/controller-doctor").await["Rules"], without);
    eventually("a policy that suffices", SOON, || async {
        let (code, _, document) = checked().await;
        if code == Some(0) { Ok(()) } else { Err(format!("{document:#}")) }
    })
    .await;

    // When the controller of consul-ecs runs too
    run_always_on_controller(&world).await;
    let (code, not_ok, _) = checked().await;
    assert_eq!((code, not_ok.len()), (Some(1), 1), "{not_ok:#?}");
    assert_eq!(not_ok[0]["check"], "other-controllers");
    let stop =
        "aws ecs update-service --cluster doctor --service consul-controller --desired-count 0 --region us-east-1";
    assert_eq!(not_ok[0]["fix"], json!([stop]));
    let scaled = json!({ "cluster": "doctor", "service": "consul-controller", "desiredCount": 0 });
    world.ecs_call("UpdateService", &scaled).await;
    let (code, _, document) = checked().await;
    assert_eq!(code, Some(0), "{document:#}");

    // When a message has failed
    let send = stack.aws.sqs().send_message().queue_url(&world.deployed.failed_queue_url).message_body(EVENT);
    send.send().await.expect("SendMessage");
    let (_, not_ok, _) = checked().await;
    assert_eq!((not_ok.len(), &not_ok[0]["check"]), (1, &json!("failed-events")), "{not_ok:#?}");
    let about = not_ok[0]["seen"].as_str().unwrap();
    assert!(about.starts_with("about 1 message: ECS Task State Change: task "), "{about}");
    assert_eq!(not_ok[0]["fix"][1], "ecs-mesh redrive --stack doctor --region us-east-1");
    assert_eq!(permissions(&aws.requests()), documented("doctor"));
}

#[tokio::test]
async fn what_an_installation_needs_is_checked_before_it() {
    let world = World::without_deployment("before-install").await;
    let stack = Stack::shared().await;
    trail(stack).await;
    DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    let aws = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;
    let before = async |aws: &Recorder, token: &str| {
        let arguments =
            ["doctor", "--before-install", "--stack", "planned", "--clusters", world.name, "--output", "json"];
        let mut command = command(&aws.url, &arguments).await;
        let made = said(command.env("CONSUL_HTTP_ADDR", &world.consul.address).env("CONSUL_HTTP_TOKEN", token)).await;
        (made.code, made.json()["checks"].clone())
    };
    let outcome = |checks: &Value, name: &str| {
        checks.as_array().unwrap().iter().find(|check| check["check"] == name).map(|check| check["outcome"].clone())
    };
    let token = controller_token(world.consul, "before-install").await;
    let (code, checks) = before(&aws, &token.secret_id).await;
    for name in ["aws", "stack", "consul-acls", "consul-token", "clusters", "other-controllers", "other-stacks"] {
        assert_eq!(outcome(&checks, name), Some(json!("ok")), "{name}: {checks:#}");
    }
    assert_eq!(code, Some(0), "{checks:#}");
    assert_eq!(permissions(&aws.requests()), documented("doctor --before-install"));

    let reader = world.consul.token_with_rules("before-install-reader", "node_prefix \"\" { policy = \"read\" }").await;
    let (code, checks) = before(&aws, &reader.secret_id).await;
    assert_eq!((code, outcome(&checks, "consul-token")), (Some(1), Some(json!("failed"))), "{checks:#}");
    let (code, checks) = before(&aws, "unknown").await;
    assert_eq!((code, outcome(&checks, "consul-acls")), (Some(1), Some(json!("failed"))), "{checks:#}");

    // What AWS refuses is unknown, and no failure
    let refusal = r#"{ "__type": "AccessDeniedException", "message": "cloudtrail:DescribeTrails is refused" }"#;
    let is_trail = |target: &str| target.contains("CloudTrail");
    let refusing = Recorder::before_aws(&stack.aws, move |seen, _| {
        if seen.header("x-amz-target").is_some_and(is_trail) { Answer::status(400, refusal) } else { Answer::Forward }
    });
    let (code, checks) = before(&refusing.await, &token.secret_id).await;
    assert_eq!((code, outcome(&checks, "cloudtrail")), (Some(2), Some(json!("unknown"))), "{checks:#}");
}
