//! The controller's token, and Consul's answers that are ambiguous without it.

use consul::{CatalogReads as _, ConsulError, TokenReads as _, TokenWrites as _};
use mesh::{arn::ClusterArn, tenancy::Tenancy};
use serde_json::json;

use crate::client::{ACCESSOR, CLUSTER, Rotating, TASK, accessor, against, client, token_json};
use test_harness::recorder::{Answer, Recorder};

/// Consul's answers about an unknown token: until 1.14, and since 1.15.
const UNKNOWN: [(u16, &str); 2] = [(403, "ACL not found"), (404, "Supplied token does not exist")];

#[tokio::test]
async fn absence_requires_a_valid_credential() {
    for (status, body) in UNKNOWN {
        let server = Recorder::start(move |seen, _| match seen.uri.as_str() {
            "/v1/acl/token/self" => Answer::ok(token_json()),
            _ => Answer::status(status, body),
        })
        .await;
        let credential = Rotating::new(&["own"]);
        let consul = client(&server.url, &credential);
        assert!(consul.token(&Tenancy::Community, accessor()).await.unwrap().is_none());
        consul.delete_token(&Tenancy::Community, accessor()).await.expect("deleted already");
        let own = "GET /v1/acl/token/self".to_owned();
        let (get, delete) = (format!("GET /v1/acl/token/{ACCESSOR}"), format!("DELETE /v1/acl/token/{ACCESSOR}"));
        assert_eq!(server.lines(), [get, own.clone(), delete, own]);
        assert_eq!(credential.reads(), 1, "a good credential is not read again");
    }
}

#[tokio::test]
async fn a_bad_credential_proves_no_absence() {
    for (status, body) in UNKNOWN {
        let server = Recorder::start(move |_, _| Answer::status(status, body)).await;
        let credential = Rotating::new(&["revoked"]);
        let consul = client(&server.url, &credential);
        for error in [
            consul.token(&Tenancy::Community, accessor()).await.unwrap_err(),
            consul.delete_token(&Tenancy::Community, accessor()).await.unwrap_err(),
            consul.tokens(&Tenancy::Community, &|_| true).await.unwrap_err(),
        ] {
            assert!(matches!(error, ConsulError::CredentialRejected { .. }), "{error}");
            assert!(!error.to_string().contains("revoked"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_consul_is_told_from_one_that_does_not_know_the_token() {
    for body in ["", "404 page not found", r#"{"message":"no route /v1/acl/token/self"}"#] {
        let server = Recorder::start(move |_, _| Answer::status(404, body)).await;
        let consul = client(&server.url, &Rotating::new(&["own"]));
        let error = consul.token(&Tenancy::Community, accessor()).await.unwrap_err();
        assert!(error.to_string().contains("this is not Consul's API"), "{error}");
        assert_eq!(server.lines().len(), 2, "{:?}", server.lines());
    }
}

#[tokio::test]
async fn an_empty_token_is_told_from_one_that_consul_does_not_know() {
    for (status, body) in [(403, "ACL not found"), (403, "Permission denied")] {
        let server = Recorder::start(move |_, _| Answer::status(status, body)).await;
        let said = async |token: &'static str| {
            let consul = client(&server.url, &Rotating::new(&[token]));
            consul.tokens(&Tenancy::Community, &|_| true).await.unwrap_err().to_string()
        };
        assert!(said("").await.contains("is empty"), "{}", said("").await);
        assert!(!said("own").await.contains("is empty"), "{}", said("own").await);
    }
}

#[tokio::test]
async fn a_rotated_credential_is_read_again() {
    for (status, body) in UNKNOWN {
        let server = Recorder::start(move |seen, _| match seen.header("x-consul-token") {
            Some("new") => Answer::ok("[]"),
            _ => Answer::status(status, body),
        })
        .await;
        let credential = Rotating::new(&["old", "new"]);
        let consul = client(&server.url, &credential);
        assert!(consul.tokens(&Tenancy::Community, &|_| true).await.unwrap().unwrap().is_empty());
        assert!(consul.tokens(&Tenancy::Community, &|_| true).await.unwrap().unwrap().is_empty());
        assert_eq!(credential.reads(), 2);
    }
}

#[tokio::test]
async fn a_missing_permission_names_itself() {
    let denied = "Permission denied: token with AccessorID 'x' lacks permission 'acl:read'";
    let (_server, consul) = against(move |_, _| Answer::status(403, denied)).await;
    let error = consul.tokens(&Tenancy::Community, &|_| true).await.unwrap_err();
    assert!(matches!(error, ConsulError::PermissionDenied { .. }) && error.to_string().contains("acl:read"), "{error}");
}

#[tokio::test]
async fn a_filtered_answer_is_an_error() {
    let filtered = vec![("X-Consul-Results-Filtered-By-ACLs", "true".to_owned())];
    let (_server, consul) = against(move |_, _| Answer::Reply(200, filtered.clone(), "{}".to_owned())).await;
    let cluster: ClusterArn = CLUSTER.parse().unwrap();
    let error = consul.instances(&cluster, &Tenancy::Community, &[TASK.parse().unwrap()]).await.unwrap_err();
    assert!(matches!(error, ConsulError::PermissionDenied { .. }), "{error}");
}

#[tokio::test]
async fn a_hidden_secret_half_is_an_error() {
    let (_server, consul) = against(|_, _| {
        Answer::ok(json!({ "AccessorID": ACCESSOR, "SecretID": "<hidden>", "Description": "" }).to_string())
    })
    .await;
    let error = consul.token(&Tenancy::Community, accessor()).await.unwrap_err();
    assert!(matches!(error, ConsulError::PermissionDenied { .. }), "{error}");
}
