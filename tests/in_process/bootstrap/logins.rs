//! Logins after the bootstrap.

use serde_json::{Value, json};

use crate::bootstrap::{
    ANONYMOUS, CLUSTER, bootstrap, errors,
    translated::{METHOD, TranslatedConsul},
};
use local_stack::consul::Consul;

/// All objects of the bootstrap, with their `ModifyIndex`.
async fn snapshot(consul: &Consul) -> Vec<Value> {
    let mut all = Vec::new();
    for path in ["policies", "roles", "auth-methods", "binding-rules", "tokens"] {
        all.push(consul.get(&format!("/v1/acl/{path}")).await);
    }
    all.push(consul.get("/v1/catalog/nodes?filter=Node%20matches%20%22arn%22").await);
    all
}

fn names(of: &Value) -> Vec<&str> {
    of.as_array().map(|all| all.iter().filter_map(|one| one["Name"].as_str()).collect()).unwrap_or_default()
}

#[tokio::test]
async fn tasks_and_gateways_can_log_in() {
    let translated = TranslatedConsul::start().await;
    let (consul, key) = (&translated.consul, &translated.key);
    let controller = translated.controller(&[]).await;
    let report = bootstrap(&controller).await;
    assert_eq!(errors(&report), [""; 0]);
    assert_eq!((report.created.len(), report.updated.len()), (16, 1), "{report:?}");

    // A service gets exactly its service identity
    let meta = json!({ "consul.hashicorp.com/cluster": CLUSTER, "consul.hashicorp.com/task-id": "0123" });
    let token = key.log_in(consul, METHOD, &json!({ "service_name": "web" }), &meta).await;
    assert_eq!(token["ServiceIdentities"], json!([{ "ServiceName": "web" }]));
    assert_eq!((&token["Roles"], &token["Policies"]), (&Value::Null, &Value::Null));

    // A gateway gets the role of its kind
    for kind in ["api-gateway", "mesh-gateway", "terminating-gateway"] {
        let claims = json!({ "service_name": "gate", "gateway_kind": kind });
        let token = key.log_in(consul, METHOD, &claims, &meta).await;
        assert_eq!(names(&token["Roles"]), [format!("consul-ecs-{kind}-role")]);
        assert_eq!(token["ServiceIdentities"], json!([{ "ServiceName": "gate" }]));
    }
    let role = consul.get("/v1/acl/role/name/consul-ecs-mesh-gateway-role").await;
    assert_eq!(names(&role["Policies"]), ["consul-ecs-mesh-gateway-policy"]);

    // A client agent gets its role
    let token = key.log_in(consul, "iam-ecs-client-token", &json!({}), &meta).await;
    assert_eq!(names(&token["Roles"]), ["consul-ecs-client-role"]);

    // Requests without a token can read services and nodes
    let anonymous = consul.get(&format!("/v1/acl/token/{ANONYMOUS}")).await;
    assert_eq!(names(&anonymous["Policies"]), ["anonymous-token-policy"]);
    let services = consul.call(reqwest::Method::GET, "/v1/catalog/services", "", None).await.success().unwrap();
    assert!(services.get("consul").is_some(), "{services}");

    let node = &consul.get("/v1/catalog/nodes?filter=Node%20matches%20%22arn%22").await[0];
    assert_eq!((&node["Node"], &node["Address"]), (&json!(CLUSTER), &json!("127.0.0.1")));
    assert_eq!(node["Meta"], json!({ "synthetic-node": "true" }));

    // And a repetition changes nothing
    let before = snapshot(consul).await;
    let report = bootstrap(&controller).await;
    assert_eq!((errors(&report).len(), report.unchanged.len()), (0, 17), "{report:?}");
    assert_eq!(snapshot(consul).await, before);
}
