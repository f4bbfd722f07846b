//! Logins at a real Consul after the bootstrap. Its version does not support `aws-iam`: a translator in front of it replaces such
//! methods by `jwt` methods whose claims represent the tags of IAM roles.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::bootstrap::{CLUSTER, POLICY, bootstrap, controller, errors, fake::ANONYMOUS};
use local_stack::consul::Consul;
use test_harness::{
    jwt::JwtKey,
    recorder::{Answer, RecordedRequest, Recorder, Translation},
};

const METHOD: &str = "iam-ecs-service-token";
/// The variables of binding rules for tags, and for claims.
const WORDS: [(&str, &str); 2] = [
    (r#"entity_tags["consul.hashicorp.com.gateway-kind"]"#, "value.gateway_kind"),
    ("${entity_tags.consul.hashicorp.com.service-name}", "${value.service_name}"),
];

/// Translates between `aws-iam` for the controller and `jwt` for Consul.
struct Translator {
    key: Arc<JwtKey>,
    /// The configurations that the controller has written, by method.
    configs: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl Translator {
    fn answer(&self, seen: &RecordedRequest) -> Answer {
        let path = seen.uri.split('?').next().unwrap();
        if path.starts_with("/v1/acl/auth-method") {
            return Answer::ForwardAs(self.method(seen), self.method_back());
        }
        if path.starts_with("/v1/acl/binding-rule") {
            return Answer::ForwardAs(rule(&seen.body, false), Box::new(|answer| rule(&answer, true)));
        }
        Answer::Forward
    }

    fn method(&self, seen: &RecordedRequest) -> String {
        let mut method = seen.json();
        if method["Type"] != "aws-iam" {
            return seen.body.clone();
        }
        let claims = json!({ "service_name": "service_name", "gateway_kind": "gateway_kind" });
        let config = method["Config"].take();
        self.configs.lock().unwrap().insert(method["Name"].as_str().unwrap().to_owned(), config);
        method["Type"] = json!("jwt");
        method["Config"] = self.key.config(&claims);
        method.to_string()
    }

    fn method_back(&self) -> Translation {
        let configs = Arc::clone(&self.configs);
        Box::new(move |answer| {
            let mut method: Value = serde_json::from_str(&answer).unwrap();
            method["Type"] = json!("aws-iam");
            method["Config"] = configs.lock().unwrap()[method["Name"].as_str().unwrap()].clone();
            method.to_string()
        })
    }
}

/// Translates the rules in a JSON text.
fn rule(text: &str, is_back: bool) -> String {
    WORDS.iter().fold(text.to_owned(), |text, (tag, claim)| {
        let tag = tag.replace('"', "\\\"");
        if is_back { text.replace(claim, &tag) } else { text.replace(&tag, claim) }
    })
}

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

async fn translated(consul: &Consul) -> (Recorder, Arc<JwtKey>) {
    let key = Arc::new(JwtKey::generate());
    let translator = Translator { key: Arc::clone(&key), configs: Arc::default() };
    (Recorder::before(&consul.address, move |seen, _| translator.answer(seen)).await, key)
}

#[tokio::test]
async fn tasks_and_gateways_can_log_in() {
    let consul = Consul::start().await;
    let own = consul.token_with_rules("controller", POLICY).await;
    let (proxy, key) = translated(&consul).await;
    let controller = controller(&proxy.url, &own.secret_id, &[]).await;
    let report = bootstrap(&controller).await;
    assert_eq!(errors(&report), [""; 0]);
    assert_eq!((report.created.len(), report.updated.len()), (16, 1), "{report:?}");

    // A service gets exactly its service identity
    let meta = json!({ "consul.hashicorp.com/cluster": CLUSTER, "consul.hashicorp.com/task-id": "0123" });
    let token = key.log_in(&consul, METHOD, &json!({ "service_name": "web" }), &meta).await;
    assert_eq!(token["ServiceIdentities"], json!([{ "ServiceName": "web" }]));
    assert_eq!((&token["Roles"], &token["Policies"]), (&Value::Null, &Value::Null));

    // A gateway gets the role of its kind
    for kind in ["api-gateway", "mesh-gateway", "terminating-gateway"] {
        let claims = json!({ "service_name": "gate", "gateway_kind": kind });
        let token = key.log_in(&consul, METHOD, &claims, &meta).await;
        assert_eq!(names(&token["Roles"]), [format!("consul-ecs-{kind}-role")]);
        assert_eq!(token["ServiceIdentities"], json!([{ "ServiceName": "gate" }]));
    }
    let role = consul.get("/v1/acl/role/name/consul-ecs-mesh-gateway-role").await;
    assert_eq!(names(&role["Policies"]), ["consul-ecs-mesh-gateway-policy"]);

    // A client agent gets its role
    let token = key.log_in(&consul, "iam-ecs-client-token", &json!({}), &meta).await;
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
    let before = snapshot(&consul).await;
    let report = bootstrap(&controller).await;
    assert_eq!((errors(&report).len(), report.unchanged.len()), (0, 17), "{report:?}");
    assert_eq!(snapshot(&consul).await, before);
}
