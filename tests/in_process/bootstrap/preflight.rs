//! The preflight, against a real Consul and a recorder.

use consul::ConsulError;
use controller::PreflightError;
use serde_json::{Value, json};

use crate::{
    bootstrap::{CLUSTER, POLICY, controller},
    time::without_pauses,
};
use local_stack::consul::Consul;
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

#[tokio::test]
async fn each_preflight_result_is_distinguished() {
    let consul = Consul::start().await;
    let enough = consul.token_with_rules("enough", POLICY).await;
    controller(&consul.address, &enough.secret_id, &[]).await.preflight().await.expect("enough");

    // Without client agents and partitions, operator is optional
    let without_operator = consul.token_with_rules("agentless", &POLICY.replace("operator = \"write\"", "")).await;
    let dataplane = controller(&consul.address, &without_operator.secret_id, &[("BOOTSTRAP", "dataplane")]).await;
    dataplane.preflight().await.expect("enough");
    let full = controller(&consul.address, &without_operator.secret_id, &[]).await;
    let error = full.preflight().await.unwrap_err().to_string();
    assert!(error.contains("lacks: operator = \"write\"; add"), "{error}");

    // A missing permission is named as in the policy
    let without_acl = POLICY.replace("acl      = \"write\"", "acl = \"read\"");
    let weak = consul.token_with_rules("weak", &without_acl).await;
    let error = controller(&consul.address, &weak.secret_id, &[]).await.preflight().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the controller's Consul token lacks: acl = \"write\"; add them to its policy (see docs/how-to/install-sam.md)"
    );
    let nothing = consul.token_with_rules("nothing", "").await;
    let error = controller(&consul.address, &nothing.secret_id, &[]).await.preflight().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the controller's Consul token lacks: acl = \"write\"; operator = \"write\"; \
             agent_prefix \"\" {{ policy = \"read\" }}; node_prefix \"\" {{ policy = \"read\" }}; \
             service_prefix \"\" {{ policy = \"write\" }}; node \"{CLUSTER}\" {{ policy = \"write\" }}; \
             add them to its policy (see docs/how-to/install-sam.md)"
        )
    );

    let unknown = "11111111-2222-4333-8444-555555555555";
    let error = controller(&consul.address, unknown, &[]).await.preflight().await.unwrap_err();
    assert!(matches!(error, PreflightError::Consul(ConsulError::CredentialRejected { .. })), "{error}");

    // A server without the endpoint for permissions is checked by calls
    let older = Recorder::before(&consul.address, |seen, _| {
        if seen.uri == "/v1/internal/acl/authorize" { Answer::status(404, "") } else { Answer::Forward }
    })
    .await;
    controller(&older.url, &enough.secret_id, &[]).await.preflight().await.expect("enough");
    let error = controller(&older.url, &nothing.secret_id, &[]).await.preflight().await.unwrap_err().to_string();
    assert!(error.contains("acl = \"write\"; operator = \"write\"; agent_prefix"), "{error}");

    consul.stop();
    let error =
        without_pauses(controller(&consul.address, &enough.secret_id, &[]).await.preflight()).await.unwrap_err();
    assert!(matches!(error, PreflightError::Consul(ConsulError::Unavailable { .. })), "{error}");
}

/// A Consul that says which permissions the token has, by the request and the resource.
async fn authorizing(has: impl Fn(&RecordedRequest, &Value) -> bool + Send + Sync + 'static) -> Recorder {
    Recorder::start(move |seen, _| {
        let mut questions = seen.json();
        for question in questions.as_array_mut().unwrap() {
            question["Allow"] = json!(has(seen, &question["Resource"]));
        }
        Answer::ok(questions.to_string())
    })
    .await
}

/// The requests, each with the resources that it asks for.
fn asked(consul: &Recorder) -> Vec<(String, Vec<String>)> {
    let resource = |question: &Value| question["Resource"].as_str().unwrap().to_owned();
    let resources = |seen: &RecordedRequest| seen.json().as_array().unwrap().iter().map(resource).collect();
    consul.requests().iter().map(|seen| (seen.line().replace("/v1/internal/acl", ""), resources(seen))).collect()
}

/// Permissions of the datacenter are asked for once, and permissions of a partition once in each partition.
#[tokio::test]
async fn missing_permissions_name_their_clusters() {
    let row = |line: &str, resources: &[&str]| (line.to_owned(), resources.iter().map(|it| (*it).to_owned()).collect());
    let consul = authorizing(|_, _| true).await;
    controller(&consul.url, "own", &[("CONSUL_PARTITION", "team")]).await.preflight().await.expect("enough");
    let in_team = row("POST /authorize?partition=team&ns=default", &["acl", "node", "service", "node"]);
    assert_eq!(asked(&consul), [row("POST /authorize", &["operator", "agent"]), in_team]);

    let consul = authorizing(|seen, resource| !(seen.uri.contains("partition=store") && resource == "acl")).await;
    let clusters = ["prod", "shop", "till"].map(|name| CLUSTER.replace("prod", name)).join(",");
    let changes = [("ECS_CLUSTER_ARNS", clusters.as_str()), ("CLUSTER_PARTITIONS", "shop=store,till=store")];
    let error = controller(&consul.url, "own", &changes).await.preflight().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the controller's Consul token lacks: acl = \"write\" in partition store (for the clusters shop, till); \
         add them to its policy (see docs/how-to/install-sam.md)"
    );
    // All permissions in the first cluster's partition, and permissions of a partition in the other
    let in_store = row("POST /authorize?partition=store&ns=default", &["acl", "node", "service", "node", "node"]);
    assert_eq!(asked(&consul)[1..], [in_store]);
}
