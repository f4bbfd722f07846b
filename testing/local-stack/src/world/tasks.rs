//! Task definitions, tasks, and their events.

use mesh::consul_ecs::{
    CONFIG_VARIABLE, MESH_TAG, SERVICE_NAME_TAG,
    names::{DATAPLANE, MESH_INIT},
};
use serde_json::{Value, json};

use super::World;
use crate::aws::{ACCOUNT, REGION};

/// A registered revision of a task definition.
#[derive(Debug, Clone)]
pub struct Definition(pub String);

/// The tags of a mesh task definition for `service`.
pub fn mesh_tags(service: &str) -> Value {
    json!([
        { "key": MESH_TAG, "value": "true" },
        { "key": SERVICE_NAME_TAG, "value": service },
    ])
}

fn service_config(service: &str) -> Value {
    json!({ "service": { "name": service, "port": 9090 } })
}

impl World<'_> {
    /// Creates the world's cluster.
    pub async fn create_cluster(&self) {
        self.aws.create_cluster(self.name).await;
    }

    /// Registers a mesh task definition for `service` that reads the tokens of the service and of the client agents, as
    /// those of consul-ecs 0.2 to 0.4.
    pub async fn mesh_definition(&self, service: &str) -> Definition {
        self.definition_with(service, &[]).await
    }

    /// Registers such a definition with further containers. The health of those with a health check is synced.
    pub async fn definition_with(&self, service: &str, containers: &[Value]) -> Definition {
        let read = [("CONSUL_HTTP_TOKEN", service), ("AGENT_TOKEN", "consul-client-token")];
        let mut config = service_config(service);
        let is_synced = |it: &&Value| it.get("healthCheck").is_some() && it["name"] != DATAPLANE;
        config["healthSyncContainers"] = containers.iter().filter(is_synced).map(|it| it["name"].clone()).collect();
        self.register_definition(service, &mesh_tags(service), Some(&config), &read, containers).await
    }

    /// Registers a mesh task definition for `service` that reads no token: its tasks log in, as those of consul-ecs 0.7
    /// and newer.
    pub async fn dataplane_definition(&self, service: &str) -> Definition {
        self.register_definition(service, &mesh_tags(service), Some(&service_config(service)), &[], &[]).await
    }

    /// Registers a task definition that reads no token.
    pub async fn definition(&self, family: &str, tags: &Value, config: Option<&Value>) -> Definition {
        self.register_definition(family, tags, config, &[], &[]).await
    }

    /// Registers a task definition that reads `secrets`: variables, and names of secrets without their prefix.
    pub async fn definition_reading(
        &self,
        family: &str,
        tags: &Value,
        config: Option<&Value>,
        secrets: &[(&str, &str)],
    ) -> Definition {
        self.register_definition(family, tags, config, secrets, &[]).await
    }

    async fn register_definition(
        &self,
        family: &str,
        tags: &Value,
        config: Option<&Value>,
        secrets: &[(&str, &str)],
        further: &[Value],
    ) -> Definition {
        let secrets = secrets.iter().map(|(variable, name)| {
            let arn = format!("arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{}-{name}", self.prefix);
            json!({ "name": variable, "valueFrom": format!("{arn}:token::") })
        });
        let environment = config.map(|config| json!([{ "name": CONFIG_VARIABLE, "value": config.to_string() }]));
        let mesh_init = json!({
            "name": MESH_INIT, "image": "hashicorp/consul-ecs:0.9.0", "essential": false,
            "command": ["mesh-init"], "environment": environment.unwrap_or_else(|| json!([])),
            "secrets": secrets.collect::<Vec<Value>>(),
        });
        let app = json!({ "name": "app", "image": "example/app:1", "essential": true });
        let containers = [&[mesh_init, app], further].concat();
        let body = json!({
            "family": family, "networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"],
            "cpu": "256", "memory": "512", "tags": tags, "containerDefinitions": containers,
        });
        self.define(&body).await
    }

    /// Registers a task definition with this body.
    pub async fn define(&self, body: &Value) -> Definition {
        let answer = self.ecs_call("RegisterTaskDefinition", body).await;
        Definition(answer["taskDefinition"]["taskDefinitionArn"].as_str().expect("an ARN").to_owned())
    }

    /// Runs a task, and returns its ARN.
    pub async fn run(&self, definition: &Definition) -> String {
        self.run_tagged(definition, &json!([])).await
    }

    /// Runs a task with its own tags, and returns its ARN.
    pub async fn run_tagged(&self, definition: &Definition, tags: &Value) -> String {
        let task = self.run_all(definition, 1, tags).await.remove(0);
        task["taskArn"].as_str().expect("an ARN").to_owned()
    }

    /// Runs so many tasks, at most 10, with these tags of their own, and returns what ECS says of them.
    pub async fn run_all(&self, definition: &Definition, count: usize, tags: &Value) -> Vec<Value> {
        let body = json!({
            "cluster": self.name, "taskDefinition": definition.0, "launchType": "FARGATE", "count": count, "tags": tags,
            "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
        });
        let answer = self.ecs_call("RunTask", &body).await;
        answer["tasks"].as_array().unwrap_or_else(|| panic!("no tasks in {answer}")).clone()
    }

    pub async fn stop(&self, task: &str) {
        self.ecs_call("StopTask", &json!({ "cluster": self.name, "task": task, "reason": "test" })).await;
    }

    /// What ECS says of a task.
    pub async fn describe(&self, task: &str) -> Value {
        let answer = self.ecs_call("DescribeTasks", &json!({ "cluster": self.name, "tasks": [task] })).await;
        answer["tasks"].get(0).unwrap_or_else(|| panic!("ECS does not describe {task}: {answer}")).clone()
    }

    /// The event of the task's current state.
    pub async fn event(&self, task: &str) -> Value {
        let mut detail = self.describe(task).await;
        // Events carry neither tags nor health.
        detail.as_object_mut().unwrap().remove("tags");
        for described in detail["containers"].as_array_mut().into_iter().flatten() {
            described.as_object_mut().unwrap().remove("healthStatus");
        }
        detail.as_object_mut().unwrap().remove("healthStatus");
        envelope(&detail)
    }

    /// The event of another state of the task.
    pub async fn event_as(&self, task: &str, last: &str, desired: &str, version: u64) -> Value {
        let mut event = self.event(task).await;
        event["detail"]["lastStatus"] = json!(last);
        event["detail"]["desiredStatus"] = json!(desired);
        event["detail"]["version"] = json!(version);
        event
    }

    /// Runs a task and delivers the event of its start.
    pub async fn start_task(&self, definition: &Definition) -> String {
        let task = self.run(definition).await;
        self.deliver(&[self.event(&task).await]).await;
        task
    }

    /// Stops a task and delivers the event of its end.
    pub async fn stop_task(&self, task: &str) {
        self.stop(task).await;
        self.deliver(&[self.event(task).await]).await;
    }

    /// Calls an ECS action, for example `RunTask`, while holding `Aws::lock_ecs`, and returns the response.
    pub async fn ecs_call(&self, operation: &str, body: &Value) -> Value {
        let _ecs = self.aws.lock_ecs().await;
        self.aws.call("ecs", &format!("AmazonEC2ContainerServiceV20141113.{operation}"), body).await
    }
}

/// The ID in a task's ARN.
pub fn task_id(arn: &str) -> &str {
    arn.rsplit('/').next().expect("an ARN")
}

/// The event of a task's state change, with this detail.
pub fn envelope(detail: &Value) -> Value {
    let now = jiff::Timestamp::now();
    json!({
        "version": "0",
        "id": "00000000-9d24-4f5b-8f1e-000000000000",
        "detail-type": "ECS Task State Change",
        "source": "aws.ecs",
        "account": ACCOUNT,
        "time": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "region": REGION,
        "resources": [detail["taskArn"]],
        "detail": detail,
    })
}
