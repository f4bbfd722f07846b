//! Tokens, services and secrets of other owners that are similar to the controller's.

use serde_json::{Value, json};

use super::Fleet;
use local_stack::world::{cluster_arn, task_id};

/// What was created, and its state after its creation.
pub(super) struct Foreign {
    accessors: Vec<String>,
    secrets: [String; 2],
    before: Vec<Value>,
}

const SERVICES: [&str; 2] = ["by-hand", "by-hand-too"];

impl Fleet<'_> {
    /// Creates tokens, services, a node and secrets of other owners.
    pub async fn create_foreign(&mut self) {
        let (world, task) = (&self.world, &self.tasks[0]);
        let (name, service, id) = (world.name, &task.service, task_id(&task.arn));
        let other_account = world.cluster().replace("000000000000", "999999999999");
        let mut accessors = Vec::new();
        for description in [
            format!("made by hand for {service}"),
            format!("Token for {service} service\nconsul.hashicorp.com/cluster: {name}-elsewhere"),
            format!("Token for {service} service\nconsul.hashicorp.com/cluster: {other_account}"),
            format!("token created via login: not JSON {id} {name}"),
        ] {
            let body = json!({ "Description": description, "ServiceIdentities": [{ "ServiceName": service }] });
            let made = world.consul.put("/v1/acl/token", &body).await;
            accessors.push(made["AccessorID"].as_str().unwrap().to_owned());
        }
        // A task with the same ID in another cluster
        let login = self.method.log_in_task(service, &cluster_arn("another-owners"), id).await;
        accessors.push(login.accessor_id);
        for service in SERVICES {
            let meta = if service == "by-hand" { json!({}) } else { json!({ "task-id": format!("{id}0") }) };
            let service = json!({ "ID": service, "Service": service, "Port": 1, "Meta": meta });
            world.register_raw(&json!({ "Service": service })).await;
        }
        // A service with a task's mark, on a node without an agent
        let elsewhere = json!({
            "Node": format!("{name}-foreign"), "Address": "10.1.2.3",
            "Service": { "ID": "old", "Service": "old", "Meta": { "task-id": id } },
        });
        world.consul.put("/v1/catalog/register", &elsewhere).await;
        let secrets = [format!("{name}-by-hand"), format!("another-owners-{name}")];
        for secret in &secrets {
            world.put_secret(secret, &json!({ "username": "root", "password": "of another owner" })).await;
        }
        let mut foreign = Foreign { accessors, secrets, before: Vec::new() };
        foreign.before = self.read_foreign(&foreign).await;
        self.foreign = Some(foreign);
    }

    /// What has changed since its creation.
    pub(crate) async fn foreign_changes(&self) -> Vec<String> {
        let Some(foreign) = &self.foreign else { return Vec::new() };
        let now = self.read_foreign(foreign).await;
        let pairs = foreign.before.iter().zip(&now);
        pairs.filter(|(before, now)| before != now).map(|(before, now)| format!("{before} became {now}")).collect()
    }

    async fn read_foreign(&self, foreign: &Foreign) -> Vec<Value> {
        let consul = self.world.consul;
        let mut seen = Vec::new();
        for accessor in &foreign.accessors {
            let path = format!("/v1/acl/token/{accessor}");
            let answer = consul.call(reqwest::Method::GET, &path, &consul.management_token, None).await;
            seen.push(answer.body);
        }
        seen.push(consul.get(&format!("/v1/catalog/node/{}-foreign", self.world.name)).await);
        let node = self.world.node_services().await;
        let services = node["Services"].as_array().cloned().unwrap_or_default();
        for name in SERVICES {
            seen.push(services.iter().find(|service| service["ID"] == name).cloned().unwrap_or_default());
        }
        for secret in &foreign.secrets {
            let call = self.world.aws.secrets().get_secret_value().secret_id(secret).send().await;
            let value = call.expect("the foreign secret");
            seen.push(json!([value.name, value.version_id, value.secret_string]));
        }
        seen
    }
}
