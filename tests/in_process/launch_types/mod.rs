//! Tasks of every launch type and network mode, as in the files in `events/`: what their events do, and whether Consul's servers
//! can be such tasks.

mod events;
mod servers;

use serde_json::Value;

/// A sample event.
struct Sample {
    /// The file's name in `events/`.
    file: &'static str,
    /// The launch type of its task.
    launch_type: &'static str,
    /// The URL of a Consul server on port 8500 that runs as this task; `None` if ECS does not describe its address.
    server: Option<&'static str>,
}

const SAMPLES: [Sample; 8] = [
    Sample { file: "task-running.json", launch_type: "FARGATE", server: Some("http://10.0.1.12:8500/") },
    Sample { file: "task-running-ec2.json", launch_type: "EC2", server: Some("http://10.0.1.21:8500/") },
    Sample { file: "task-running-ec2-bridge.json", launch_type: "EC2", server: None },
    Sample { file: "task-running-ec2-host.json", launch_type: "EC2", server: None },
    Sample {
        file: "task-running-managed-instances.json",
        launch_type: "MANAGED_INSTANCES",
        server: Some("http://10.0.1.24:8500/"),
    },
    Sample { file: "task-running-external.json", launch_type: "EXTERNAL", server: None },
    // The first interface, and IPv4 before IPv6
    Sample {
        file: "task-running-several-interfaces.json",
        launch_type: "FARGATE",
        server: Some("http://10.0.1.26:8500/"),
    },
    Sample {
        file: "task-running-ipv6-only.json",
        launch_type: "FARGATE",
        server: Some("http://[2600:1f18:5a2b:3c10::27]:8500/"),
    },
];

impl Sample {
    /// The `detail` of the event.
    fn detail(&self) -> Value {
        let path = format!("{}/events/{}", env!("CARGO_MANIFEST_DIR"), self.file);
        let text = std::fs::read_to_string(path).unwrap();
        let mut event: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(event["detail"]["launchType"], self.launch_type, "{}", self.file);
        event["detail"].take()
    }

    /// The file's name without its extension.
    fn name(&self) -> &'static str {
        self.file.trim_end_matches(".json")
    }
}
