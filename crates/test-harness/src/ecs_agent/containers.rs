//! What the container agent reports to ECS of the containers of a task.

use serde_json::{Value, json};

use super::{DATAPLANE, SYNCED, memory::Health, task::DataplaneTask};

impl DataplaneTask<'_> {
    /// The agent reports the health of a container.
    pub async fn report_health(&self, container: &str, health: &str) {
        self.submit_container(&json!({ "containerName": container, "healthStatus": health })).await;
    }

    /// The agent reports that the containers with a health check are healthy.
    pub async fn report_all_healthy(&self) {
        for container in SYNCED.into_iter().chain([DATAPLANE]) {
            self.report_health(container, "HEALTHY").await;
        }
    }

    /// The agent reports that a container has stopped. ECS keeps its last health.
    pub async fn report_stopped(&self, container: &str, exit_code: i32) {
        let change = json!({ "containerName": container, "status": "STOPPED", "exitCode": exit_code });
        self.submit_container(&change).await;
    }

    /// ECS is told to stop the task, and its containers still run.
    pub async fn tell_to_stop(&self) {
        self.submit_task(&json!({ "desiredStatus": "STOPPED" })).await;
    }

    /// Whether ECS was told to stop it.
    pub async fn is_told_to_stop(&self) -> bool {
        self.describe().await["desiredStatus"] == "STOPPED"
    }

    /// The health of its containers in ECS. The agent's metadata has none of a container that does not run.
    pub async fn health(&self) -> Health {
        let described = self.describe().await;
        let containers = described["containers"].as_array().expect("containers").iter();
        let running = containers.filter(|container| container["lastStatus"] == "RUNNING");
        let text = |container: &Value, field: &str| container[field].as_str().expect("a text").to_owned();
        running.map(|container| (text(container, "name"), text(container, "healthStatus"))).collect()
    }

    /// Whether a container has stopped.
    pub async fn has_stopped(&self, container: &str) -> bool {
        let described = self.describe().await;
        let mut containers = described["containers"].as_array().expect("containers").iter();
        containers.any(|it| it["name"] == container && it["lastStatus"] == "STOPPED")
    }

    async fn submit_container(&self, change: &Value) {
        self.submit("SubmitContainerStateChange", change).await;
    }

    async fn submit_task(&self, change: &Value) {
        self.submit("SubmitTaskStateChange", change).await;
    }

    async fn submit(&self, operation: &str, change: &Value) {
        let mut body = change.clone();
        body["cluster"] = json!(self.world().name);
        body["task"] = json!(self.arn);
        self.world().ecs_call(operation, &body).await;
    }
}
