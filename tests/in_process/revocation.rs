//! The revocation of a token when calls fail, or a person has changed its secret. The simulation tests its steps.

use std::sync::Arc;

use crate::{
    environment::{Environment, at, refusal},
    time::Fixed,
};
use controller::{BatchReport, ControllerError};
use jiff::{SignedDuration, Timestamp};
use local_stack::{
    consul::Token,
    world::{Definition, Pair, World, idle_check},
};
use observe::{CallError, SweepOrder};
use serde_json::{Value, json};
use test_harness::{
    proxy::{Dialect, Fault, FaultKind, FaultPoint, Proxy},
    recorder::{Answer, RecordedRequest, Recorder},
};

/// Longer than the version that shows a token stays.
const HIDDEN: SignedDuration = SignedDuration::from_mins(50);
/// Longer than a token is hidden before its deletion, and shorter than a version that shows one stays.
const DELETED: SignedDuration = SignedDuration::from_mins(10);

/// An environment without a grace period, this much later.
async fn later(world: &World<'_>, later: SignedDuration) -> Environment {
    later_with(world, later, |_| Answer::Forward).await
}

/// The same, with a Secrets Manager that answers by `script`.
async fn later_with(
    world: &World<'_>,
    later: SignedDuration,
    script: impl Fn(&RecordedRequest) -> Answer + Send + Sync + 'static,
) -> Environment {
    later_between(world, later, crate::environment::aws(move |seen, _| script(seen)).await).await
}

async fn later_between(world: &World<'_>, later: SignedDuration, aws: Recorder) -> Environment {
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let clock = |edges| at(Arc::new(Fixed(Timestamp::now() + later)), edges);
    Environment::between(world, consul, aws, &[("REVOCATION_GRACE_SECONDS", "0")], clock).await
}

fn assert_handled(report: &BatchReport) {
    assert!(report.failures.is_empty(), "{report:?}");
}

async fn check_idle(world: &World<'_>, environment: &Environment) -> BatchReport {
    environment.handle(&[idle_check(&world.service())]).await
}

/// The value of the service's secret.
async fn held(world: &World<'_>) -> Value {
    let text = world.secret_text(&world.secret_name(&world.service())).await.expect("a secret");
    serde_json::from_str(&text).expect("JSON")
}

/// A service whose only task has stopped, and its token.
async fn idle_service(world: &World<'_>) -> (Definition, Pair) {
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.run(&definition).await;
    let event = world.event(&task).await;
    assert_handled(&Environment::start(world, "auto").await.handle(&[event]).await);
    let pair = world.provisioned(&world.secret_name(&world.service())).await;
    world.stop(&task).await;
    (definition, pair)
}

/// An idle service whose token is hidden, and that token.
async fn hidden_token(world: &World<'_>) -> (Definition, Pair) {
    let (definition, pair) = idle_service(world).await;
    assert_handled(&check_idle(world, &later(world, HIDDEN).await).await);
    assert_eq!(held(world).await["retiring"], json!(pair.token));
    (definition, pair)
}

/// Starts a task, whose event a new environment handles.
async fn start(world: &World<'_>, definition: &Definition) {
    let task = world.run(definition).await;
    let event = world.event(&task).await;
    assert_handled(&Environment::start(world, "auto").await.handle(&[event]).await);
}

#[tokio::test]
async fn edited_hidden_tokens_are_judged_by_mark() {
    let world = World::without_deployment("edited-hidden").await;
    let (_, pair) = hidden_token(&world).await;
    let edit = async |value: Value| {
        let secret = world.secret_name(&world.service());
        let call = world.aws.secrets().put_secret_value().secret_id(secret).secret_string(value.to_string());
        call.send().await.expect("PutSecretValue");
    };
    // Given another token in place of the hidden one, then that stays
    let made = world.consul.put("/v1/acl/token", &json!({ "Description": "mine" })).await;
    edit(json!({ "accessor_id": made["AccessorID"], "retiring": made["SecretID"] })).await;
    assert_handled(&check_idle(&world, &later(&world, DELETED).await).await);
    assert!(world.is_valid(made["SecretID"].as_str().unwrap()).await);
    // Given the hidden token without its nonce, then its description identifies it
    edit(json!({ "accessor_id": pair.accessor_id, "retiring": pair.token })).await;
    assert_handled(&check_idle(&world, &later(&world, DELETED).await).await);
    assert!(!world.is_valid(&pair.token).await);
    assert_eq!(world.is_empty(&world.secret_name(&world.service())).await, Some(true));
}

#[tokio::test]
async fn a_write_without_an_answer_is_completed() {
    let world = World::without_deployment("lost-answer").await;
    let (_, pair) = idle_service(&world).await;
    let proxy = Proxy::before(&world.aws.endpoint, Dialect::Aws).await;
    proxy.script(|call| {
        (call.operation == "PutSecretValue").then(|| Fault { kind: FaultKind::Reset, point: FaultPoint::After })
    });
    let unanswered = async |later: SignedDuration| {
        let aws = Recorder::before(&proxy.url, |_, _| Answer::Forward).await;
        let report = check_idle(&world, &later_between(&world, later, aws).await).await;
        assert_eq!(report.failures.len(), 1, "the message comes back");
    };
    // The write that hides the token takes effect: the redelivered idle check deletes the token when it is due
    unanswered(HIDDEN).await;
    assert_eq!(held(&world).await["retiring"], json!(pair.token));
    // The write that empties the secret takes effect: no secret names the token, until the next sweep
    unanswered(DELETED).await;
    assert_eq!(world.is_empty(&world.secret_name(&world.service())).await, Some(true));
    assert_handled(&check_idle(&world, &later(&world, DELETED).await).await);
    assert!(world.is_valid(&pair.token).await);
    let report = crate::sweep::swept(&later(&world, DELETED).await, &SweepOrder::default()).await;
    assert!(report.problems.is_empty() && !world.is_valid(&pair.token).await, "{report:?}");
}

#[tokio::test]
async fn a_former_cluster_s_token_is_marked_anew() {
    // Given a token whose description names another cluster, in a secret that the controller has written
    let world = World::without_deployment("before-moved").await;
    let service = world.service();
    let mark = |cluster: &str| format!("Token for {service} service\nconsul.hashicorp.com/cluster: {cluster}");
    let elsewhere = mark("arn:aws:ecs:us-east-1:123456789012:cluster/gone");
    let made = json!({ "Description": elsewhere, "ServiceIdentities": [{ "ServiceName": service }] });
    let made = Token::from(&world.consul.put("/v1/acl/token", &made).await);
    let pair = Pair { accessor_id: made.accessor_id, token: made.secret_id };
    let nonce = format!("{}/0b1c1e9e-9f4e-4f0e-8f0c-6f1d2c3b4a59", pair.accessor_id);
    let held = json!({ "accessor_id": pair.accessor_id, "token": pair.token, "nonce": nonce });
    world.put_secret(&world.secret_name(&service), &held).await;
    // When a task starts
    start(&world, &world.mesh_definition(&service).await).await;
    // Then its description names this cluster, and its grants are unchanged
    let token = world.consul.get(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    assert!(token["Description"].as_str().is_some_and(|said| said.starts_with(&mark(&world.cluster()))), "{token}");
    assert_eq!(token["ServiceIdentities"][0]["ServiceName"], json!(service));
    assert_eq!(world.provisioned(&world.secret_name(&service)).await, pair);
}

#[tokio::test]
async fn a_refused_write_leaves_no_token() {
    let world = World::without_deployment("not-allowed").await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    let event = world.event(&task).await;
    let service = world.service();
    let environment = later_with(&world, SignedDuration::ZERO, move |seen| match seen.operation().as_deref() {
        Some("CreateSecret") if seen.body.contains(&service) => refusal("AccessDeniedException"),
        _ => Answer::Forward,
    })
    .await;
    let report = environment.handle(&[event]).await;
    assert_eq!(report.failures.len(), 1, "the message comes back");
    assert!(report.failures[0].error.to_string().contains("IAM denied this call"), "{}", report.failures[0].error);
    assert_eq!(world.tokens_about(&world.service()).await.len(), 0);
}

#[tokio::test]
async fn an_older_current_version_is_reported() {
    let world = World::without_deployment("moved-back").await;
    let definition = world.mesh_definition(&world.service()).await;
    let secret = world.secret_name(&world.service());
    // Given a secret whose first version, which is empty, a person has made current again
    world.put_secret(&secret, &json!({})).await;
    let secrets = world.aws.secrets();
    let first = secrets.get_secret_value().secret_id(&secret).send().await.unwrap().version_id.unwrap();
    start(&world, &definition).await;
    let shown = secrets.get_secret_value().secret_id(&secret).send().await.unwrap().version_id.unwrap();
    let moved = secrets.update_secret_version_stage().secret_id(&secret).version_stage("AWSCURRENT");
    moved.move_to_version_id(first).remove_from_version_id(shown).send().await.expect("UpdateSecretVersionStage");
    let before = world.tokens_about(&world.service()).await.len();
    // When a task starts
    let task = world.run(&definition).await;
    let event = world.event(&task).await;
    let environment = Environment::scripted(&world, &[("TIME_BOUNDS", "secrets-lag=0")], |_, _| Answer::Forward).await;
    let report = environment.handle(&[event]).await;
    // Then the message does not return, and the error says what to do
    let error = &report.faults[0].error;
    assert!(report.failures.is_empty() && matches!(**error, ControllerError::Call(CallError::Secrets(_))), "{error}");
    assert!(error.to_string().contains("made it current again; give the secret a new value"), "{error}");
    assert_eq!(world.tokens_about(&world.service()).await.len(), before);
}
