//! Unused secrets: found and deleted, and restored when a task needs one.

use std::sync::Arc;

use controller::{Deadline, Edges, UnusedSecretsOrder, UnusedSecretsReport};
use jiff::{SignedDuration, Timestamp};
use local_stack::world::World;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use crate::{
    environment::{self, Environment, refusal},
    time::{Fixed, LONG},
};

/// An environment two days later, after a token that no task used would have been revoked.
async fn two_days_later(
    world: &World<'_>,
    aws: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
) -> Environment {
    two_days_later_in(world, "act", aws).await
}

/// The same, in one of the modes.
async fn two_days_later_in(
    world: &World<'_>,
    mode: &'static str,
    aws: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
) -> Environment {
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let clock = Arc::new(Fixed(Timestamp::now() + SignedDuration::from_hours(48)));
    // No other test's secrets have this prefix
    let prefix: &'static str = Box::leak(world.name.to_owned().into_boxed_str());
    let settings = [
        ("MODE", mode),
        ("SECRET_NAME_PREFIX", prefix),
        ("TIME_BOUNDS", "secrets-lag=0,ecs-lag=1,attempt=10,call=2,clocks=1"),
    ];
    let aws = environment::aws(aws).await;
    Environment::between(world, consul, aws, &settings, |edges| Edges { clock, ..edges }).await
}

fn forward(_: &RecordedRequest, _: usize) -> Answer {
    Answer::Forward
}

async fn delete(environment: &Environment, order: UnusedSecretsOrder) -> UnusedSecretsReport {
    environment.controller.delete_unused_secrets(order, Deadline::after(LONG)).await
}

/// Creates a secret; with the controller's tag if it is `own`.
async fn secret(world: &World<'_>, name: &str, value: &Value, own: bool) {
    let tags = if own { json!([{ "Key": "managed-by", "Value": "ecs-mesh-controller" }]) } else { json!([]) };
    let body = json!({ "Name": name, "SecretString": value.to_string(), "Tags": tags });
    world.aws.call("secretsmanager", "secretsmanager.CreateSecret", &body).await;
}

/// The value of a secret that the controller has emptied.
fn emptied() -> Value {
    json!({ "nonce": "empty/6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69" })
}

async fn is_deleted(world: &World<'_>, name: &str) -> bool {
    let described =
        world.aws.call("secretsmanager", "secretsmanager.DescribeSecret", &json!({ "SecretId": name })).await;
    described.get("DeletedDate").is_some_and(|date| !date.is_null())
}

#[tokio::test]
async fn only_own_empty_secrets_that_no_definition_reads_are_deleted() {
    // Given secrets of the deployment's prefix
    let world = World::without_deployment("leftover").await;
    let token = json!({ "accessor_id": "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69", "token": "5ec2e700-0000-4000-8000-000000000001" });
    secret(&world, "leftover-gone", &emptied(), true).await;
    secret(&world, "leftover-read", &emptied(), true).await;
    secret(&world, "leftover-active", &token, true).await;
    secret(&world, "leftover-by-hand", &json!({}), true).await;
    secret(&world, "leftover-terraform", &emptied(), false).await;
    secret(&world, "leftoverother", &emptied(), true).await;
    let read = json!([{ "name": "CONSUL_HTTP_TOKEN", "valueFrom": "leftover-read:token::" }]);
    let body = json!({ "family": "leftover-reader", "containerDefinitions": [{ "name": "app", "image": "app", "secrets": read }] });
    world.ecs_call("RegisterTaskDefinition", &body).await;
    // When they are looked for, observed, and then deleted
    let observing = two_days_later_in(&world, "observe", forward).await;
    assert_eq!(delete(&observing, UnusedSecretsOrder::Delete).await.unused, ["leftover-gone"]);
    assert!(!observing.aws.operations().contains(&"DeleteSecret".to_owned()), "{:?}", observing.aws.operations());
    let environment = two_days_later(&world, forward).await;
    let report = delete(&environment, UnusedSecretsOrder::DryRun).await;
    assert!(report.problems.is_empty(), "{report:?}");
    assert_eq!(report.unused, ["leftover-gone"]);
    assert!(!is_deleted(&world, "leftover-gone").await, "a dry run");
    let report = delete(&environment, UnusedSecretsOrder::Delete).await;
    // Then one of them is
    assert_eq!((report.unused.as_slice(), report.problems.len()), (["leftover-gone".to_owned()].as_slice(), 0));
    for (name, expected) in [
        ("leftover-gone", true),
        ("leftover-read", false),
        ("leftover-active", false),
        ("leftover-by-hand", false),
        ("leftover-terraform", false),
        ("leftoverother", false),
    ] {
        assert_eq!(is_deleted(&world, name).await, expected, "{name}");
    }
    // And a second run has nothing to do
    assert!(delete(&environment, UnusedSecretsOrder::Delete).await.unused.is_empty());
}

#[tokio::test]
async fn a_recent_secret_is_kept() {
    let world = World::without_deployment("unused-recent").await;
    secret(&world, "unused-recent-web", &emptied(), true).await;
    let consul = Recorder::before(&world.consul.address, forward).await;
    let settings = [("SECRET_NAME_PREFIX", "unused-recent")];
    let environment = Environment::between(&world, consul, environment::aws(forward).await, &settings, |e| e).await;
    assert!(delete(&environment, UnusedSecretsOrder::Delete).await.unused.is_empty());
    assert_eq!(environment.aws.operations(), ["ListSecrets"], "neither secrets nor definitions are read");
}

#[tokio::test]
async fn nothing_is_deleted_if_a_definition_cannot_be_read() {
    let world = World::without_deployment("unused-blind").await;
    secret(&world, "unused-blind-web", &emptied(), true).await;
    for operation in ["ListTaskDefinitions", "DescribeTaskDefinition", "ListSecrets", "GetSecretValue"] {
        let script = move |seen: &RecordedRequest, _| match seen.operation().as_deref() {
            Some(asked) if asked == operation => refusal("AccessDeniedException"),
            _ => Answer::Forward,
        };
        let report = delete(&two_days_later(&world, script).await, UnusedSecretsOrder::Delete).await;
        assert!(report.unused.is_empty() && !report.problems.is_empty(), "{operation}: {report:?}");
    }
    let no_definitions = |seen: &RecordedRequest, _| match seen.operation().as_deref() {
        Some("ListTaskDefinitions") => Answer::ok(json!({ "taskDefinitionArns": [] }).to_string()),
        _ => Answer::Forward,
    };
    let report = delete(&two_days_later(&world, no_definitions).await, UnusedSecretsOrder::Delete).await;
    assert!(report.left.as_ref().is_some_and(|reason| reason.contains("lists 0")), "{report:?}");
    assert!(!is_deleted(&world, "unused-blind-web").await);
}

#[tokio::test]
async fn a_secret_that_got_a_token_meanwhile_is_restored() {
    // Given a secret into which another writer has put a token just before it is marked for deletion
    let world = World::without_deployment("unused-race").await;
    secret(&world, "unused-race-web", &emptied(), true).await;
    let script = |seen: &RecordedRequest, _| match seen.operation().as_deref() {
        Some("DescribeSecret") => {
            let stages = json!({ "later": ["AWSCURRENT"], "earlier": ["AWSPREVIOUS"] });
            let described = json!({ "Name": "unused-race-web", "DeletedDate": 1.8e9, "VersionIdsToStages": stages });
            Answer::ok(described.to_string())
        }
        _ => Answer::Forward,
    };
    let report = delete(&two_days_later(&world, script).await, UnusedSecretsOrder::Delete).await;
    // Then it stays
    assert!(report.unused.is_empty() && report.problems.is_empty(), "{report:?}");
    assert!(!is_deleted(&world, "unused-race-web").await);
}

#[tokio::test]
async fn a_lost_answer_to_the_deletion_is_looked_after() {
    // Given a deletion whose answer is lost: the client's next try finds the secret marked
    let world = World::without_deployment("unused-lost").await;
    secret(&world, "unused-lost-web", &emptied(), true).await;
    let script = |seen: &RecordedRequest, _| match seen.operation().as_deref() {
        Some("GetSecretValue") => Answer::ok(
            json!({ "SecretString": emptied().to_string(), "VersionId": "v", "CreatedDate": 1.7e9 }).to_string(),
        ),
        Some("DeleteSecret") => {
            let text = "You can't perform this operation on the secret because it was marked for deletion.";
            Answer::status(400, json!({ "__type": "InvalidRequestException", "Message": text }).to_string())
        }
        Some("DescribeSecret") => {
            let described = json!({ "DeletedDate": 1.8e9, "VersionIdsToStages": { "v": ["AWSCURRENT"] } });
            Answer::ok(described.to_string())
        }
        _ => Answer::Forward,
    };
    let report = delete(&two_days_later(&world, script).await, UnusedSecretsOrder::Delete).await;
    assert_eq!((report.unused.as_slice(), report.problems.len()), (["unused-lost-web".to_owned()].as_slice(), 0));
}

#[tokio::test]
async fn a_secret_that_changed_since_it_was_found_is_kept() {
    // Given a secret that another writer replaces between its first read and the deletion
    let world = World::without_deployment("unused-late").await;
    secret(&world, "unused-late-web", &emptied(), true).await;
    let script = |seen: &RecordedRequest, number: usize| match seen.operation().as_deref() {
        Some("GetSecretValue") if number > 1 => {
            Answer::ok(json!({ "SecretString": emptied().to_string(), "VersionId": "later" }).to_string())
        }
        _ => Answer::Forward,
    };
    let report = delete(&two_days_later(&world, script).await, UnusedSecretsOrder::Delete).await;
    assert!(report.unused.is_empty() && report.problems.is_empty(), "{report:?}");
    assert!(!is_deleted(&world, "unused-late-web").await);
}

#[tokio::test]
async fn a_starting_task_restores_its_secret() {
    // Given a deleted secret of a service
    let world = World::without_deployment("unused-again").await;
    let (service, definition) = (world.service(), world.mesh_definition(&world.service()).await);
    let name = world.secret_name(&service);
    secret(&world, &name, &emptied(), true).await;
    let before = world.aws.call("secretsmanager", "secretsmanager.DescribeSecret", &json!({ "SecretId": name })).await;
    world.aws.call("secretsmanager", "secretsmanager.DeleteSecret", &json!({ "SecretId": name })).await;
    // When a task of the service starts
    let task = world.run(&definition).await;
    let environment = Environment::start(&world, "secrets-manager").await;
    let report = environment.handle(&[world.event(&task).await]).await;
    // Then it has a token, in the same secret
    assert!(report.failures.is_empty(), "{report:?}");
    world.provisioned(&name).await;
    let after = world.aws.call("secretsmanager", "secretsmanager.DescribeSecret", &json!({ "SecretId": name })).await;
    assert_eq!(before["ARN"], after["ARN"]);
    assert_eq!(world.tokens_about(&format!("Token for {service} service")).await.len(), 1, "no token is left over");
}

#[tokio::test]
async fn another_creator_s_deleted_secret_is_not_restored() {
    let world = World::without_deployment("unused-foreign").await;
    let (service, definition) = (world.service(), world.mesh_definition(&world.service()).await);
    let name = world.secret_name(&service);
    secret(&world, &name, &json!({}), false).await;
    world.aws.call("secretsmanager", "secretsmanager.DeleteSecret", &json!({ "SecretId": name })).await;
    let task = world.run(&definition).await;
    let environment = Environment::start(&world, "secrets-manager").await;
    let report = environment.handle(&[world.event(&task).await]).await;
    let reason = report.failures[0].error.to_string();
    assert!(reason.contains(&name) && reason.contains("marked for deletion"), "{reason}");
    assert!(is_deleted(&world, &name).await);
}
