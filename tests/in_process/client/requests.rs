//! Exact requests, and the parsing of answers of all versions.

use consul::{Acl as _, Catalog as _, Grant, NewToken};
use mesh::{
    arn::ClusterArn,
    catalog::{CheckStatus, HealthCheck},
    tenancy::Tenancy,
    token::TokenPair,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::client::{ACCESSOR, CLUSTER, Rotating, TASK, accessor, client, enterprise, instance, token_json};
use test_harness::recorder::{Answer, Recorder};

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
        output: String::new(),
        tenancy,
    }
}

#[tokio::test]
async fn community_edition_requests_have_no_namespace() {
    let server = Recorder::start(|_, _| Answer::ok(token_json())).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let token = consul.token(&Tenancy::Community, accessor()).await.unwrap().unwrap();
    assert_eq!(token.pair.secret.expose_secret(), "s3cret");
    assert_eq!(server.lines(), [format!("GET /v1/acl/token/{ACCESSOR}")]);
    assert_eq!(server.requests()[0].header("x-consul-token"), Some("own"));
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
    consul.tokens(&tenancy, &|_| true).await.unwrap();
    consul.create_policy(&controller::bootstrap::policy::of_client_agents(&tenancy, "p")).await.unwrap();
    consul.instances(&cluster, &tenancy, &[TASK.parse().unwrap()]).await.unwrap();
    consul.checks(&[instance(tenancy.clone())]).await.unwrap();
    consul.deregister(&[instance(tenancy.clone())]).await.unwrap();

    consul.set_checks(&[check(tenancy.clone())]).await.unwrap();

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
    let bodies = server.requests();
    assert_eq!(
        bodies[1].json(),
        json!({
            "AccessorID": ACCESSOR,
            "SecretID": "s3cret",
            "Description": "Token for web service",
            "ServiceIdentities": [{ "ServiceName": "web" }],
        })
    );
    let rules = r#"node_prefix "" { policy = "write" } namespace_prefix "" { service_prefix "" { policy = "read" } }"#;
    assert_eq!(
        bodies[4].json(),
        json!({ "Name": "p", "Description": "Policy of Consul client agents on ECS", "Rules": rules })
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
async fn a_check_is_written_whole() {
    let server = Recorder::start(|_, _| Answer::ok("true")).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let ailing = HealthCheck {
        status: CheckStatus::Critical,
        output: "ECS health status of container app: UNHEALTHY".to_owned(),
        ..check(Tenancy::Community)
    };
    consul.set_checks(&[ailing, HealthCheck::maintenance(&instance(Tenancy::Community))]).await.unwrap();
    assert_eq!(server.lines(), ["PUT /v1/catalog/register"]);
    assert_eq!(
        server.requests()[0].json(),
        json!({ "Node": CLUSTER, "SkipNodeUpdate": true, "Checks": [{
            "Node": CLUSTER,
            "CheckID": format!("web-{TASK}-app"),
            "Name": "Consul ECS health check synced",
            "Type": "consul-ecs-health-check",
            "Notes": "a note",
            "Status": "critical",
            "Output": "ECS health status of container app: UNHEALTHY",
            "ServiceID": format!("web-{TASK}"),
            "ServiceName": "web",
        }, {
            "Node": CLUSTER,
            "CheckID": format!("_service_maintenance:web-{TASK}"),
            "Name": "Service Maintenance Mode",
            "Type": "maintenance",
            "Notes": "ECS told the task to stop",
            "Status": "critical",
            "Output": "ECS told the task to stop",
            "ServiceID": format!("web-{TASK}"),
            "ServiceName": "web",
        }]})
    );
}

#[tokio::test]
async fn a_check_that_another_program_runs_is_not_read() {
    let answer = |id: &str, definition: Value| {
        json!({
            "Node": CLUSTER, "CheckID": id, "Name": "", "Type": "http", "ServiceID": "web", "ServiceName": "web",
            "Status": "passing", "Definition": definition,
        })
    };
    let checks = json!([answer("esm", json!({ "HTTP": "http://10.0.0.1/" })), answer("app", json!({}))]).to_string();
    let server = Recorder::start(move |_, _| Answer::ok(checks.clone())).await;
    let read = client(&server.url, &Rotating::new(&["own"])).node_checks(CLUSTER, &Tenancy::Community).await.unwrap();
    assert_eq!(read.iter().map(|check| check.id.as_str()).collect::<Vec<_>>(), ["app"]);
}

#[tokio::test]
async fn lists_of_all_versions_are_read() {
    let list = json!([
        { "AccessorID": ACCESSOR, "Description": "old list" },
        { "AccessorID": "", "Description": "legacy" },
        { "AccessorID": "00000000-0000-0000-0000-000000000002", "SecretID": "canary", "Namespace": "shop", "New": {} },
    ])
    .to_string();
    let server = Recorder::start(move |_, _| Answer::ok(list.clone())).await;
    let tokens = client(&server.url, &Rotating::new(&["own"])).tokens(&enterprise(), &|_| true).await.unwrap();
    assert_eq!(tokens.len(), 2);
    assert_eq!(tokens[1].tenancy.namespace().unwrap().as_str(), "shop");
    assert!(!format!("{tokens:?}").contains("canary"));
}
