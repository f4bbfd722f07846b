//! Task definitions of the dataplane generation, and their tasks.

use local_stack::{
    aws::REGION,
    world::{Definition, World, mesh_tags},
};
use serde_json::{Value, json};

use super::{DATAPLANE, HEALTH_SYNC, MESH_INIT, SYNCED, recording::Release, task::DataplaneTask};

/// A service of a world, with what its task definition says.
#[derive(Debug, Clone)]
pub struct DataplaneService {
    /// The release of consul-ecs.
    pub release: Release,
    /// Its name in Consul.
    pub name: String,
    /// `CONSUL_ECS_CONFIG_JSON`: the recorded one, of this service.
    pub config: Value,
    /// Its IAM role.
    pub task_role: Option<String>,
    pub network_mode: &'static str,
    /// The tags of the task definition.
    pub tags: Value,
}

/// The prefix of the names of log streams.
pub(super) const LOG_PREFIX: &str = "ecs";

/// The log group of a service's tasks.
pub(super) fn log_group(service: &str) -> String {
    format!("/ecs/{service}")
}

/// The volume that the containers of consul-ecs share.
const DATA: &str = "consul_data";

/// Where tasks run. On Fargate consul-ecs registers a locality, which Consul 1.8 refuses.
const LAUNCH_TYPE: &str = "EC2";

impl DataplaneService {
    /// The world's service, as recorded.
    pub fn of(world: &World<'_>, release: Release) -> Self {
        Self::named(&world.service(), release)
    }

    /// Another service, as recorded.
    pub fn named(name: &str, release: Release) -> Self {
        let (config, tags) = (release.config(name), mesh_tags(name));
        Self { release, name: name.to_owned(), config, task_role: None, network_mode: "awsvpc", tags }
    }

    /// Adds a tag to the task definition.
    #[must_use]
    pub fn tagged(mut self, key: &str, value: &str) -> Self {
        self.tags.as_array_mut().expect("tags").push(json!({ "key": key, "value": value }));
        self
    }

    /// The containers, as HashiCorp's modules define them.
    fn containers(&self) -> Vec<Value> {
        let consul_ecs = format!("public.ecr.aws/hashicorp/consul-ecs:{}", self.release.tag());
        let config = json!([{ "name": "CONSUL_ECS_CONFIG_JSON", "value": self.config.to_string() }]);
        let shared = |is_read_only: bool| json!([{ "sourceVolume": DATA, "containerPath": "/consul", "readOnly": is_read_only }]);
        let after = |name: &str, condition: &str| json!([{ "containerName": name, "condition": condition }]);
        let mesh_init = json!({
            "name": MESH_INIT, "image": consul_ecs, "essential": false, "command": ["mesh-init"], "environment": config,
            "mountPoints": shared(false),
        });
        let health_sync = json!({
            "name": HEALTH_SYNC, "image": consul_ecs, "essential": false, "command": ["health-sync"], "environment": config,
            "mountPoints": shared(true), "dependsOn": after(MESH_INIT, "SUCCESS"),
        });
        let dataplane = json!({
            "name": DATAPLANE, "essential": false, "mountPoints": shared(true), "dependsOn": after(MESH_INIT, "SUCCESS"),
            "image": format!("public.ecr.aws/hashicorp/consul-dataplane:{}", self.release.dataplane()),
            "entryPoint": ["/consul/consul-ecs", "envoy-entrypoint"],
            "command": ["consul-dataplane", "-config-file", "/consul/consul-dataplane.json"],
            "healthCheck": { "command": ["/consul/consul-ecs", "net-dial", "127.0.0.1:22000"] },
            "ulimits": [{ "name": "nofile", "softLimit": 1_048_576, "hardLimit": 1_048_576 }],
        });
        let app = |name: &str| {
            json!({
                "name": name, "image": "example/app:1", "essential": name == "app", "dependsOn": after(DATAPLANE, "HEALTHY"),
                "healthCheck": { "command": ["CMD", "/app", "check"] },
            })
        };
        [mesh_init, health_sync, dataplane].into_iter().chain(SYNCED.map(app)).collect()
    }

    /// Registers the task definition.
    pub async fn define(&self, world: &World<'_>) -> Definition {
        let mut containers = self.containers();
        let options = json!({
            "awslogs-group": log_group(&self.name), "awslogs-region": REGION, "awslogs-stream-prefix": LOG_PREFIX,
        });
        for container in &mut containers {
            container["logConfiguration"] = json!({ "logDriver": "awslogs", "options": options });
        }
        let mut body = json!({
            "family": self.name, "networkMode": self.network_mode, "requiresCompatibilities": [LAUNCH_TYPE],
            "cpu": "256", "memory": "512", "tags": self.tags, "volumes": [{ "name": DATA }],
            "containerDefinitions": containers,
        });
        if let Some(role) = &self.task_role {
            body["taskRoleArn"] = json!(role);
        }
        world.define(&body).await
    }

    /// Runs a task, of which the agent has reported nothing yet.
    pub async fn run<'a>(&self, world: &'a World<'a>) -> DataplaneTask<'a> {
        self.run_tagged(world, &json!([])).await
    }

    /// Runs a task with its own tags.
    pub async fn run_tagged<'a>(&self, world: &'a World<'a>, tags: &Value) -> DataplaneTask<'a> {
        let mut body = self.placed(world).await;
        body["tags"] = tags.clone();
        let answer = world.ecs_call("RunTask", &body).await;
        let arn = answer["tasks"][0]["taskArn"].as_str().unwrap_or_else(|| panic!("no task in {answer}"));
        DataplaneTask::new(world, self.release, &self.name, arn)
    }

    /// Creates an ECS service with these tags, which starts one task.
    pub async fn run_by_ecs_service<'a>(&self, world: &'a World<'a>, tags: &Value) -> DataplaneTask<'a> {
        self.create_ecs_service(world, 1, tags).await.pop().expect("a task of the service")
    }

    /// Creates an ECS service with these tags, which starts so many tasks.
    pub async fn create_ecs_service<'a>(
        &self,
        world: &'a World<'a>,
        desired: usize,
        tags: &Value,
    ) -> Vec<DataplaneTask<'a>> {
        let mut body = self.placed(world).await;
        body["serviceName"] = json!(self.name);
        body["desiredCount"] = json!(desired);
        body["tags"] = tags.clone();
        world.ecs_call("CreateService", &body).await;
        let of_service = json!({ "cluster": world.name, "serviceName": self.name });
        let answer = world.ecs_call("ListTasks", &of_service).await;
        let arns = answer["taskArns"].as_array().expect("the service's tasks").iter();
        arns.map(|arn| DataplaneTask::new(world, self.release, &self.name, arn.as_str().expect("an ARN"))).collect()
    }

    async fn placed(&self, world: &World<'_>) -> Value {
        json!({
            "cluster": world.name, "taskDefinition": self.define(world).await.0, "launchType": LAUNCH_TYPE,
            "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
        })
    }
}

impl<'a> DataplaneTask<'a> {
    /// A task that is registered and healthy, in ECS and in Consul.
    pub async fn start(world: &'a World<'a>, release: Release) -> Self {
        let task = DataplaneService::of(world, release).run(world).await;
        task.settle().await;
        task
    }
}
