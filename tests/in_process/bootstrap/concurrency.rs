//! Concurrent bootstraps of one Consul by controllers in different accounts.

use std::sync::atomic::{AtomicUsize, Ordering};

use observe::{Deadline, Reach};
use serde_json::Value;

use crate::{
    bootstrap::{CLUSTER, bootstrap, controller, errors, translated::TranslatedConsul},
    time::LONG,
};
use test_harness::recorder::{Answer, Gate};

const OTHER_CLUSTER: &str = "arn:aws:ecs:us-east-1:999999999999:cluster/other";

/// Holds the first two requests of a kind until both have arrived: by then, both controllers have read the old state.
struct Collision {
    gate: std::sync::Arc<Gate>,
    seen: AtomicUsize,
}

impl Collision {
    fn new() -> Self {
        Self { gate: Gate::of(2), seen: AtomicUsize::new(0) }
    }

    fn answer(&self) -> Answer {
        if self.seen.fetch_add(1, Ordering::SeqCst) < 2 {
            Answer::ForwardThrough(self.gate.clone())
        } else {
            Answer::Forward
        }
    }
}

#[tokio::test]
async fn concurrent_controllers_end_in_the_union() {
    let upstream = TranslatedConsul::start().await;
    let (policies, methods, rules) = (Collision::new(), Collision::new(), Collision::new());
    let consul = upstream
        .behind(move |seen, _| match seen.line().as_str() {
            "PUT /v1/acl/policy" if seen.json()["Name"] == "consul-ecs-api-gateway-policy" => policies.answer(),
            "PUT /v1/acl/auth-method" => methods.answer(),
            "PUT /v1/acl/binding-rule" if seen.json()["BindType"] == "service" => rules.answer(),
            _ => Answer::Forward,
        })
        .await;
    let dataplane = ("BOOTSTRAP", "dataplane");
    let one = controller(&consul.url, &upstream.token, &[dataplane]).await;
    let other = controller(&consul.url, &upstream.token, &[dataplane, ("ECS_CLUSTER_ARNS", OTHER_CLUSTER)]).await;
    // In real time: the lengths of both controllers' pauses before a retry are part of the test
    let deadline = Deadline::after(LONG);
    let (first, second) = tokio::join!(one.bootstrap(deadline), other.bootstrap(deadline));
    assert_eq!((errors(&first), errors(&second)), (vec![], vec![]));

    let config = upstream.method_config();
    let mut principals: Vec<&str> =
        config["BoundIAMPrincipalARNs"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    principals.sort_unstable();
    assert_eq!(
        principals,
        ["arn:aws:iam::123456789012:role/consul-ecs/*", "arn:aws:iam::999999999999:role/consul-ecs/*"]
    );
    let put_back = consul.lines().iter().filter(|line| line.contains("PUT /v1/acl/auth-method")).count();
    assert!(put_back >= 3, "the first write was lost, and written again: {put_back}");

    // And each binding rule exists once, although two were created
    let rules = upstream.names("/v1/acl/binding-rules", "BindName").await;
    assert_eq!(rules.len(), 4, "{rules:?}");
    assert!(consul.lines().iter().any(|line| line.starts_with("DELETE /v1/acl/binding-rule/")));
    assert_eq!(upstream.nodes().await.len(), 2);
}

#[tokio::test]
async fn a_concurrent_overwriter_is_reported() {
    let upstream = TranslatedConsul::start().await;
    let dataplane = ("BOOTSTRAP", "dataplane");
    let other = upstream.controller(&[dataplane, ("ECS_CLUSTER_ARNS", OTHER_CLUSTER)]).await;
    assert_eq!(errors(&bootstrap(&other).await), [""; 0]);
    let consul = upstream
        .behind(|seen, _| match seen.line().as_str() {
            // Extended, and overwritten before it is read again
            "PUT /v1/acl/auth-method/iam-ecs-service-token" => Answer::ok("{}"),
            _ => Answer::Forward,
        })
        .await;
    let report = bootstrap(&controller(&consul.url, &upstream.token, &[dataplane]).await).await;
    assert_eq!(
        errors(&report),
        ["auth method iam-ecs-service-token: another tool keeps changing it. Find the other tool that sets Consul \
            up, then try again"]
    );
}

#[tokio::test]
async fn a_node_that_another_tool_keeps_removing_fails_no_deployment() {
    let upstream = TranslatedConsul::start().await;
    let consul = upstream
        .behind(|seen, _| match seen.line().as_str() {
            // Registered, and deregistered before it is read again
            "PUT /v1/catalog/register" => Answer::ok("true"),
            _ => Answer::Forward,
        })
        .await;
    let report = bootstrap(&controller(&consul.url, &upstream.token, &[("BOOTSTRAP", "dataplane")]).await).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let nodes: Vec<_> = report.not_created.iter().map(|((cluster, _), error)| (cluster.as_str(), error)).collect();
    assert!(matches!(nodes[..], [(CLUSTER, error)] if error.reach() == Reach::Thing), "{nodes:?}");
}
