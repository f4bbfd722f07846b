//! The Consul client against recorded exchanges: exact requests, failover, retries, and the traps of the API.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod recorder;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use ecs_mesh_controller::{
    consul::{Consul, ConsulError, CredentialSource, HttpConsul, Patience, TlsSettings},
    mesh::{
        arn::ClusterArn,
        catalog::{CheckStatus, HealthCheck, ServiceInstance},
        tenancy::Tenancy,
        token::{AccessorId, Grant, NewToken, TokenPair},
    },
};
use recorder::{Answer, Recorder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ACCESSOR: &str = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69";
const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
const TASK: &str = "0123456789abcdef0123456789abcdef";

/// A source whose value changes with every reading, up to the last one.
struct Rotating {
    values: Vec<&'static str>,
    reads: AtomicUsize,
}

impl Rotating {
    fn new(values: &[&'static str]) -> Arc<Self> {
        Arc::new(Self { values: values.to_vec(), reads: AtomicUsize::new(0) })
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl CredentialSource for Rotating {
    async fn read(&self) -> Result<SecretString, String> {
        let read = self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(SecretString::from(self.values[read.min(self.values.len() - 1)]))
    }
}

fn patience() -> Patience {
    Patience { first_retry: Duration::from_millis(5), ..Patience::default() }
}

fn client(addresses: &str, credential: &Arc<Rotating>) -> HttpConsul {
    let credential: Arc<dyn CredentialSource> = credential.clone();
    HttpConsul::new(&addresses.parse().unwrap(), &TlsSettings::default(), credential, patience()).unwrap()
}

fn accessor() -> AccessorId {
    ACCESSOR.parse().unwrap()
}

fn token_json() -> String {
    json!({ "AccessorID": ACCESSOR, "SecretID": "s3cret", "Description": "d", "Policies": null }).to_string()
}

fn enterprise() -> Tenancy {
    Tenancy::from_names(Some("team"), Some("shop"), ("", "")).unwrap().unwrap()
}

fn instance(tenancy: Tenancy) -> ServiceInstance {
    ServiceInstance {
        node: CLUSTER.to_owned(),
        id: format!("web-{TASK}"),
        name: "web".to_owned(),
        task: TASK.parse().unwrap(),
        modify_index: 42,
        tenancy,
    }
}

fn check(tenancy: Tenancy) -> HealthCheck {
    HealthCheck {
        node: CLUSTER.to_owned(),
        id: format!("web-{TASK}-app"),
        name: "Consul ECS health check synced".to_owned(),
        kind: "consul-ecs-health-check".to_owned(),
        notes: "a note".to_owned(),
        service_id: format!("web-{TASK}"),
        service_name: "web".to_owned(),
        status: CheckStatus::Passing,
        definition: json!({ "Interval": "0s" }),
        tenancy,
    }
}

#[tokio::test]
async fn community_edition_is_never_asked_for_a_namespace() {
    let server = Recorder::start(|_, _| Answer::ok(token_json())).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let token = consul.token(&Tenancy::Community, accessor()).await.unwrap().unwrap();
    assert_eq!(token.pair.secret.expose_secret(), "s3cret");
    assert_eq!(server.lines(), [format!("GET /v1/acl/token/{ACCESSOR}")]);
    assert_eq!(server.seen()[0].header("x-consul-token"), Some("own"));
}

#[tokio::test]
async fn enterprise_requests_name_partition_and_namespace() {
    let server = Recorder::start(|seen, _| match seen.uri.split('?').next() {
        Some("/v1/acl/tokens") => Answer::ok("[]"),
        Some(path) if path.starts_with("/v1/catalog") => Answer::ok(r#"{"Node":null,"Services":[]}"#),
        Some(path) if path.starts_with("/v1/health") => Answer::ok("[]"),
        Some("/v1/txn") => Answer::ok(r#"{"Results":[],"Errors":null}"#),
        _ => Answer::ok(token_json()),
    })
    .await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let cluster: ClusterArn = CLUSTER.parse().unwrap();
    let tenancy = enterprise();
    let new = NewToken {
        pair: TokenPair { accessor: accessor(), secret: SecretString::from("s3cret") },
        description: "Token for web service".to_owned(),
        grant: Grant::ServiceIdentity("web".parse().unwrap()),
        tenancy: tenancy.clone(),
    };
    consul.token(&tenancy, accessor()).await.unwrap();
    consul.create_token(&new).await.unwrap();
    consul.delete_token(&tenancy, accessor()).await.unwrap();
    consul.tokens(&tenancy).await.unwrap();
    consul.ensure_client_policy(&tenancy, "p").await.unwrap();
    consul.instances(&cluster, &tenancy, &[TASK.parse().unwrap()]).await.unwrap();
    consul.checks(&[instance(tenancy.clone())]).await.unwrap();
    consul.deregister(&[instance(tenancy.clone())]).await.unwrap();

    consul.mark_critical(&[check(tenancy.clone())]).await.unwrap();

    let node = "arn:aws:ecs:us-east-1:123456789012:cluster%2Fprod";
    let meta_filter = format!("filter=Meta%5B%22task-id%22%5D+%3D%3D+%22{TASK}%22");
    let id_filter = format!("filter=ServiceID+%3D%3D+%22web-{TASK}%22");
    assert_eq!(
        server.lines(),
        [
            format!("GET /v1/acl/token/{ACCESSOR}?partition=team&ns=shop"),
            "PUT /v1/acl/token?partition=team&ns=shop".to_owned(),
            format!("DELETE /v1/acl/token/{ACCESSOR}?partition=team&ns=shop"),
            "GET /v1/acl/tokens?partition=team&ns=*".to_owned(),
            "PUT /v1/acl/policy?partition=team&ns=shop".to_owned(),
            format!("GET /v1/catalog/node-services/{node}?{meta_filter}&partition=team&ns=shop"),
            format!("GET /v1/health/node/{node}?{id_filter}&partition=team&ns=shop"),
            "PUT /v1/txn?partition=team".to_owned(),
            "PUT /v1/catalog/register?partition=team&ns=shop".to_owned(),
        ]
    );
    let bodies = server.seen();
    assert_eq!(
        bodies[1].json(),
        json!({
            "AccessorID": ACCESSOR,
            "SecretID": "s3cret",
            "Description": "Token for web service",
            "ServiceIdentities": [{ "ServiceName": "web" }],
        })
    );
    assert_eq!(
        bodies[7].json(),
        json!([{ "Service": {
            "Verb": "delete-cas",
            "Node": CLUSTER,
            "Service": {
                "ID": format!("web-{TASK}"), "Service": "web", "ModifyIndex": 42,
                "Partition": "team", "Namespace": "shop",
            },
        }}])
    );
    let marked = &bodies[8].json()["Checks"][0];
    assert_eq!((&marked["Partition"], &marked["Namespace"]), (&json!("team"), &json!("shop")));
}

#[tokio::test]
async fn a_check_is_written_back_whole_with_only_its_status_changed() {
    let server = Recorder::start(|_, _| Answer::ok("true")).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    consul.mark_critical(&[check(Tenancy::Community)]).await.unwrap();
    assert_eq!(server.lines(), ["PUT /v1/catalog/register"]);
    assert_eq!(
        server.seen()[0].json(),
        json!({ "Node": CLUSTER, "SkipNodeUpdate": true, "Checks": [{
            "Node": CLUSTER,
            "CheckID": format!("web-{TASK}-app"),
            "Name": "Consul ECS health check synced",
            "Type": "consul-ecs-health-check",
            "Notes": "a note",
            "Status": "critical",
            "Output": "ECS told the task to stop",
            "ServiceID": format!("web-{TASK}"),
            "ServiceName": "web",
            "Definition": { "Interval": "0s" },
        }]})
    );
}

/// What Consul answers where a token is not known: up to 1.14, and from 1.15 on.
const UNKNOWN: [(u16, &str); 2] = [(403, "ACL not found"), (404, "Supplied token does not exist")];

#[tokio::test]
async fn a_token_that_is_not_found_is_absent_only_if_our_own_is_good() {
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
async fn with_a_bad_token_of_our_own_nothing_is_absent_and_nothing_deleted() {
    for (status, body) in UNKNOWN {
        let server = Recorder::start(move |_, _| Answer::status(status, body)).await;
        let credential = Rotating::new(&["revoked"]);
        let consul = client(&server.url, &credential);
        for error in [
            consul.token(&Tenancy::Community, accessor()).await.unwrap_err(),
            consul.delete_token(&Tenancy::Community, accessor()).await.unwrap_err(),
            consul.tokens(&Tenancy::Community).await.unwrap_err(),
        ] {
            assert!(matches!(error, ConsulError::CredentialRejected { .. }), "{error}");
            assert!(!error.to_string().contains("revoked"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_rotated_credential_is_read_again_once_and_used() {
    for (status, body) in UNKNOWN {
        let server = Recorder::start(move |seen, _| match seen.header("x-consul-token") {
            Some("new") => Answer::ok("[]"),
            _ => Answer::status(status, body),
        })
        .await;
        let credential = Rotating::new(&["old", "new"]);
        let consul = client(&server.url, &credential);
        assert!(consul.tokens(&Tenancy::Community).await.unwrap().is_empty());
        assert!(consul.tokens(&Tenancy::Community).await.unwrap().is_empty());
        assert_eq!(credential.reads(), 2);
    }
}

#[tokio::test]
async fn a_missing_permission_names_itself() {
    let denied = "Permission denied: token with AccessorID 'x' lacks permission 'acl:read'";
    let server = Recorder::start(move |_, _| Answer::status(403, denied)).await;
    let error = client(&server.url, &Rotating::new(&["own"])).tokens(&Tenancy::Community).await.unwrap_err();
    assert!(matches!(error, ConsulError::PermissionDenied { .. }) && error.to_string().contains("acl:read"), "{error}");
}

#[tokio::test]
async fn an_answer_from_which_consul_left_things_out_is_no_answer() {
    let filtered = vec![("X-Consul-Results-Filtered-By-ACLs", "true".to_owned())];
    let server = Recorder::start(move |_, _| Answer::Reply(200, filtered.clone(), "{}".to_owned())).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let cluster: ClusterArn = CLUSTER.parse().unwrap();
    let error = consul.instances(&cluster, &Tenancy::Community, &[TASK.parse().unwrap()]).await.unwrap_err();
    assert!(matches!(error, ConsulError::PermissionDenied { .. }), "{error}");
}

#[tokio::test]
async fn elections_and_gateway_errors_are_waited_out() {
    let server = Recorder::start(|_, before| match before {
        0 => Answer::status(500, "No cluster leader"),
        1 => Answer::status(503, "upstream"),
        2 => Answer::status(429, "slow down"),
        _ => Answer::ok("[]"),
    })
    .await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    consul.tokens(&Tenancy::Community).await.unwrap();
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let server = Recorder::start(|_, before| match before {
        0 => Answer::Reply(429, vec![("retry-after", "1".to_owned())], String::new()),
        _ => Answer::ok("[]"),
    })
    .await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let start = Instant::now();
    consul.tokens(&Tenancy::Community).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1), "waited {:?}", start.elapsed());
}

#[tokio::test]
async fn a_long_retry_after_is_the_queue_s_business() {
    let server =
        Recorder::start(|_, _| Answer::Reply(429, vec![("retry-after", "60".to_owned())], String::new())).await;
    let error = client(&server.url, &Rotating::new(&["own"])).tokens(&Tenancy::Community).await.unwrap_err();
    assert!(matches!(error, ConsulError::Throttled { retry_after: Some(wait), .. } if wait.as_secs() == 60), "{error}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_transaction_whose_answer_was_lost_ends_in_a_conflict_after_which_the_caller_looks_again() {
    let server = Recorder::start(|_, before| match before {
        0 => Answer::status(502, "bad gateway"),
        _ => Answer::status(409, r#"{"Errors":[{"What":"failed to delete service, index is stale"}]}"#),
    })
    .await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let error = consul.deregister(&[instance(Tenancy::Community)]).await.unwrap_err();
    assert!(matches!(error, ConsulError::Conflict { .. }), "{error}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_stale_transaction_is_a_conflict() {
    let body = r#"{"Results":null,"Errors":[{"OpIndex":0,"What":"failed to delete service, index is stale"}]}"#;
    let server = Recorder::start(move |_, _| Answer::status(409, body)).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let error = consul.deregister(&[instance(Tenancy::Community)]).await.unwrap_err();
    assert!(matches!(error, ConsulError::Conflict { .. }), "{error}");
}

#[tokio::test]
async fn the_next_address_is_tried_and_then_preferred() {
    let server = Recorder::start(|_, _| Answer::ok("[]")).await;
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let credential = Rotating::new(&["own"]);
    let consul = client(&format!("http://{dead},{}", server.url), &credential);
    consul.tokens(&Tenancy::Community).await.unwrap();
    consul.tokens(&Tenancy::Community).await.unwrap();
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_server_that_fails_is_not_asked_twice_in_a_row() {
    let broken = Recorder::start(|_, _| Answer::status(503, "no route")).await;
    let server = Recorder::start(|_, _| Answer::ok("[]")).await;
    let consul = client(&format!("{},{}", broken.url, server.url), &Rotating::new(&["own"]));
    consul.tokens(&Tenancy::Community).await.unwrap();
    consul.tokens(&Tenancy::Community).await.unwrap();
    assert_eq!((broken.seen().len(), server.seen().len()), (1, 2));
}

#[tokio::test]
async fn a_connection_that_went_stale_in_the_pool_is_replaced() {
    // Given a server that answers once on a connection, and drops it when the next request arrives on it
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4096];
            assert_ne!(connection.read(&mut request).await.unwrap(), 0, "a request arrives");
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]").await.unwrap();
            assert_ne!(connection.read(&mut request).await.unwrap(), 0, "a request arrives");
        }
    });
    let consul = client(&format!("http://{address}"), &Rotating::new(&["own"]));
    consul.tokens(&Tenancy::Community).await.unwrap();
    // When the environment thaws and uses the pooled connection, then the call succeeds on a new one
    consul.tokens(&Tenancy::Community).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_black_hole_is_given_up_on() {
    let server = Recorder::start(|_, _| Answer::Hang).await;
    let credential: Arc<dyn CredentialSource> = Rotating::new(&["own"]);
    let patience = Patience { request: Duration::from_millis(300), retries: 2, ..patience() };
    let consul = HttpConsul::new(&server.url.parse().unwrap(), &TlsSettings::default(), credential, patience).unwrap();
    let error = consul.tokens(&Tenancy::Community).await.unwrap_err();
    assert!(matches!(error, ConsulError::Unavailable { .. }) && error.to_string().contains("timed out"), "{error}");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_broken_answer_is_an_error_that_repeats_nothing_of_it() {
    for body in
        [r#"{"AccessorID":"x","SecretID":"canary-9""#, r#"{"AccessorID":7,"SecretID":"canary-9"}"#, "canary-9", ""]
    {
        let server = Recorder::start(move |_, _| Answer::ok(body)).await;
        let consul = client(&server.url, &Rotating::new(&["own"]));
        let error = consul.token(&Tenancy::Community, accessor()).await.unwrap_err();
        assert!(matches!(error, ConsulError::Malformed { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn a_hidden_secret_half_is_a_missing_permission_not_a_token() {
    let server = Recorder::start(|_, _| {
        Answer::ok(json!({ "AccessorID": ACCESSOR, "SecretID": "<hidden>", "Description": "" }).to_string())
    })
    .await;
    let error = client(&server.url, &Rotating::new(&["own"])).token(&Tenancy::Community, accessor()).await.unwrap_err();
    assert!(matches!(error, ConsulError::PermissionDenied { .. }), "{error}");
}

#[tokio::test]
async fn lists_of_every_version_are_read_and_strange_entries_skipped() {
    let list = json!([
        { "AccessorID": ACCESSOR, "Description": "old list" },
        { "AccessorID": "", "Description": "legacy" },
        { "AccessorID": "00000000-0000-0000-0000-000000000002", "SecretID": "canary", "Namespace": "shop", "New": {} },
    ])
    .to_string();
    let server = Recorder::start(move |_, _| Answer::ok(list.clone())).await;
    let tokens = client(&server.url, &Rotating::new(&["own"])).tokens(&enterprise()).await.unwrap();
    assert_eq!(tokens.len(), 2);
    assert_eq!(tokens[1].tenancy.namespace().unwrap().as_str(), "shop");
    assert!(!format!("{tokens:?}").contains("canary"));
}
