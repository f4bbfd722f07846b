//! What Consul holds of tasks, and damage to it.

use std::collections::BTreeMap;

use local_stack::world::World;
use serde_json::{Value, json};

use super::task::DataplaneTask;

impl DataplaneTask<'_> {
    /// The statuses of its checks in Consul, by ID.
    pub async fn statuses(&self) -> BTreeMap<String, String> {
        let checks = self.world().checks_of(&self.arn).await;
        let text = |check: &Value, field: &str| check[field].as_str().expect("a text").to_owned();
        checks.iter().map(|check| (text(check, "CheckID"), text(check, "Status"))).collect()
    }

    pub fn all_checks(&self, status: &str) -> BTreeMap<String, String> {
        self.check_ids().into_iter().map(|id| (id, status.to_owned())).collect()
    }

    /// Writes another status of a check, as somebody does who read it before.
    pub async fn write_status(&self, check_id: &str, status: &str) {
        let checks = self.world().checks_of(&self.arn).await;
        let mut check = checks.into_iter().find(|check| check["CheckID"] == check_id).expect("a registered check");
        for field in ["CreateIndex", "ModifyIndex"] {
            check.as_object_mut().expect("a check").remove(field);
        }
        check["Status"] = json!(status);
        self.world().register_raw(&json!({ "Checks": [check] })).await;
    }

    /// Deregisters its service and its sidecar proxy, with their checks.
    pub async fn forget(&self) {
        for id in [self.instance(), self.sidecar()] {
            deregister(self.world(), &json!({ "ServiceID": id })).await;
        }
    }
}

/// Deregisters from the node of the world's cluster: `body` names a service or a check, or nothing for the node.
pub async fn deregister(world: &World<'_>, body: &Value) {
    let mut body = body.clone();
    body["Node"] = json!(world.cluster());
    world.consul.put("/v1/catalog/deregister", &body).await;
}

/// What Consul holds of the world's cluster, without the numbers of its writes, the outputs of checks, and the virtual
/// addresses that newer releases assign anew to a service that was gone.
pub async fn catalog(world: &World<'_>) -> Value {
    let mut node = world.node_services().await;
    let mut services = node["Services"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let mut checks = world.node_checks().await;
    for object in services.iter_mut().chain(&mut checks) {
        for field in ["CreateIndex", "ModifyIndex", "Output"] {
            object.as_object_mut().expect("an object").remove(field);
        }
    }
    for addresses in services.iter_mut().filter_map(|service| service["TaggedAddresses"].as_object_mut()) {
        addresses.remove("consul-virtual");
    }
    services.sort_by_key(|service| service["ID"].as_str().map(str::to_owned));
    checks.sort_by_key(|check| check["CheckID"].as_str().map(str::to_owned));
    json!({ "node": node["Node"]["Node"], "meta": node["Node"]["Meta"], "services": services, "checks": checks })
}

/// The `ModifyIndex` of everything on the node of the world's cluster: it changes with each write that changes something.
pub async fn writes(world: &World<'_>) -> BTreeMap<String, u64> {
    let services = world.node_services().await["Services"].as_array().cloned().unwrap_or_default();
    let of = |object: &Value, id: &str| {
        (object[id].as_str().expect("an ID").to_owned(), object["ModifyIndex"].as_u64().expect("an index"))
    };
    let services = services.iter().map(|service| of(service, "ID"));
    services.chain(world.node_checks().await.iter().map(|check| of(check, "CheckID"))).collect()
}
