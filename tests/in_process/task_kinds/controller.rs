//! The controller in this process between the recorded ECS and a real Consul, in which the task is registered: its event, then a sweep.

use std::sync::Arc;

use observe::{Deadline, SweepOrder};
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use super::{Recorded, by_arn, now};
use crate::{
    ec2_client::described,
    environment::{self, Environment, at},
    time::{Fixed, LONG, without_pauses},
};
use local_stack::world::World;

/// The host of the tasks that have one. EC2 says that it runs.
const HOST: &str = "i-0123456789abcdef0";

/// The event of a task. Its detail is what `DescribeTasks` prints, without health (<https://github.com/aws/containers-roadmap/issues/1515>)
/// and with another name for network interfaces (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html>).
fn event(task: &Value) -> Value {
    let mut detail = task.clone();
    detail.as_object_mut().unwrap().remove("healthStatus");
    for container in detail["containers"].as_array_mut().unwrap() {
        container.as_object_mut().unwrap().remove("healthStatus");
    }
    for attachment in detail["attachments"].as_array_mut().unwrap() {
        attachment["type"] = json!("eni");
    }
    json!({
        "version": "0", "id": "3317b2af-7005-947d-b652-f55e762e571a", "source": "aws.ecs",
        "detail-type": "ECS Task State Change", "account": "123456789012", "region": "us-east-1",
        "time": now().to_string(), "resources": [task["taskArn"]], "detail": detail,
    })
}

impl Recorded {
    /// The same in the cluster with this ARN.
    fn in_cluster(&self, cluster: &str) -> Self {
        let (account, name) = cluster.split_once(":cluster/").unwrap();
        let moved = |value: &Value| -> Value {
            let mut text = value.to_string().replace("arn:aws:ecs:us-east-1:123456789012", account);
            for kind in ["cluster", "task", "container", "container-instance", "service"] {
                text = text.replace(&format!(":{kind}/prod"), &format!(":{kind}/{name}"));
            }
            serde_json::from_str(&text).unwrap()
        };
        Self {
            tasks: self.tasks.iter().map(moved).collect(),
            service: self.service.as_ref().map(moved),
            definitions: self.definitions.values().map(|definition| by_arn(moved(definition))).collect(),
            ..self.clone()
        }
    }

    /// AWS's answer to the controller.
    fn answer_controller(&self, request: &RecordedRequest) -> Answer {
        match request.operation().as_deref() {
            Some("DescribeContainerInstances") => {
                let instance = json!({
                    "containerInstanceArn": self.tasks[0]["containerInstanceArn"],
                    "ec2InstanceId": HOST, "agentConnected": false,
                });
                Answer::ok(json!({ "containerInstances": [instance], "failures": [] }).to_string())
            }
            Some("DescribeInstances") => Answer::ok(described(&[(HOST, "running")])),
            Some("ListTasks" | "DescribeTasks" | "ListServices" | "DescribeServices" | "DescribeTaskDefinition") => {
                self.answer(request)
            }
            _ => Answer::Forward,
        }
    }
}

/// The controller between the recorded ECS and Consul.
async fn started(world: &World<'_>, recorded: &Recorded, settings: &[(&'static str, &'static str)]) -> Environment {
    let answers = recorded.clone();
    let aws = environment::aws(move |request, _| answers.answer_controller(request)).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    Environment::between(world, consul, aws, settings, |edges| at(Arc::new(Fixed(now())), edges)).await
}

/// What the controller does for a task: after its event, and what a sweep then says of it.
pub(super) async fn controls(cluster: String, recorded: &Recorded, task: usize) -> String {
    let world = World::without_deployment(cluster.leak()).await;
    let recorded = recorded.in_cluster(&world.cluster());
    let arn = recorded.tasks[task]["taskArn"].as_str().unwrap().to_owned();
    world.register_instance("orders", &arn).await;
    // At a start, it looks for the node of the cluster, unless it creates nothing.
    let of_events = started(&world, &recorded, &[("TOKEN_MODE", "auth-method")]).await;
    let (asked, of_consul) = of_events.calls_for(&[event(&recorded.tasks[task])]).await;
    let checks = world.checks_of(&arn).await;
    let done = match (asked.is_empty(), of_consul.is_empty()) {
        (true, true) => "ignores it",
        (false, true) => "outside of the mesh",
        _ if checks.is_empty() => "deregisters it",
        _ if checks.iter().any(|check| check["Status"] == "critical") => "drains it",
        _ => "keeps it",
    };
    let of_sweeps = started(&world, &recorded, &[("TOKEN_MODE", "auth-method"), ("BOOTSTRAP", "none")]).await;
    let report = without_pauses(of_sweeps.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await;
    let id = arn.rsplit('/').next().unwrap();
    let mut said = report.clusters.iter().flat_map(|cluster| &cluster.skipped).filter(|it| it.what.contains(id));
    said.next().map_or_else(|| done.to_owned(), |skipped| format!("{done}; {}", skipped.why))
}
