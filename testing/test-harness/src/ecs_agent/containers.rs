//! What the container agent reports to ECS of the containers of a task.

use serde_json::{Value, json};

use super::{
    DATAPLANE, Release, SYNCED,
    service::{LOG_PREFIX, log_group},
    task::DataplaneTask,
};

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

    /// ECS counts it, but neither lists nor describes it, as in an incomplete answer; or does so again.
    pub async fn set_hidden(&self, is_hidden: bool) {
        self.submit("SubmitTaskStateChange", &json!({ "isHidden": is_hidden })).await;
    }

    /// The log driver of a container writes these lines.
    pub async fn write_log(&self, container: &str, lines: &[&str]) {
        let described = self.world().describe(&self.arn).await;
        let definition = described["taskDefinitionArn"].as_str().and_then(|arn| arn.rsplit('/').next());
        let (family, _) = definition.and_then(|name| name.split_once(':')).expect("a revision");
        let stream = format!("{LOG_PREFIX}/{container}/{}", self.id());
        self.world().aws.write_log(&log_group(family), &stream, lines).await;
    }

    /// Whether ECS was told to stop it.
    pub async fn is_told_to_stop(&self) -> bool {
        self.world().describe(&self.arn).await["desiredStatus"] == "STOPPED"
    }

    /// `health-sync` writes the health that ECS reports. A container that does not run is unhealthy.
    pub async fn sync_health(&self) {
        let described = self.world().describe(&self.arn).await;
        let containers = described["containers"].as_array().expect("containers");
        let is_healthy = |name: &str| {
            let mut running = containers.iter().filter(|container| container["lastStatus"] == "RUNNING");
            running.any(|container| container["name"] == name && container["healthStatus"] == "HEALTHY")
        };
        let are_all_healthy = SYNCED.into_iter().chain([DATAPLANE]).all(is_healthy);
        for check in self.check_ids() {
            let passes = match SYNCED.into_iter().find(|name| check.ends_with(&format!("-{name}"))) {
                Some(name) => is_healthy(name),
                None if self.release == Release::V0_8 => is_healthy(DATAPLANE),
                None => are_all_healthy,
            };
            self.write_status(&check, if passes { "passing" } else { "critical" }).await;
        }
    }

    async fn submit_container(&self, change: &Value) {
        self.submit("SubmitContainerStateChange", change).await;
    }

    async fn submit(&self, operation: &str, change: &Value) {
        let mut body = change.clone();
        body["cluster"] = json!(self.world().name);
        body["task"] = json!(self.arn);
        self.world().ecs_call(operation, &body).await;
    }
}
