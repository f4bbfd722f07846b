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

    /// The agent reports that ECS has killed a container.
    pub async fn report_killed(&self, container: &str, reason: &str) {
        let change = json!({ "containerName": container, "status": "STOPPED", "exitCode": 137, "reason": reason });
        self.submit_container(&change).await;
    }

    /// ECS cannot start it, and its service starts another one, which is PENDING: that one.
    pub async fn fail_to_start(&self, reason: &str) -> Self {
        self.submit_task(&json!({ "status": "STOPPED", "reason": reason })).await;
        let of_service = json!({ "cluster": self.world().name, "serviceName": self.service });
        let others = self.world().ecs_call("ListTasks", &of_service).await;
        let other = others["taskArns"][0].as_str().unwrap_or_else(|| panic!("no other task: {others}"));
        let other = Self::new(self.world(), self.release, &self.service, other);
        other.submit_task(&json!({ "status": "PENDING" })).await;
        other
    }

    /// Its containers start, if it is PENDING.
    pub async fn start_containers(&self) {
        self.submit_task(&json!({ "status": "RUNNING" })).await;
    }

    /// Its container instance is this instance of EC2.
    pub async fn run_on(&self, instance: &str) {
        let described = self.world().describe(&self.arn).await;
        let document = json!({ "instanceId": instance }).to_string();
        let host = json!({
            "cluster": self.world().name, "containerInstanceArn": described["containerInstanceArn"],
            "instanceIdentityDocument": document,
        });
        self.world().ecs_call("RegisterContainerInstance", &host).await;
    }

    /// ECS has lost contact with the agent.
    pub async fn lose_contact(&self) {
        self.submit_task(&json!({ "connectivity": "DISCONNECTED" })).await;
    }

    /// ECS has created it at this time.
    pub async fn set_created(&self, at: jiff::Timestamp) {
        self.submit_task(&json!({ "createdAt": at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() })).await;
    }

    /// Its network interface has this address.
    pub async fn set_address(&self, address: &str) {
        self.submit_task(&json!({ "address": address })).await;
    }

    /// ECS wants it to stop, and its containers run still.
    pub async fn tell_to_stop(&self) {
        self.submit_task(&json!({ "desiredStatus": "STOPPED" })).await;
    }

    /// ECS counts it, but neither lists nor describes it, as in an incomplete answer; or does so again.
    pub async fn set_hidden(&self, is_hidden: bool) {
        self.submit_task(&json!({ "isHidden": is_hidden })).await;
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
