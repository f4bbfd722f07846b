//! What consul-ecs has registered for a task, recorded with each release.

use serde_json::Value;

/// A release of consul-ecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// 0.8.1: each check follows its own container.
    V0_8,
    /// 0.9.0: the dataplane's checks pass only if all synced containers are healthy.
    V0_9,
    /// 0.10.0: the same.
    V0_10,
}

impl Release {
    /// All releases with `mesh-init` and `health-sync`.
    pub const ALL: [Self; 3] = [Self::V0_8, Self::V0_9, Self::V0_10];

    /// The tag of the image.
    pub fn tag(self) -> &'static str {
        match self {
            Self::V0_8 => "0.8.1",
            Self::V0_9 => "0.9.0",
            Self::V0_10 => "0.10.0",
        }
    }

    /// The tag of a Consul Dataplane that goes with it, by `docs/reference/compatibility.md`.
    pub fn dataplane(self) -> &'static str {
        match self {
            Self::V0_8 => "1.4.6",
            Self::V0_9 => "1.6.5",
            Self::V0_10 => "1.8.17",
        }
    }

    /// The recorded start of a task with two synced containers.
    fn recorded_start(self) -> &'static str {
        match self {
            Self::V0_8 => include_str!("../../../../tests/recordings/consul-ecs/0.8.1/health-sync-containers.json"),
            Self::V0_9 => include_str!("../../../../tests/recordings/consul-ecs/0.9.0/health-sync-containers.json"),
            Self::V0_10 => include_str!("../../../../tests/recordings/consul-ecs/0.10.0/health-sync-containers.json"),
        }
    }

    /// The recorded `CONSUL_ECS_CONFIG_JSON`, of another service.
    pub(super) fn config(self, service: &str) -> Value {
        let mut recording: Value = serde_json::from_str(self.recorded_start()).expect("JSON");
        recording["config"]["service"]["name"] = service.into();
        recording["config"].take()
    }

    /// The recorded registrations, of another task: the bodies of the service and of its sidecar proxy.
    pub(super) fn registrations(self, task: &TaskNames<'_>) -> Vec<Value> {
        let text = self.recorded_start().replace(RECORDED.cluster, task.cluster).replace(RECORDED.arn, task.arn);
        let text = text.replace(RECORDED.id, task.id).replace(RECORDED.service, task.service);
        let text = text.replace(RECORDED.address, task.address);
        let recording: Value = serde_json::from_str(&text).expect("JSON");
        let requests = recording["requests"].as_array().expect("requests").iter();
        let registers = requests.filter(|request| request["path"] == "/v1/catalog/register");
        registers.map(|request| accepted_by_old_consul(request["body"].clone())).collect()
    }
}

/// The names in a registration that differ from task to task.
pub(super) struct TaskNames<'a> {
    pub(super) cluster: &'a str,
    pub(super) arn: &'a str,
    pub(super) id: &'a str,
    pub(super) service: &'a str,
    pub(super) address: &'a str,
}

/// The names in the recordings.
const RECORDED: TaskNames<'static> = TaskNames {
    cluster: "arn:aws:ecs:us-east-1:123456789012:cluster/shop",
    arn: "arn:aws:ecs:us-east-1:123456789012:task/shop/00000000000000000000000000000006",
    id: "00000000000000000000000000000006",
    service: "orders",
    address: "10.0.1.15",
};

/// A registration without the field of every check that Consul 1.8 does not know, and that is zero in all recordings.
fn accepted_by_old_consul(mut body: Value) -> Value {
    for check in body["Checks"].as_array_mut().into_iter().flatten() {
        check.as_object_mut().expect("a check").remove("ExposedPort");
    }
    body
}
