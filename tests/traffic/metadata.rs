//! The metadata of a task, which the container agent serves to the programs in it.
//!
//! Source: <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-response.html>

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::app::Server;

/// The endpoint of one task.
pub(crate) struct Metadata {
    /// The value for `ECS_CONTAINER_METADATA_URI_V4`.
    pub(crate) uri: String,
    task: Arc<Mutex<Value>>,
    _server: Server,
}

impl Metadata {
    pub(crate) async fn serve(cluster: &str, task: &str, family: &str, address: &str, containers: &[&str]) -> Self {
        let container = |name: &&str| {
            json!({
                "Name": name, "Type": "NORMAL", "DesiredStatus": "RUNNING", "KnownStatus": "RUNNING",
                "Networks": [{ "NetworkMode": "awsvpc", "IPv4Addresses": [address] }],
                "Health": { "status": "UNKNOWN" },
            })
        };
        let task = json!({
            "Cluster": cluster, "TaskARN": task, "Family": family, "Revision": "1", "LaunchType": "EC2",
            "DesiredStatus": "RUNNING", "KnownStatus": "RUNNING", "AvailabilityZone": "us-east-1a",
            "Containers": containers.iter().map(container).collect::<Vec<_>>(),
        });
        let task = Arc::new(Mutex::new(task));
        let shared = Arc::clone(&task);
        let server = Server::start(0, move || shared.lock().unwrap().to_string()).await;
        Self { uri: format!("http://{}/v4/task", server.address), task, _server: server }
    }

    /// A container is healthy.
    pub(crate) fn healthy(&self, container: &str) {
        self.change(container, |it| it["Health"]["status"] = json!("HEALTHY"));
    }

    /// A container has stopped.
    pub(crate) fn stopped(&self, container: &str) {
        self.change(container, |it| it["KnownStatus"] = json!("STOPPED"));
    }

    /// ECS wants the task to stop.
    pub(crate) fn told_to_stop(&self) {
        let mut task = self.task.lock().unwrap();
        task["DesiredStatus"] = json!("STOPPED");
        for container in task["Containers"].as_array_mut().expect("containers") {
            container["DesiredStatus"] = json!("STOPPED");
        }
    }

    fn change(&self, name: &str, change: impl Fn(&mut Value)) {
        let mut task = self.task.lock().unwrap();
        let mut containers = task["Containers"].as_array_mut().expect("containers").iter_mut();
        change(containers.find(|container| container["Name"] == name).expect("a container"));
    }
}
