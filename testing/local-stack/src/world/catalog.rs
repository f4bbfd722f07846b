//! The registrations of `mesh-init` (dataplane generation) for a task, on its cluster's synthetic node.

use mesh::{
    arn::TaskArn,
    catalog::HealthCheck,
    consul_ecs::{Registration, instance_id, sidecar_of},
};
use mesh_examples::registrations;
use serde_json::{Value, json};

use super::{World, tasks::task_id};
use crate::consul::Token;

/// The IDs of what a task registers of a service: of the service and of its sidecar proxy.
pub fn instance_ids(service: &str, task: &str) -> [String; 2] {
    let id = instance_id(service, parsed(task).id());
    let sidecar = sidecar_of(&id);
    [id, sidecar]
}

fn parsed(task: &str) -> TaskArn {
    task.parse().expect("the ARN of a task")
}

/// An instance as it is registered.
pub fn instance_body(it: &Registration) -> Value {
    let mut body = json!({
        "ID": it.id, "Service": it.name, "Kind": it.kind.as_str().unwrap_or_default(), "Port": it.port, "Meta": it.meta,
        "Address": it.service_address,
    });
    if let Some(of) = it.proxy.as_ref().and_then(|proxy| proxy.destination.as_ref()) {
        body["Proxy"] = json!({
            "DestinationServiceName": of.service_name, "DestinationServiceID": of.service_id, "LocalServicePort": of.port,
        });
    }
    body
}

/// A passing check as it is registered.
pub fn check_body(check: &HealthCheck) -> Value {
    json!({
        "CheckID": check.id, "Name": check.name, "Type": check.kind, "Notes": check.notes, "Status": "passing",
        "ServiceID": check.service_id,
    })
}

impl World<'_> {
    /// Registers a task's service and sidecar proxy with their checks, all passing.
    pub async fn register_instance(&self, service: &str, task: &str) {
        for registration in registrations(service, &parsed(task)) {
            let checks: Vec<Value> = registration.checks.iter().map(check_body).collect();
            self.register_raw(&json!({ "Service": instance_body(&registration), "Checks": checks })).await;
        }
    }

    /// A token as a task's login creates it, without the login: thousands of signatures take too long.
    pub async fn token_as_of_login(&self, service: &str, task: &str) -> Token {
        let meta = json!({
            "consul.hashicorp.com/cluster": self.cluster(),
            "consul.hashicorp.com/task-id": task_id(task),
        });
        let body = json!({
            "Description": format!("token created via login: {meta}"),
            "ServiceIdentities": [{ "ServiceName": service }],
        });
        Token::from(&self.consul.put("/v1/acl/token", &body).await)
    }

    /// Creates the cluster's synthetic node.
    pub async fn create_node(&self) {
        self.register_raw(&json!({})).await;
    }

    /// Registers anything on the cluster's synthetic node.
    pub async fn register_raw(&self, registration: &Value) {
        let mut body = registration.clone();
        body["Node"] = json!(self.cluster());
        body["Address"] = json!("127.0.0.1");
        body["NodeMeta"] = json!({ "synthetic-node": "true" });
        body["SkipNodeUpdate"] = json!(true);
        self.consul.put("/v1/catalog/register", &body).await;
    }

    /// The IDs of the services on the cluster's node, sorted.
    pub async fn service_ids(&self) -> Vec<String> {
        let node = self.node_services().await;
        let services = node["Services"].as_array().cloned().unwrap_or_default();
        let mut ids: Vec<String> = services.iter().map(|service| service["ID"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    }

    /// The node's services, as Consul shows them.
    pub async fn node_services(&self) -> Value {
        self.consul.get(&format!("/v1/catalog/node-services/{}", self.node_in_path())).await
    }

    /// The checks on the cluster's node.
    pub async fn node_checks(&self) -> Vec<Value> {
        let checks = self.consul.get(&format!("/v1/health/node/{}", self.node_in_path())).await;
        checks.as_array().cloned().unwrap_or_default()
    }

    /// The checks of a task's instances.
    pub async fn checks_of(&self, task: &str) -> Vec<Value> {
        let mut checks = self.node_checks().await;
        checks.retain(|check| check["ServiceID"].as_str().unwrap_or_default().contains(task_id(task)));
        checks
    }

    /// The IDs of a service's instances that pass all checks, which get traffic.
    pub async fn passing(&self, service: &str) -> Vec<String> {
        let answer = self.consul.get(&format!("/v1/health/service/{service}?passing")).await;
        let instances = answer.as_array().cloned().unwrap_or_default();
        let mut ids: Vec<String> = instances.iter().map(|i| i["Service"]["ID"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    }

    fn node_in_path(&self) -> String {
        self.cluster().replace('/', "%2F")
    }
}
