//! A stand-in for Consul that serves the lists of the installation.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CLUSTER, Installation, service_accessor, service_token, task_arn, task_id};
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
            "agent/members" => Answer::ok("[]"),
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
        let instance = |id: &str, name: &str, kind: &str, task: usize| {
            json!({
                "ID": id,
                "Kind": kind,
                "Service": name,
                "Tags": [],
                "Address": "10.0.1.12",
                "Meta": { "source": "consul-ecs", "task-arn": task_arn(task), "task-id": task_id(task) },
                "Port": 9090,
                "Weights": { "Passing": 1, "Warning": 1 },
                "EnableTagOverride": false,
                "CreateIndex": 1_234_567,
                "ModifyIndex": 1_234_567,
            })
        };
        let of_task = |task: usize| {
            let service = self.service(task);
            let id = format!("{service}-{}", task_id(task));
            [
                instance(&id, &service, "", task),
                instance(&format!("{id}-sidecar-proxy"), &format!("{service}-sidecar-proxy"), "connect-proxy", task),
            ]
        };
        let services: Vec<Value> = (0..self.running).flat_map(of_task).collect();
        json!({ "Node": { "Node": CLUSTER, "Meta": { "synthetic-node": "true" } }, "Services": services })
    }

    /// The checks of the running tasks: of the app, and of the dataplane, on the service and on its sidecar proxy.
    fn checks(self) -> Value {
        let check = |instance: &str, service: &str, container: &str| {
            json!({
                "Node": CLUSTER,
                "CheckID": format!("{instance}-{container}"),
                "Name": "Consul ECS health check synced",
                "Status": "passing",
                "Notes": format!("consul-ecs created and updates this check because the {container} container has an ECS health check."),
                "Output": format!("ECS health status is \"HEALTHY\" for container \"{instance}-{container}\""),
                "ServiceID": instance,
                "ServiceName": service,
                "ServiceTags": [],
                "Type": "consul-ecs-health-check",
                "Definition": {},
                "CreateIndex": 1_234_567,
                "ModifyIndex": 1_234_567,
            })
        };
        let of_task = |task: usize| {
            let service = self.service(task);
            let id = format!("{service}-{}", task_id(task));
            let sidecar = |of: &str| format!("{of}-sidecar-proxy");
            [
                check(&id, &service, "app"),
                check(&id, &service, "consul-dataplane"),
                check(&sidecar(&id), &sidecar(&service), "consul-dataplane"),
            ]
        };
        (0..self.running).flat_map(of_task).collect()
    }
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
