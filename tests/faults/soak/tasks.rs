//! Tasks of a scripted ECS, with the programs of consul-ecs 0.10 in them: `mesh-init` registers once, and `health-sync` writes
//! the changes of what it remembers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use local_stack::{consul::Consul, world::envelope};
use reqwest::Method;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

pub(super) const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/soak";
const DEFINITION: &str = "arn:aws:ecs:us-east-1:123456789012:task-definition/web:1";
const DATAPLANE: &str = "consul-dataplane";

/// A task of the service `web`.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct Task {
    pub(super) number: usize,
    /// Whether its `mesh-init` has registered it and exited.
    pub(super) is_registered: bool,
    pub(super) is_stopped: bool,
    pub(super) is_app_healthy: bool,
    /// Whether its dataplane has stopped.
    pub(super) has_lost_proxy: bool,
    /// The statuses that its health-sync wrote last, by check.
    pub(super) remembered: BTreeMap<String, &'static str>,
}

impl Task {
    pub(super) fn new(number: usize) -> Self {
        let remembered = BTreeMap::new();
        Self {
            number,
            is_registered: false,
            is_stopped: false,
            is_app_healthy: true,
            has_lost_proxy: false,
            remembered,
        }
    }

    pub(super) fn id(&self) -> String {
        format!("{:032x}", self.number)
    }

    fn arn(&self) -> String {
        format!("arn:aws:ecs:us-east-1:123456789012:task/soak/{}", self.id())
    }

    /// The IDs of its service and its sidecar proxy.
    pub(super) fn instances(&self) -> [String; 2] {
        let service = format!("web-{}", self.id());
        [service.clone(), format!("{service}-sidecar-proxy")]
    }

    /// The statuses that its checks should have, by ID, and the instance of each.
    pub(super) fn statuses(&self) -> Vec<(String, String, &'static str)> {
        let status = |passes: bool| if passes { "passing" } else { "critical" };
        let is_overall_healthy = self.is_app_healthy && !self.has_lost_proxy;
        let [service, sidecar] = self.instances();
        vec![
            (format!("{service}-app"), service.clone(), status(self.is_app_healthy)),
            (format!("{service}-{DATAPLANE}"), service, status(is_overall_healthy)),
            (format!("{sidecar}-{DATAPLANE}"), sidecar, status(is_overall_healthy)),
        ]
    }

    /// Registers the task as `mesh-init` does.
    pub(super) async fn mesh_init(&self, consul: &Consul) {
        let meta = json!({ "task-id": self.id(), "task-arn": self.arn(), "source": "consul-ecs" });
        let [service, sidecar] = self.instances();
        let proxy = json!({ "DestinationServiceName": "web", "DestinationServiceID": service, "LocalServicePort": 80 });
        for body in [
            json!({ "ID": service, "Service": "web", "Port": 80, "Meta": meta }),
            json!({
                "ID": sidecar, "Service": "web-sidecar-proxy", "Kind": "connect-proxy", "Port": 20000, "Meta": meta,
                "Proxy": proxy,
            }),
        ] {
            let own = self.statuses().into_iter().filter(|(_, instance, _)| body["ID"] == instance.as_str());
            let checks: Vec<Value> = own.map(|(id, instance, _)| check(&id, &instance, "critical")).collect();
            consul.put("/v1/catalog/register", &with_node(&json!({ "Service": body, "Checks": checks }))).await;
        }
    }

    /// A tick of `health-sync`: it writes what has changed since its last successful write.
    pub(super) async fn health_sync(&mut self, consul: &Consul) {
        let changed = self.statuses().into_iter().filter(|(id, _, status)| self.remembered.get(id) != Some(status));
        let changed: Vec<_> = changed.collect();
        if changed.is_empty() || self.is_stopped {
            return;
        }
        let checks: Vec<Value> = changed.iter().map(|(id, instance, status)| check(id, instance, status)).collect();
        let body = with_node(&json!({ "Checks": checks }));
        let token = &consul.management_token;
        let answer = consul.call(Method::PUT, "/v1/catalog/register", token, Some(&body)).await;
        if answer.success().is_ok() {
            self.remembered.extend(changed.into_iter().map(|(id, _, status)| (id, status)));
        }
    }

    /// The event of its current state.
    pub(super) fn event(&self) -> Value {
        let mut detail = self.described();
        detail["version"] = json!(9);
        envelope(&detail)
    }

    fn described(&self) -> Value {
        let status = if self.is_stopped { "STOPPED" } else { "RUNNING" };
        let mesh_init = if self.is_registered {
            json!({ "name": "consul-ecs-mesh-init", "lastStatus": "STOPPED", "exitCode": 0 })
        } else {
            json!({ "name": "consul-ecs-mesh-init", "lastStatus": "RUNNING" })
        };
        let container = |name: &str, is_stopped: bool, is_healthy: bool| {
            let health = if is_healthy { "HEALTHY" } else { "UNHEALTHY" };
            let status = if is_stopped { "STOPPED" } else { status };
            json!({ "name": name, "lastStatus": status, "healthStatus": health })
        };
        json!({
            "taskArn": self.arn(), "clusterArn": CLUSTER, "taskDefinitionArn": DEFINITION, "lastStatus": status,
            "desiredStatus": status, "connectivity": "CONNECTED", "launchType": "EC2",
            "attachments": [{
                "type": "ElasticNetworkInterface",
                "details": [{ "name": "privateIPv4Address", "value": "10.0.0.7" }],
            }],
            "containers": [
                mesh_init,
                container("app", false, self.is_app_healthy),
                container(DATAPLANE, self.has_lost_proxy, true),
                container("consul-ecs-health-sync", false, true),
            ],
        })
    }
}

fn check(id: &str, instance: &str, status: &str) -> Value {
    json!({
        "CheckID": id, "Name": "Consul ECS health check synced", "Type": "consul-ecs-health-check", "Status": status,
        "ServiceID": instance, "Node": CLUSTER,
    })
}

/// A registration on the cluster's synthetic node.
pub(super) fn with_node(registration: &Value) -> Value {
    let mut body = registration.clone();
    body["Node"] = json!(CLUSTER);
    body["Address"] = json!("127.0.0.1");
    body["NodeMeta"] = json!({ "synthetic-node": "true" });
    body["SkipNodeUpdate"] = json!(true);
    body
}

/// Starts the scripted AWS with these tasks.
pub(super) async fn aws(tasks: &Arc<Mutex<Vec<Task>>>) -> Recorder {
    let tasks = Arc::clone(tasks);
    Recorder::start(move |seen, _| Answer::ok(answer(&tasks.lock().unwrap(), seen).to_string())).await
}

fn answer(tasks: &[Task], seen: &RecordedRequest) -> Value {
    let asked = seen.json();
    match seen.operation().as_deref() {
        Some("DescribeClusters") => json!({ "clusters": [{ "clusterArn": CLUSTER, "status": "ACTIVE" }] }),
        Some("ListTasks") => {
            let wants_stopped = asked["desiredStatus"] == "STOPPED";
            let listed = tasks.iter().filter(|task| task.is_stopped == wants_stopped).map(Task::arn);
            json!({ "taskArns": listed.collect::<Vec<_>>() })
        }
        Some("DescribeTasks") => {
            let arns = asked["tasks"].as_array().unwrap().iter().map(|arn| arn.as_str().unwrap());
            let numbers = arns.map(|arn| usize::from_str_radix(arn.rsplit('/').next().unwrap(), 16).unwrap());
            json!({ "tasks": numbers.map(|number| tasks[number].described()).collect::<Vec<_>>() })
        }
        Some("DescribeTaskDefinition") => definition(),
        Some("PutEvents") => json!({ "FailedEntryCount": 0, "Entries": [] }),
        other => panic!("not scripted: {other:?}"),
    }
}

fn definition() -> Value {
    let config = json!({
        "service": { "name": "web", "port": 80 }, "proxy": {}, "transparentProxy": { "enabled": false },
        "healthSyncContainers": ["app"],
    });
    let container = |name: &str| json!({ "name": name, "image": "example/x:1" });
    let mesh_init = json!({
        "name": "consul-ecs-mesh-init", "image": "hashicorp/consul-ecs:0.10.0", "command": ["mesh-init"],
        "environment": [{ "name": "CONSUL_ECS_CONFIG_JSON", "value": config.to_string() }],
    });
    let containers = [mesh_init, container("app"), container(DATAPLANE), container("consul-ecs-health-sync")];
    let tags = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    json!({ "taskDefinition": { "taskDefinitionArn": DEFINITION, "containerDefinitions": containers }, "tags": tags })
}
