//! A large installation: 10,000 tasks of 100 services, and 50,000 ACL tokens, most of them of living tasks and of other
//! owners.

use serde_json::{Value, json};

pub(super) const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
/// The tasks that ECS lists: those before `RUNNING` run, the others are stopped.
pub(super) const LISTED: usize = 10_000;
pub(super) const RUNNING: usize = 9_000;
/// The tasks that ECS no longer lists, with the numbers after those that it lists.
pub(super) const GONE: usize = 2_000;
pub(super) const SERVICES: usize = 100;
/// Each running task has logged in twice: to register, and in its dataplane.
const LOGINS: usize = 2;
const ALL_TOKENS: usize = 50_000;

/// The ID of a task.
pub(super) fn task_id(number: usize) -> String {
    format!("{number:032x}")
}

/// The ARN of a task.
pub(super) fn task_arn(number: usize) -> String {
    format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{}", task_id(number))
}

/// The number of a task, by its ARN.
pub(super) fn task_number(arn: &str) -> usize {
    usize::from_str_radix(arn.rsplit('/').next().unwrap(), 16).unwrap()
}

/// The service of a task.
pub(super) fn service(task: usize) -> String {
    format!("service-{}", task % SERVICES)
}

/// The task definition of a service.
pub(super) fn definition_arn(service: &str) -> String {
    format!("arn:aws:ecs:us-east-1:123456789012:task-definition/{service}:1")
}

/// The accessor ID of the token of a service.
pub(super) fn service_accessor(service: usize) -> String {
    accessor(1, service)
}

/// The accessor ID of the token for which a stopped task logged in.
pub(super) fn stopped_accessor(task: usize) -> String {
    accessor(2, task)
}

fn accessor(kind: usize, number: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012x}")
}

/// Every token, in the order of Consul's list.
pub(super) fn tokens() -> Vec<Value> {
    let mut tokens: Vec<Value> = (0..SERVICES).map(service_token).collect();
    tokens.extend((RUNNING..LISTED + GONE).map(|task| login_token(&stopped_accessor(task), CLUSTER, task)));
    for login in 0..LOGINS {
        tokens.extend((0..RUNNING).map(|task| login_token(&accessor(3 + login, task), CLUSTER, task)));
    }
    // The tasks of another cluster, and the tokens of other programs.
    let elsewhere = "arn:aws:ecs:us-east-1:123456789012:cluster/staging";
    for number in 0..ALL_TOKENS - tokens.len() {
        let token = match number % 3 {
            0 => login_token(&accessor(9, number), elsewhere, RUNNING + number % (LISTED - RUNNING)),
            1 => token(&accessor(9, number), &format!("Token for service-{number} service\nmade by hand")),
            _ => token(&accessor(9, number), "token created via login: {\"pod\":\"default/web\"}"),
        };
        tokens.push(token);
    }
    // Consul's order is that of the accessor IDs, which are random: those of one kind do not follow each other.
    fastrand::Rng::with_seed(1).shuffle(&mut tokens);
    tokens
}

/// The token of a service, as Consul returns it.
pub(super) fn service_token(number: usize) -> Value {
    let service = format!("service-{number}");
    let place = format!("123456789012/us-east-1/consul-ecs-{service}");
    let description = format!(
        "Token for {service} service\nconsul.hashicorp.com/cluster: {CLUSTER}\necs-mesh-controller/secret: {place}"
    );
    token(&service_accessor(number), &description)
}

fn login_token(accessor: &str, cluster: &str, task: usize) -> Value {
    let meta = json!({
        "component": "consul-dataplane",
        "consul.hashicorp.com/cluster": cluster,
        "consul.hashicorp.com/task-id": task_id(task),
    });
    let mut token = token(accessor, &format!("token created via login: {meta}"));
    token["AuthMethod"] = json!("iam-ecs-service-token");
    token["Local"] = json!(true);
    token
}

fn token(accessor: &str, description: &str) -> Value {
    json!({
        "AccessorID": accessor,
        "SecretID": accessor,
        "Description": description,
        "ServiceIdentities": [{ "ServiceName": "web" }],
        "Local": false,
        "CreateTime": "2026-11-20T11:30:42.123456789Z",
        "Hash": "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY=",
        "CreateIndex": 1_234_567,
        "ModifyIndex": 1_234_567,
    })
}
