//! The Secrets Manager client against a recorder: its writes, and answers of AWS that the emulator does not give.

use std::collections::BTreeMap;

use aws::secrets::{AwsSecrets, SecretReads, SecretWrites, SecretsError};
use mesh::{
    secret::{SecretState, StoredSecret},
    token::TokenPair,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use crate::environment::{refusal, sdk_at};

const NAME: &str = "consul-ecs-web";
const ACCESSOR: &str = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69";

fn client(server: &Recorder, kms_key: Option<&str>) -> AwsSecrets {
    let tags = BTreeMap::from([("managed-by".to_owned(), "ecs-mesh-controller".to_owned())]);
    AwsSecrets::new(&sdk_at(&server.url), kms_key.map(str::to_owned), tags)
}

fn pair() -> TokenPair {
    TokenPair { accessor: ACCESSOR.parse().unwrap(), secret: SecretString::from("s3cret") }
}

fn missing() -> StoredSecret {
    StoredSecret { state: SecretState::Missing, is_ours: false, version: None, written_at: None }
}

fn empty(version: &str) -> StoredSecret {
    StoredSecret { state: SecretState::Empty, is_ours: true, version: Some(version.to_owned()), written_at: None }
}

/// The bodies of all calls of an operation.
fn bodies(server: &Recorder, operation: &str) -> Vec<Value> {
    let seen = server.requests();
    seen.iter().filter(|seen| seen.operation().as_deref() == Some(operation)).map(RecordedRequest::json).collect()
}

#[tokio::test]
async fn a_new_secret_has_key_tags_and_pair() {
    let server = Recorder::start(|_, _| Answer::ok("{}")).await;
    client(&server, Some("arn:aws:kms:us-east-1:123456789012:key/k"))
        .write(NAME, &missing(), &SecretState::Active(pair()))
        .await
        .unwrap();
    let created = &bodies(&server, "CreateSecret")[0];
    assert_eq!(created["Name"], NAME);
    assert_eq!(created["KmsKeyId"], "arn:aws:kms:us-east-1:123456789012:key/k");
    assert_eq!(created["Tags"], json!([{ "Key": "managed-by", "Value": "ecs-mesh-controller" }]));
    let value: Value = serde_json::from_str(created["SecretString"].as_str().unwrap()).unwrap();
    assert_eq!([&value["accessor_id"], &value["token"]], [&json!(ACCESSOR), &json!("s3cret")]);
}

#[tokio::test]
async fn two_writes_of_one_pair_differ() {
    let server = Recorder::start(|_, _| Answer::ok("{}")).await;
    let secrets = client(&server, None);
    for _ in 0..2 {
        secrets.write(NAME, &empty("version-1"), &SecretState::Active(pair())).await.unwrap();
    }
    let writes = bodies(&server, "PutSecretValue");
    // One version ID with different contents, so that the second write is refused
    assert_eq!(writes[0]["ClientRequestToken"], writes[1]["ClientRequestToken"]);
    assert_ne!(writes[0]["SecretString"], writes[1]["SecretString"]);
    for write in &writes {
        let value: Value = serde_json::from_str(write["SecretString"].as_str().unwrap()).unwrap();
        assert_eq!([&value["accessor_id"], &value["token"]], [&json!(ACCESSOR), &json!("s3cret")]);
    }
}

#[tokio::test]
async fn the_second_writer_sees_a_change() {
    let server = Recorder::start(|_, _| refusal("ResourceExistsException")).await;
    let error = client(&server, None).write(NAME, &empty("version-1"), &SecretState::Empty).await.unwrap_err();
    assert!(matches!(error, SecretsError::Changed { .. }), "{error}");
}

#[tokio::test]
async fn a_refusal_differs_from_an_uncertain_failure() {
    for (kind, is_refused) in
        [("AccessDeniedException", true), ("LimitExceededException", true), ("InternalServiceError", false)]
    {
        let server = Recorder::start(move |_, _| refusal(kind)).await;
        for seen in [missing(), empty("version-1")] {
            let error = client(&server, None).write(NAME, &seen, &SecretState::Active(pair())).await.unwrap_err();
            assert_eq!(error.is_refusal(), is_refused, "{kind}: {error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}

#[tokio::test]
async fn an_existing_secret_is_at_fault_itself_and_a_new_one_is_the_deployment_s() {
    // Given a key that is disabled, and a quota that is used up: of an existing secret its own, of a new one the deployment's
    for (kind, is_of_itself) in [
        ("EncryptionFailure", |error| matches!(error, SecretsError::Unusable { .. })),
        ("LimitExceededException", |error| matches!(error, SecretsError::Exhausted { .. })),
        ("InvalidParameterException", |error| matches!(error, SecretsError::Unusable { .. })),
    ] as [(&str, fn(SecretsError) -> bool); 3]
    {
        let server = Recorder::start(move |_, _| refusal(kind)).await;
        let write = async |seen: &StoredSecret| client(&server, None).write(NAME, seen, &SecretState::Empty).await;
        assert!(is_of_itself(write(&empty("version-1")).await.unwrap_err()), "{kind}");
        let of_new = write(&missing()).await;
        assert!(matches!(of_new, Err(SecretsError::Refused { .. })), "{of_new:?}");
    }
    // Except a name that is too long
    let server = Recorder::start(|_, _| refusal("InvalidParameterException")).await;
    let written = client(&server, None).write(&"n".repeat(513), &missing(), &SecretState::Empty).await;
    assert!(matches!(written, Err(SecretsError::Unusable { .. })), "{written:?}");
}

#[tokio::test]
async fn a_secret_without_value_has_one_writer() {
    let server = Recorder::start(|seen, _| match seen.operation().as_deref() {
        Some("GetSecretValue") => refusal("ResourceNotFoundException"),
        Some("CreateSecret") => refusal("ResourceExistsException"),
        _ => Answer::ok("{}"),
    })
    .await;
    let secrets = client(&server, None);
    let seen = secrets.read(NAME).await.unwrap();
    assert!(matches!(seen.state, SecretState::Missing));
    secrets.write(NAME, &seen, &SecretState::Active(pair())).await.unwrap();
    secrets.write(NAME, &seen, &SecretState::Active(pair())).await.unwrap();
    let written = bodies(&server, "PutSecretValue");
    assert_eq!(written.len(), 2);
    // And the version ID is that of a creation, so that a creation that is not visible yet is not overwritten
    let created = bodies(&server, "CreateSecret");
    for body in written.iter().chain(&created) {
        assert_eq!(body["ClientRequestToken"], written[0]["ClientRequestToken"]);
    }
}

#[tokio::test]
async fn a_concurrently_created_secret_is_kept() {
    let server = Recorder::start(|seen, _| match seen.operation().as_deref() {
        Some("GetSecretValue") => Answer::ok(json!({ "SecretString": "{}", "VersionId": "v" }).to_string()),
        _ => refusal("ResourceExistsException"),
    })
    .await;
    let error = client(&server, None).write(NAME, &missing(), &SecretState::Active(pair())).await.unwrap_err();
    assert!(matches!(error, SecretsError::Changed { .. }), "{error}");
    assert_eq!(bodies(&server, "PutSecretValue").len(), 0);
}

#[tokio::test]
async fn a_secret_marked_for_deletion_is_an_error_that_says_how_to_restore_it() {
    // Given Secrets Manager's own words
    for text in [
        "You can't perform this operation on the secret because it was marked for deletion.",
        "You can't perform this operation on the secret because it was deleted.",
        "You can't create this secret because a secret with this name is already scheduled for deletion.",
    ] {
        let refused = move |_: &RecordedRequest, _| {
            Answer::status(400, json!({ "__type": "InvalidRequestException", "Message": text }).to_string())
        };
        let server = Recorder::start(refused).await;
        let error = client(&server, None).read(NAME).await.unwrap_err();
        assert!(matches!(error, SecretsError::MarkedForDeletion { .. }), "{error}");
        assert!(error.to_string().contains(&format!("restore-secret --secret-id {NAME}")), "{error}");
        let written = client(&server, None).write(NAME, &missing(), &SecretState::Active(pair())).await;
        assert!(matches!(written, Err(SecretsError::MarkedForDeletion { .. })), "{written:?}");
        assert!(matches!(client(&server, None).read_value(NAME).await, Err(SecretsError::MarkedForDeletion { .. })));
        assert!(bodies(&server, "RestoreSecret").is_empty());
    }
    // And another refusal with the same code is another error
    let other = |_: &RecordedRequest, _| {
        let text = "You can't use this version stage.";
        Answer::status(400, json!({ "__type": "InvalidRequestException", "Message": text }).to_string())
    };
    let server = Recorder::start(other).await;
    assert!(matches!(client(&server, None).read(NAME).await, Err(SecretsError::Unusable { .. })));
}

#[tokio::test]
async fn a_foreign_value_is_refused_and_redacted() {
    let server =
        Recorder::start(|_, _| Answer::ok(json!({ "SecretString": "canary-3", "VersionId": "v" }).to_string())).await;
    let error = client(&server, None).read(NAME).await.unwrap_err();
    assert!(matches!(error, SecretsError::NotOurs(_)), "{error}");
    assert!(!format!("{error} {error:?}").contains("canary-3"), "{error:?}");
}
