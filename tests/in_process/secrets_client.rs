//! The Secrets Manager client against a recorder: its writes, and answers of AWS that the emulator does not give.

use std::collections::BTreeMap;

use aws::secrets::{AwsSecrets, SecretStore, SecretsError};
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
        let error =
            client(&server, None).write(NAME, &empty("version-1"), &SecretState::Active(pair())).await.unwrap_err();
        assert_eq!(matches!(error, SecretsError::Refused { .. }), is_refused, "{kind}: {error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
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
async fn a_secret_marked_for_deletion_is_missing() {
    // Given Secrets Manager's own words
    let marked = |text: &'static str| {
        move |_: &RecordedRequest, _| {
            Answer::status(400, json!({ "__type": "InvalidRequestException", "Message": text }).to_string())
        }
    };
    let text = "You can't perform this operation on the secret because it was marked for deletion.";
    let marked_by = |owner: &'static str| {
        move |seen: &RecordedRequest, number| match seen.operation().as_deref() {
            Some("DescribeSecret") => {
                let tags = json!([{ "Key": "managed-by", "Value": owner }]);
                Answer::ok(json!({ "Tags": tags, "DeletedDate": 1.8e9 }).to_string())
            }
            _ => marked(text)(seen, number),
        }
    };
    let server = Recorder::start(marked_by("ecs-mesh-controller")).await;
    let read = client(&server, None).read(NAME).await.unwrap();
    assert!(matches!(read.state, SecretState::Missing));
    assert!(read.written_at.is_some(), "it may be restored");
    // And one of another creator is an error, as is the controller's own credential
    let server = Recorder::start(marked_by("terraform")).await;
    assert!(matches!(client(&server, None).read(NAME).await, Err(SecretsError::MarkedForDeletion { .. })));
    assert!(matches!(client(&server, None).read_value(NAME).await, Err(SecretsError::MarkedForDeletion { .. })));
    let server =
        Recorder::start(marked("You can't perform this operation on the secret because it was deleted.")).await;
    let read = client(&server, None).read_value(NAME).await;
    assert!(matches!(read, Err(SecretsError::MarkedForDeletion { .. })));
    // And another refusal with the same code is an error
    let server = Recorder::start(marked("You can't use this version stage.")).await;
    assert!(matches!(client(&server, None).read(NAME).await, Err(SecretsError::Failed { .. })));
}

#[tokio::test]
async fn an_own_secret_marked_for_deletion_is_restored_by_a_write() {
    let server = Recorder::start(|seen, _| match seen.operation().as_deref() {
        Some("CreateSecret") => {
            let text =
                "You can't create this secret because a secret with this name is already scheduled for deletion.";
            Answer::status(400, json!({ "__type": "InvalidRequestException", "Message": text }).to_string())
        }
        Some("DescribeSecret") => {
            Answer::ok(json!({ "Tags": [{ "Key": "managed-by", "Value": "ecs-mesh-controller" }] }).to_string())
        }
        _ => Answer::ok("{}"),
    })
    .await;
    let error = client(&server, None).write(NAME, &missing(), &SecretState::Active(pair())).await.unwrap_err();
    assert!(matches!(error, SecretsError::Changed { .. }), "{error}");
    assert_eq!(bodies(&server, "RestoreSecret"), [json!({ "SecretId": NAME })]);
}

#[tokio::test]
async fn a_foreign_value_is_refused_and_redacted() {
    let server =
        Recorder::start(|_, _| Answer::ok(json!({ "SecretString": "canary-3", "VersionId": "v" }).to_string())).await;
    let error = client(&server, None).read(NAME).await.unwrap_err();
    assert!(matches!(error, SecretsError::NotOurs(_)), "{error}");
    assert!(!format!("{error} {error:?}").contains("canary-3"), "{error:?}");
}
