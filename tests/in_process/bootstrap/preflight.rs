//! The preflight, against a real Consul and a recorder.

use consul::ConsulError;
use controller::PreflightError;
use serde_json::{Value, json};

use crate::{
    bootstrap::{CLUSTER, POLICY, controller},
    time::without_pauses,
};
use local_stack::consul::Consul;
use test_harness::recorder::{Answer, Recorder};

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
        "the controller's Consul token lacks: acl = \"write\"; add them to its policy (see docs/deploy.md)"
    );
    let nothing = consul.token_with_rules("nothing", "").await;
    let error = controller(&consul.address, &nothing.secret_id, &[]).await.preflight().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the controller's Consul token lacks: acl = \"write\"; operator = \"write\"; \
             agent_prefix \"\" {{ policy = \"read\" }}; node_prefix \"\" {{ policy = \"read\" }}; \
             service_prefix \"\" {{ policy = \"write\" }}; node \"{CLUSTER}\" {{ policy = \"write\" }}; \
             add them to its policy (see docs/deploy.md)"
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

#[tokio::test]
async fn missing_permissions_name_their_clusters() {
    let consul = Recorder::start(|seen, _| {
        let is_weak = seen.uri.contains("partition=store");
        let mut questions = seen.json();
        for question in questions.as_array_mut().unwrap() {
            question["Allow"] = json!(!(is_weak && question["Resource"] == "acl"));
        }
        Answer::ok(questions.to_string())
    })
    .await;
    let clusters = ["prod", "shop", "till"].map(|name| CLUSTER.replace("prod", name));
    let changes =
        [("ECS_CLUSTER_ARNS", clusters.join(",")), ("CLUSTER_PARTITIONS", "shop=store,till=store".to_owned())];
    let changes: Vec<(&str, &str)> = changes.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let error = controller(&consul.url, "own", &changes).await.preflight().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the controller's Consul token lacks: acl = \"write\" in partition store (for the clusters shop, till); \
         add them to its policy (see docs/deploy.md)"
    );
    assert_eq!(
        consul.lines(),
        ["POST /v1/internal/acl/authorize", "POST /v1/internal/acl/authorize?partition=store&ns=default"]
    );
    let asked: Vec<usize> = consul.requests().iter().map(|seen| seen.json().as_array().unwrap().len()).collect();
    assert_eq!(
        asked,
        [6, 5],
        "all permissions in the first cluster's partition, and those of a partition in the other"
    );
}

#[tokio::test]
async fn enterprise_checks_datacenter_and_partition() {
    let consul = Recorder::start(|seen, _| {
        let mut questions = seen.json();
        for question in questions.as_array_mut().unwrap() {
            question["Allow"] = json!(true);
        }
        Answer::ok(questions.to_string())
    })
    .await;
    controller(&consul.url, "own", &[("CONSUL_PARTITION", "team")]).await.preflight().await.expect("enough");
    assert_eq!(
        consul.lines(),
        ["POST /v1/internal/acl/authorize", "POST /v1/internal/acl/authorize?partition=team&ns=default"]
    );
    let resources = |question: &Value| question["Resource"].as_str().unwrap().to_owned();
    let asked =
        consul.requests().into_iter().map(|seen| seen.json().as_array().unwrap().iter().map(resources).collect());
    let asked: Vec<Vec<String>> = asked.collect();
    assert_eq!(asked, [vec!["operator", "agent"], vec!["acl", "node", "service", "node"]]);
}
