//! Writes that Secrets Manager refuses: the token that was to be shown is deleted.

use serde_json::json;

use super::{later_with, start};
use crate::environment::Environment;
use controller::ControllerError;
use jiff::SignedDuration;
use local_stack::world::World;
use test_harness::recorder::Answer;

#[tokio::test]
async fn a_refused_write_leaves_no_token() {
    let world = World::without_deployment("not-allowed").await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    let event = world.event(&task).await;
    let service = world.service();
    let environment = later_with(&world, SignedDuration::ZERO, move |seen| match seen.operation().as_deref() {
        Some("CreateSecret") if seen.body.contains(&service) => {
            Answer::status(400, json!({ "__type": "AccessDeniedException", "message": "no" }).to_string())
        }
        _ => Answer::Forward,
    })
    .await;
    let report = environment.handle(&[event]).await;
    assert_eq!(report.failures.len(), 1, "the message comes back");
    assert!(report.failures[0].error.to_string().contains("refuses the write"), "{}", report.failures[0].error);
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
    // Then the message fails permanently, and the error says what to do
    let error = &report.failures[0].error;
    assert!(error.is_permanent() && matches!(**error, ControllerError::Secrets(_)), "{error}");
    assert!(error.to_string().contains("made it current again; give the secret a new value"), "{error}");
    assert_eq!(world.tokens_about(&world.service()).await.len(), before);
}
