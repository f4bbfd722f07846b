//! The bootstrap of Consul (exact requests, merging, concurrent controllers, logins), the preflight, and the check
//! of an installation.

mod checked;
mod concurrency;
mod logins;
mod preflight;
mod recorded;
mod repeated;
mod requests;
mod translated;

use controller::{BootstrapReport, Controller, settings::Settings};
use observe::Deadline;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, Recorder};

use crate::{
    environment::{edges_without_time_limits, sdk_at},
    time::{LONG, without_pauses},
};

const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";

/// The accessor ID of the anonymous token.
const ANONYMOUS: &str = "00000000-0000-0000-0000-000000000002";

/// The policy of the controller's token.
const POLICY: &str = r#"
    acl      = "write"
    operator = "write"
    agent_prefix ""     { policy = "read" }
    node_prefix ""      { policy = "read" }
    node_prefix "arn:"  { policy = "write" }
    service_prefix ""   { policy = "write" }
"#;

/// A controller in auth-method mode, with changed settings. All its clusters exist.
pub(crate) async fn controller(consul: &str, token: &str, changes: &[(&str, &str)]) -> Controller {
    let ecs = ecs(|_| "ACTIVE").await;
    controller_beside(&ecs.url, consul, token, changes).await
}

/// An ECS with clusters by their ARN and status; a cluster without a status is unknown.
async fn ecs(status: impl Fn(&str) -> &'static str + Send + Sync + 'static) -> Recorder {
    Recorder::start(move |seen, _| {
        if seen.operation().as_deref() != Some("DescribeClusters") {
            return Answer::ok(json!({ "taskArns": [] }).to_string());
        }
        let asked = seen.json()["clusters"].as_array().cloned().unwrap_or_default();
        let statuses = asked.iter().map(|arn| json!({ "clusterArn": arn, "status": status(arn.as_str().unwrap()) }));
        let (clusters, missing): (Vec<Value>, Vec<Value>) = statuses.partition(|cluster| cluster["status"] != "");
        let missing = missing.iter().map(|cluster| json!({ "arn": cluster["clusterArn"], "reason": "MISSING" }));
        let missing: Vec<Value> = missing.collect();
        Answer::ok(json!({ "clusters": clusters, "failures": missing }).to_string())
    })
    .await
}

/// A controller with its AWS endpoint at `aws`.
async fn controller_beside(aws: &str, consul: &str, token: &str, changes: &[(&str, &str)]) -> Controller {
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
            "BOOTSTRAP" => "full",
            _ => return None,
        };
        Some(value.to_owned())
    })
    .expect("settings");
    let edges = edges_without_time_limits(&settings, token, &sdk_at(aws)).await;
    Controller::new(settings.scope, edges)
}

pub(crate) async fn bootstrap(controller: &Controller) -> BootstrapReport {
    without_pauses(controller.bootstrap(Deadline::after(LONG))).await
}

/// The requests to Consul, except the check of the controller's token.
fn lines(consul: &Recorder) -> Vec<String> {
    consul.lines().into_iter().filter(|line| !line.contains("/acl/token/self")).collect()
}

/// The writes: method and path, and body.
fn writes(consul: &Recorder) -> Vec<(String, Value)> {
    let written = consul.requests().into_iter().filter(|seen| seen.method != "GET");
    written.map(|seen| (seen.line(), seen.json())).collect()
}

fn errors(report: &BootstrapReport) -> Vec<String> {
    report.failures.iter().map(|failure| failure.error.to_string()).collect()
}
