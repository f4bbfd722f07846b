//! The requests of the first bootstrap and of a repeated one.

use controller::{BootstrapError, ControllerError};
use observe::{CallError, Deadline};
use serde_json::{Value, json};

use crate::{
    bootstrap::{ANONYMOUS, CLUSTER, bootstrap, controller, errors, lines, translated::TranslatedConsul, writes},
    time::{LONG, over_when},
};
use test_harness::recorder::{Answer, Recorder};

/// What the client agents of an earlier generation need: their policy, role, auth method and binding rule.
fn objects_of_client_agents() -> [(&'static str, Value); 4] {
    let (policy, role, method) = ("consul-ecs-client-policy", "consul-ecs-client-role", "iam-ecs-client-token");
    let principals = json!(["arn:aws:iam::123456789012:role/consul-ecs/*"]);
    let rules = r#"node_prefix "" { policy = "write" } service_prefix "" { policy = "read" }"#;
    [
        (
            "PUT /v1/acl/policy",
            json!({ "Name": policy, "Description": "Policy of Consul client agents on ECS", "Rules": rules }),
        ),
        (
            "PUT /v1/acl/role",
            json!({ "Name": role, "Description": "Role of Consul client agents on ECS", "Policies": [{ "Name": policy }] }),
        ),
        (
            "PUT /v1/acl/auth-method",
            json!({
                "Name": method, "Type": "aws-iam", "Description": "AWS IAM auth method for ECS client tokens",
                "Config": { "BoundIAMPrincipalARNs": principals, "EnableIAMEntityDetails": true },
            }),
        ),
        (
            "PUT /v1/acl/binding-rule",
            json!({
                "AuthMethod": method, "Description": "Role of a client agent on ECS",
                "BindType": "role", "BindName": role, "Selector": "",
            }),
        ),
    ]
}

#[tokio::test]
async fn a_second_bootstrap_writes_nothing() {
    let translated = TranslatedConsul::start().await;
    let (consul, controller) = (&translated.recorder, translated.controller(&[]).await);

    let report = bootstrap(&controller).await;
    assert_eq!(errors(&report), [""; 0]);
    // The anonymous token always exists
    assert_eq!(report.updated, ["the anonymous ACL token"]);
    assert_eq!(report.created.len(), 16);
    // What the controller of consul-ecs 0.10 writes is compared in `recorded`
    let mut written = writes(consul);
    assert_eq!(written.len(), 17);
    written.retain(|(_, body)| body.to_string().contains("client"));
    assert_eq!(written, objects_of_client_agents().map(|(line, body)| (line.to_owned(), body)));

    consul.forget();
    let report = bootstrap(&controller).await;
    assert_eq!((report.unchanged.len(), report.created.len() + report.updated.len()), (17, 0));
    // Each of the objects is read once; `client/enterprise.rs` has the requests
    let lines = lines(consul);
    assert!(lines.len() == 18 && lines.iter().all(|line| line.starts_with("GET ")), "{lines:?}");
}

#[tokio::test]
async fn a_secondary_datacenter_keeps_the_anonymous_token() {
    let translated = TranslatedConsul::start().await;
    let consul = translated
        .behind(|seen, _| match seen.uri.as_str() {
            "/v1/agent/self" => {
                let config = json!({ "Datacenter": "dc1" });
                Answer::ok(json!({ "Config": config, "DebugConfig": { "PrimaryDatacenter": "dc0" } }).to_string())
            }
            _ => Answer::Forward,
        })
        .await;
    let report = bootstrap(&controller(&consul.url, &translated.token, &[("BOOTSTRAP", "dataplane")]).await).await;
    assert_eq!(errors(&report), [""; 0]);
    let anonymous = translated.consul.get(&format!("/v1/acl/token/{ANONYMOUS}")).await;
    assert_eq!(anonymous["Policies"], Value::Null);
    let policies = translated.names("/v1/acl/policies", "Name").await;
    assert!(!policies.iter().any(|name| name == "anonymous-token-policy"), "{policies:?}");
}

#[tokio::test]
async fn an_unnecessary_bootstrap_makes_no_requests() {
    let consul = Recorder::start(|_, _| Answer::status(404, "")).await;
    for changes in [("BOOTSTRAP", "none"), ("TOKEN_MODE", "secrets-manager")] {
        let report = bootstrap(&controller(&consul.url, "own", &[changes]).await).await;
        assert!(report.failures.is_empty() && report.unchanged.is_empty(), "{report:?}");
    }
    assert_eq!(consul.lines(), [""; 0]);
}

#[tokio::test]
async fn an_old_consul_lacks_only_the_auth_method() {
    let upstream = TranslatedConsul::start().await;
    let consul = upstream
        .behind(|seen, _| match seen.line().as_str() {
            "PUT /v1/acl/auth-method" => {
                Answer::status(500, "Invalid Auth Method: Type should be one of: [jwt kubernetes]")
            }
            _ => Answer::Forward,
        })
        .await;
    let report = bootstrap(&controller(&consul.url, &upstream.token, &[("BOOTSTRAP", "dataplane")]).await).await;
    let errors = errors(&report);
    assert_eq!(errors.len(), 5, "the method and its four rules: {errors:?}");
    assert!(
        errors[0].starts_with("auth method iam-ecs-service-token: this Consul has no auth methods of type aws-iam")
    );
    assert!(errors[0].contains("TokenMode auth-method needs Consul 1.12 or newer"), "{}", errors[0]);
    assert!(errors[1].ends_with("not attempted, because auth method iam-ecs-service-token failed"), "{}", errors[1]);
    assert_eq!(upstream.names("/v1/acl/roles", "Name").await.len(), 3);
    assert_eq!(upstream.nodes().await.len(), 1);
    assert_eq!(upstream.names("/v1/acl/binding-rules", "BindName").await.len(), 0);
}

#[tokio::test]
async fn work_beyond_the_deadline_is_reported() {
    let upstream = TranslatedConsul::start().await;
    let consul = upstream
        .behind(|seen, _| if seen.line() == "PUT /v1/acl/auth-method" { Answer::Hang } else { Answer::Forward })
        .await;
    let controller = controller(&consul.url, &upstream.token, &[("BOOTSTRAP", "dataplane")]).await;
    let deadline = Deadline::after(LONG);
    let is_stuck = || {
        let lines = consul.lines();
        let is_last = lines.last().is_some_and(|line| line == "PUT /v1/acl/auth-method");
        if is_last { Ok(()) } else { Err(format!("{lines:?}")) }
    };
    let work = controller.bootstrap(deadline);
    let (report, overrun) = over_when(work, "the auth method to be written", is_stuck, || deadline.left()).await;
    assert_eq!(overrun.as_secs(), 0, "it took {overrun:?} after the deadline");
    let of_time: Vec<&str> = report
        .failures
        .iter()
        .filter(|failure| matches!(failure.error, BootstrapError::Call(CallError::OutOfTime(_))))
        .map(|failure| failure.object.as_str())
        .collect();
    assert!(of_time.contains(&"auth method iam-ecs-service-token"), "{report:?}");
    let of_nodes: Vec<_> = report.not_created.iter().map(|((cluster, _), error)| (cluster.as_str(), error)).collect();
    assert!(
        matches!(of_nodes[..], [(CLUSTER, error)] if matches!(**error, ControllerError::Call(CallError::OutOfTime(_)))),
        "{report:?}"
    );
}
