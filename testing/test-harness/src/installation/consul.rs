//! A stand-in for Consul that serves the lists of the installation.

use std::time::Duration;

use local_stack::world::{check_body, instance_body};
use mesh::{catalog::HealthCheck, consul_ecs::Registration};
use mesh_examples::registrations;
use serde_json::{Value, json};

use super::{CLUSTER, Installation, service_accessor, service_token, task_arn};
use crate::recorder::{Answer, RecordedRequest, Recorder};

/// The list of tokens is sent in so many parts.
const PARTS: usize = 16;

impl Installation {
    /// Starts the stand-in for Consul. It sends the list of tokens in 16 parts, with this pause before each.
    pub async fn consul(self, pause: Duration) -> Recorder {
        let (list, node, checks) =
            (in_parts(&json!(self.token_list()).to_string()), self.node().to_string(), self.checks().to_string());
        let empty =
            json!({ "Node": { "Node": CLUSTER, "Meta": { "synthetic-node": "true" } }, "Services": [] }).to_string();
        Recorder::start(move |seen, _| match path(seen) {
            "acl/tokens" => Answer::InParts(list.clone(), pause),
            "agent/members" | "connect/intentions" => Answer::ok("[]"),
            "agent/self" => {
                let policy = json!({ "ACLDefaultPolicy": "allow" });
                Answer::ok(
                    json!({ "Config": { "Datacenter": "dc1", "Version": "2.0.1" }, "DebugConfig": policy }).to_string(),
                )
            }
            "agent/metrics/certificates" => Answer::ok(json!({ "certificates": [] }).to_string()),
            "connect/ca/roots" => Answer::ok(json!({ "Roots": [] }).to_string()),
            "catalog/nodes" => Answer::ok(json!([{ "Node": CLUSTER }]).to_string()),
            "internal/acl/authorize" => {
                let asked = seen.json();
                let allowed = asked.as_array().unwrap().iter().map(|it| {
                    let mut it = it.clone();
                    it["Allow"] = json!(true);
                    it
                });
                Answer::ok(json!(allowed.collect::<Vec<_>>()).to_string())
            }
            path if path.starts_with("catalog/node-services/") && seen.uri.contains("filter=") => {
                Answer::ok(empty.clone())
            }
            path if path.starts_with("catalog/node-services/") => Answer::ok(node.clone()),
            path if path.starts_with("health/node/") => Answer::ok(checks.clone()),
            path => match (seen.method.as_str(), path.strip_prefix("acl/token/")) {
                ("DELETE", Some(_)) => Answer::ok("true"),
                ("GET", Some(accessor)) => self.service_token_at(accessor),
                _ => Answer::status(400, format!("not expected: {}", seen.line())),
            },
        })
        .await
    }

    fn service_token_at(self, accessor: &str) -> Answer {
        let number = accessor.rsplit('-').next().and_then(|number| usize::from_str_radix(number, 16).ok());
        match number.filter(|number| *number < self.services && service_accessor(*number) == accessor) {
            Some(number) => Answer::ok(service_token(number).to_string()),
            None => Answer::status(404, ""),
        }
    }

    /// The cluster's node, with a service and a sidecar proxy of each running task.
    fn node(self) -> Value {
        let instance = |registration: &Registration| {
            with(
                instance_body(registration),
                json!({
                    "Tags": [],
                    "Weights": { "Passing": 1, "Warning": 1 },
                    "EnableTagOverride": false,
                    "CreateIndex": 1_234_567,
                    "ModifyIndex": 1_234_567,
                }),
            )
        };
        let services: Vec<Value> = self.registrations().iter().map(instance).collect();
        json!({ "Node": { "Node": CLUSTER, "Meta": { "synthetic-node": "true" } }, "Services": services })
    }

    /// The checks of the running tasks: of the app, and of the dataplane, on the service and on its sidecar proxy.
    fn checks(self) -> Value {
        let read = |check: &HealthCheck| {
            with(
                check_body(check),
                json!({
                    "Node": CLUSTER,
                    "Output": format!("ECS health status is \"HEALTHY\" for container \"{}\"", check.id),
                    "ServiceName": check.service_name,
                    "ServiceTags": [],
                    "Definition": {},
                    "CreateIndex": 1_234_567,
                    "ModifyIndex": 1_234_567,
                }),
            )
        };
        self.registrations().iter().flat_map(|registration| &registration.checks).map(read).collect()
    }

    /// What the running tasks have registered.
    fn registrations(self) -> Vec<Registration> {
        let of_task = |task: usize| registrations(&self.service(task), &task_arn(task).parse().expect("an ARN"));
        (0..self.running).flat_map(of_task).collect()
    }
}

/// An object with further fields.
fn with(mut object: Value, fields: Value) -> Value {
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
    object
}

/// The path below `/v1`, without the query.
fn path(seen: &RecordedRequest) -> &str {
    seen.uri.split('?').next().and_then(|path| path.strip_prefix("/v1/")).unwrap_or_default()
}

fn in_parts(text: &str) -> Vec<String> {
    assert!(text.is_ascii());
    let length = text.len().div_ceil(PARTS);
    text.as_bytes().chunks(length).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}
