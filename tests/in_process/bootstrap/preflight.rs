//! The preflight, before a real Consul.

use consul::ConsulError;
use controller::PreflightError;
use serde_json::json;

use crate::{
    bootstrap::{CLUSTER, POLICY, controller},
    time::without_pauses,
};
use local_stack::consul::Consul;
use test_harness::recorder::{Answer, Recorder};

#[tokio::test]
async fn the_token_is_good_too_weak_or_unknown_and_consul_may_be_down() {
    let consul = Consul::start().await;
    let enough = consul.token_with_rules("enough", POLICY).await;
    controller(&consul.address, &enough.secret_id, &[]).await.preflight().await.expect("enough");

    // What is missing is named as the policy spells it
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

    // A server without the question is asked by calls
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
async fn every_partition_of_the_clusters_is_asked_and_what_is_missing_is_said_with_its_clusters() {
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
        format!(
            "the controller's Consul token lacks: acl = \"write\" in partition store (for {}, {}); \
             add them to its policy (see docs/deploy.md)",
            clusters[1], clusters[2]
        )
    );
    assert_eq!(
        consul.lines(),
        ["POST /v1/internal/acl/authorize", "POST /v1/internal/acl/authorize?partition=store&ns=default"]
    );
    let asked: Vec<usize> = consul.requests().iter().map(|seen| seen.json().as_array().unwrap().len()).collect();
    assert_eq!(asked, [6, 5], "everything where the first cluster is, and what is of a partition in the other");
}

#[tokio::test]
async fn enterprise_is_asked_for_the_datacenter_and_for_the_partition() {
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
    assert_eq!(
        consul.requests()[0].json(),
        json!([
            { "Resource": "operator", "Access": "write", "Segment": "" },
            { "Resource": "agent", "Access": "read", "Segment": "" },
        ])
    );
    assert_eq!(
        consul.requests()[1].json(),
        json!([
            { "Resource": "acl", "Access": "write", "Segment": "" },
            { "Resource": "node", "Access": "read", "Segment": "" },
            { "Resource": "service", "Access": "write", "Segment": "" },
            { "Resource": "node", "Access": "write", "Segment": CLUSTER },
        ])
    );
}
