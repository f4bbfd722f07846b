//! A task, and the program in it that registers it.

use local_stack::world::{World, instance_ids, task_id};
use mesh::consul_ecs::check_id;
use serde_json::Value;

use super::{
    DATAPLANE, MESH_INIT, SYNCED,
    recording::{Release, TaskNames},
};
use crate::jwt::JwtAuthMethod;

/// A task of which a test says what happens in it.
pub struct DataplaneTask<'a> {
    world: &'a World<'a>,
    pub(super) release: Release,
    pub(super) service: String,
    /// Its ARN.
    pub arn: String,
}

impl<'a> DataplaneTask<'a> {
    /// A task that runs already.
    pub fn new(world: &'a World<'a>, release: Release, service: &str, arn: &str) -> Self {
        Self { world, release, service: service.to_owned(), arn: arn.to_owned() }
    }

    /// `mesh-init` registers the task, its containers become healthy, and `health-sync` writes that.
    pub async fn settle(&self) {
        self.mesh_init().await;
        self.report_all_healthy().await;
        self.sync_health().await;
    }

    /// The world that it runs in.
    pub fn world(&self) -> &'a World<'a> {
        self.world
    }

    /// Its ID.
    pub fn id(&self) -> &str {
        task_id(&self.arn)
    }

    /// The ID of its service instance.
    pub fn instance(&self) -> String {
        let [service, _] = instance_ids(&self.service, &self.arn);
        service
    }

    /// The ID of its sidecar proxy.
    pub fn sidecar(&self) -> String {
        let [_, sidecar] = instance_ids(&self.service, &self.arn);
        sidecar
    }

    /// The IDs of its checks, sorted.
    pub fn check_ids(&self) -> Vec<String> {
        let of_service = SYNCED.into_iter().chain([DATAPLANE]).map(|name| check_id(&self.instance(), name));
        let mut ids: Vec<String> = of_service.chain([check_id(&self.sidecar(), DATAPLANE)]).collect();
        ids.sort();
        ids
    }

    /// `mesh-init` registers the task, and exits with code 0. From then on, the dataplane has a login token.
    pub async fn mesh_init(&self) {
        self.log_in(&self.service).await;
        self.register().await;
        self.report_stopped(MESH_INIT, 0).await;
    }

    /// The task logs in as a service, at an auth method of its own.
    pub async fn log_in(&self, service: &str) {
        let method = JwtAuthMethod::create(self.world.consul, &format!("tasks-{}", self.id())).await;
        method.log_in_task(service, &self.world.cluster(), self.id()).await;
    }

    /// Deletes the task's login tokens, as the dataplane does when it stops.
    pub async fn log_out(&self) {
        for token in self.world.tokens_about(self.id()).await {
            let accessor = token["AccessorID"].as_str().unwrap_or_default();
            self.world.consul.delete(&format!("/v1/acl/token/{accessor}")).await;
        }
    }

    /// Writes what `mesh-init` writes.
    pub async fn register(&self) {
        for body in self.registrations().await {
            self.world.consul.put("/v1/catalog/register", &body).await;
        }
    }

    /// Registers its sidecar proxy again, with these upstreams. The checks stay as health-sync has written them.
    pub async fn register_upstreams(&self, upstreams: &Value) {
        let mut proxies = self.registrations().await;
        proxies.retain(|body| body["Service"]["Kind"] == "connect-proxy");
        for mut body in proxies {
            body["Service"]["Proxy"]["Upstreams"] = upstreams.clone();
            body.as_object_mut().expect("an object").remove("Checks");
            self.world.consul.put("/v1/catalog/register", &body).await;
        }
    }

    /// What `mesh-init` writes: the bodies of the service and of the sidecar proxy.
    pub async fn registrations(&self) -> Vec<Value> {
        let described = self.world.describe(&self.arn).await;
        let details = described["attachments"][0]["details"].as_array().cloned().unwrap_or_default();
        let address = details.iter().find(|detail| detail["name"] == "privateIPv4Address").map(|it| &it["value"]);
        let names = TaskNames {
            cluster: &self.world.cluster(),
            arn: &self.arn,
            id: self.id(),
            service: &self.service,
            address: address.and_then(Value::as_str).unwrap_or("10.0.0.1"),
        };
        self.release.registrations(&names)
    }
}
