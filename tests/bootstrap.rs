//! Setting Consul up: exact requests, merging, concurrent controllers, and real logins; and the preflight.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[path = "bootstrap/concurrency.rs"]
mod concurrency;
#[path = "bootstrap/enterprise.rs"]
mod enterprise;
#[path = "bootstrap/fake.rs"]
mod fake;
#[path = "bootstrap/logins.rs"]
mod logins;
#[path = "bootstrap/merging.rs"]
mod merging;
#[path = "bootstrap/preflight.rs"]
mod preflight;
mod recorder;
#[path = "bootstrap/requests.rs"]
mod requests;
mod stack;

use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use ecs_mesh_controller::{
    controller::{BootstrapReport, Controller, Deadline, settings::Settings},
    wiring,
};
use recorder::Recorder;
use serde_json::Value;

const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";

/// The policy that the controller's own token needs.
const POLICY: &str = r#"
    acl      = "write"
    operator = "write"
    agent_prefix ""     { policy = "read" }
    node_prefix ""      { policy = "read" }
    node_prefix "arn:"  { policy = "write" }
    service_prefix ""   { policy = "write" }
"#;

/// A controller in auth-method mode, unless `changes` says otherwise. It has nothing to do with AWS here.
async fn controller(consul: &str, token: &str, changes: &[(&str, &str)]) -> Controller {
    let settings = Settings::read(|name| {
        if let Some((_, value)) = changes.iter().find(|(key, _)| *key == name) {
            return Some((*value).to_owned());
        }
        let value = match name {
            "CONSUL_HTTP_ADDR" => consul,
            "CONSUL_HTTP_TOKEN" => token,
            "ECS_CLUSTER_ARNS" => CLUSTER,
            "QUEUE_URL" => "http://127.0.0.1:1/queue",
            "TOKEN_MODE" => "auth-method",
            _ => return None,
        };
        Some(value.to_owned())
    })
    .expect("settings");
    let aws = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let edges = wiring::connect(&settings, &aws).await.expect("edges");
    Controller::new(settings.scope, edges)
}

async fn bootstrap(controller: &Controller) -> BootstrapReport {
    controller.bootstrap(Deadline::after(Duration::from_secs(60))).await
}

/// What was asked of Consul, but for the proof that the controller's own token is good.
fn lines(consul: &Recorder) -> Vec<String> {
    consul.lines().into_iter().filter(|line| !line.contains("/acl/token/self")).collect()
}

/// What was written: method and path, and the body.
fn writes(consul: &Recorder) -> Vec<(String, Value)> {
    let written = consul.seen().into_iter().filter(|seen| seen.method != "GET");
    written.map(|seen| (seen.line(), seen.json())).collect()
}

fn errors(report: &BootstrapReport) -> Vec<String> {
    report.failures.iter().map(|failure| failure.error.to_string()).collect()
}
