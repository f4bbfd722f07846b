//! What `ecs-mesh check --mesh` reads of Consul: with which calls, with which permissions, and for how long.

use std::time::Duration;

use local_stack::consul::Consul;
use mesh::tenancy::Tenancy;
use observe::{
    Live, LiveMeshError, LiveMeshQuestions, LiveMeshReading, READ_AGENTS, READ_LOGINS, READ_SERVICES, ServiceAt,
    read_live_mesh,
};
use serde_json::json;
use test_harness::recorder::{Answer, Recorder};

use crate::{environment::client, time::LONG};

const PAGE: &str = include_str!("../../docs/reference/commands/check.md");

/// The documented policy.
fn policy() -> &'static str {
    let (_, rest) = PAGE.split_once("```hcl\n").expect("the policy");
    rest.split("```").next().expect("its end").trim_end()
}

/// The rules of the policy: service, agent, acl.
fn rules() -> Vec<&'static str> {
    policy().split("\n\n").collect()
}

fn service(name: &str) -> ServiceAt {
    ServiceAt { name: name.to_owned(), tenancy: Tenancy::Community, datacenter: None, peer: None }
}

/// Two upstreams of a service that logs in.
fn asked() -> LiveMeshQuestions {
    LiveMeshQuestions {
        home: Tenancy::Community,
        upstreams: [service("orders"), service("stock")].into(),
        methods: [(Tenancy::Community, "iam-ecs-service-token".to_owned())].into(),
    }
}

/// A Consul with the service `orders`, and a redirect from `stock` to it.
async fn consul() -> Consul {
    let consul = Consul::start().await;
    let orders = json!({ "Node": "n", "Address": "192.0.2.1", "SkipNodeUpdate": true, "Service": { "Service": "orders", "Port": 80 } });
    consul.put("/v1/catalog/register", &orders).await;
    let resolver = json!({ "Kind": "service-resolver", "Name": "stock", "Redirect": { "Service": "orders" } });
    consul.put("/v1/config", &resolver).await;
    consul
}

fn lacks<T>(read: &Live<T>, permission: &mesh::permissions::Permission) -> bool {
    matches!(read, Err(LiveMeshError::Lacks(missing)) if missing == permission)
}

#[tokio::test]
async fn a_token_with_the_documented_policy_reads_everything_in_one_call_for_each_thing() {
    let consul = consul().await;
    let token = consul.token_with_rules("check", policy()).await.secret_id;
    let recorder = Recorder::before(&consul.address, |_, _| Answer::Forward).await;
    let reading = read_live_mesh(&client(&recorder.url, &token), &asked(), LONG).await;

    let LiveMeshReading { datacenter, chains, intentions, names, methods } = reading;
    let (datacenter, version) = datacenter.unwrap();
    assert!(!datacenter.allows_calls_by_default && !version.is_empty());
    let targets = |name: &str| -> Vec<String> {
        chains[&service(name)].as_ref().unwrap().targets.values().map(|target| target.service.clone()).collect()
    };
    assert_eq!((targets("orders"), targets("stock")), (vec!["orders".to_owned()], vec!["orders".to_owned()]));
    let called: Vec<&ServiceAt> = intentions.keys().collect();
    assert_eq!(called, [&service("orders")], "both names mean one service");
    assert!(names[&Tenancy::Community].as_ref().unwrap().contains(&"orders".to_owned()));
    let methods: Vec<_> = methods.into_values().map(Result::unwrap).collect();
    assert_eq!(methods, [None]);

    // The request for the binding rules may not be sent: there is no such method.
    let mut calls = recorder.lines();
    calls.retain(|call| !call.contains("binding-rules"));
    calls.sort_unstable();
    let expected = [
        "GET /v1/acl/auth-method/iam-ecs-service-token",
        // Consul gives the same answer to a token that it does not know.
        "GET /v1/acl/token/self",
        "GET /v1/agent/self",
        "GET /v1/catalog/services",
        "GET /v1/connect/intentions/match?by=destination&name=orders",
        "GET /v1/discovery-chain/orders",
        "GET /v1/discovery-chain/stock",
        "POST /v1/internal/acl/authorize",
    ];
    assert_eq!(calls, expected);
}

#[tokio::test]
async fn without_one_rule_of_the_policy_its_part_is_unknown_and_the_others_are_read() {
    let consul = consul().await;
    let rules = rules();
    for (index, permission) in [READ_SERVICES, READ_AGENTS, READ_LOGINS].iter().enumerate() {
        let others: Vec<&str> =
            rules.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, rule)| *rule).collect();
        let token = consul.token_with_rules(permission.resource, &others.join("\n\n")).await.secret_id;
        let reading = read_live_mesh(&client(&consul.address, &token), &asked(), LONG).await;
        let LiveMeshReading { datacenter, chains, intentions, names, methods } = reading;
        let of_services = chains.values().all(|chain| lacks(chain, permission))
            && names.values().all(|names| lacks(names, permission))
            && intentions.is_empty();
        let lacking = [of_services, lacks(&datacenter, permission), methods.values().all(|it| lacks(it, permission))];
        let expected: Vec<bool> = (0..3).map(|at| at == index).collect();
        assert_eq!(lacking.to_vec(), expected, "{permission}");
        let is_known = [names.values().all(Result::is_ok), datacenter.is_ok(), methods.values().all(Result::is_ok)];
        assert_eq!(is_known.map(|known| !known).to_vec(), expected, "{permission}");
    }
}

#[tokio::test]
async fn a_token_that_may_read_nothing_costs_one_call() {
    let consul = consul().await;
    let token = consul.token_with_rules("nothing", "").await.secret_id;
    let recorder = Recorder::before(&consul.address, |_, _| Answer::Forward).await;
    let reading = read_live_mesh(&client(&recorder.url, &token), &asked(), LONG).await;
    assert!(reading.chains.values().all(|chain| lacks(chain, &READ_SERVICES)));
    assert!(lacks(&reading.datacenter, &READ_AGENTS) && reading.methods.values().all(|it| lacks(it, &READ_LOGINS)));
    assert_eq!(recorder.lines(), ["POST /v1/internal/acl/authorize"]);
}

#[tokio::test]
async fn a_token_that_consul_does_not_know_makes_everything_unknown() {
    let consul = consul().await;
    let reading =
        read_live_mesh(&client(&consul.address, "3b2f6a6e-0000-4000-8000-000000000000"), &asked(), LONG).await;
    assert!(reading.datacenter.is_err() && reading.chains.values().all(Result::is_err));
    assert!(reading.names.values().all(Result::is_err) && reading.methods.values().all(Result::is_err));
}

#[tokio::test]
async fn without_logins_auth_methods_and_their_permission_are_not_needed() {
    let consul = consul().await;
    let rules = rules()[..2].join("\n\n");
    let token = consul.token_with_rules("no-logins", &rules).await.secret_id;
    let asked = LiveMeshQuestions { methods: [].into(), ..asked() };
    let reading = read_live_mesh(&client(&consul.address, &token), &asked, LONG).await;
    assert!(reading.datacenter.is_ok() && reading.chains.values().all(Result::is_ok) && reading.methods.is_empty());
}

#[tokio::test]
async fn a_consul_that_does_not_answer_holds_nobody_up() {
    let server = Recorder::start(|request, _| match request.uri.as_str() {
        uri if uri.contains("authorize") => Answer::ok(r#"[{"Allow":true},{"Allow":true},{"Allow":true}]"#),
        _ => Answer::Hang,
    })
    .await;
    // Four seconds are reserved for what comes after it.
    let limit = Duration::from_millis(4_200);
    let reading =
        tokio::time::timeout(LONG, read_live_mesh(&client(&server.url, "own"), &asked(), limit)).await.unwrap();
    assert!(reading.datacenter.is_err() && reading.chains.values().all(Result::is_err));
    assert!(reading.names.values().all(Result::is_err) && reading.methods.values().all(Result::is_err));
}
