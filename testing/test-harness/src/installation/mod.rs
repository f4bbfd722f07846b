//! An installation of any size: tasks of many services, and ACL tokens, most of them of living tasks and of other owners.
//! Stand-ins for ECS, Secrets Manager, SQS and Consul serve it without state.

mod aws;
mod consul;

use serde_json::{Value, json};

pub use aws::RateLimit;

use crate::recorder::Recorder;

/// The cluster of all tasks.
pub const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
/// The most tasks that ECS lists in a page.
pub const PAGE: usize = 100;
/// Each running task has logged in twice: to register, and in its dataplane.
const LOGINS: usize = 2;

/// How much there is of everything. Tasks have numbers: the running ones come first, then the stopped ones, then the gone ones.
#[derive(Debug, Clone, Copy)]
pub struct Installation {
    pub running: usize,
    /// The stopped tasks that ECS still lists.
    pub stopped: usize,
    /// The tasks that ECS no longer lists, and whose login tokens are left.
    pub gone: usize,
    pub services: usize,
    /// The tokens of all owners.
    pub tokens: usize,
}

impl Installation {
    /// An installation in which ECS lists so many tasks, at least 100: of each ten tasks nine run. Next to each hundred of them there are
    /// one service and 500 tokens.
    pub fn of(tasks: usize) -> Self {
        let stopped = tasks / 10;
        Self { running: tasks - stopped, stopped, gone: 2 * stopped, services: tasks / 100, tokens: 5 * tasks }
    }

    /// The number of tasks that ECS lists.
    pub fn listed(&self) -> usize {
        self.running + self.stopped
    }

    /// The number of tasks that have ended, and whose login tokens are left.
    pub fn ended(&self) -> usize {
        self.stopped + self.gone
    }

    /// The number of pages of both lists of tasks together.
    pub fn pages(&self) -> usize {
        [self.running, self.stopped].map(|tasks| tasks.div_ceil(PAGE).max(1)).iter().sum()
    }

    /// The service of a task.
    pub fn service(&self, task: usize) -> String {
        format!("service-{}", task % self.services)
    }

    fn login_token(self, accessor: &str, cluster: &str, task: usize) -> Value {
        let meta = json!({
            "component": "consul-dataplane",
            "consul.hashicorp.com/cluster": cluster,
            "consul.hashicorp.com/task-id": task_id(task),
        });
        let mut token = token(accessor, &format!("token created via login: {meta}"));
        token["AuthMethod"] = json!("iam-ecs-service-token");
        token["ServiceIdentities"] = json!([{ "ServiceName": self.service(task) }]);
        token["Local"] = json!(true);
        token
    }

    /// Every token, in the order of Consul's list.
    fn token_list(&self) -> Vec<Value> {
        let mut tokens: Vec<Value> = (0..self.services).map(service_token).collect();
        let ended = self.running..self.listed() + self.gone;
        tokens.extend(ended.map(|task| self.login_token(&stopped_accessor(task), CLUSTER, task)));
        for login in 0..LOGINS {
            tokens.extend((0..self.running).map(|task| self.login_token(&accessor(3 + login, task), CLUSTER, task)));
        }
        // The tasks of another cluster, and the tokens of other programs.
        let elsewhere = "arn:aws:ecs:us-east-1:123456789012:cluster/staging";
        for number in 0..self.tokens - tokens.len() {
            let token = match number % 3 {
                0 => self.login_token(&accessor(9, number), elsewhere, self.running + number % self.stopped),
                1 => token(&accessor(9, number), &format!("Token for service-{number} service\nmade by hand")),
                _ => token(&accessor(9, number), "token created via login: {\"pod\":\"default/web\"}"),
            };
            tokens.push(token);
        }
        // Consul's order is that of the accessor IDs, which are random: tokens of one kind do not follow each other.
        fastrand::Rng::with_seed(1).shuffle(&mut tokens);
        tokens
    }
}

/// The settings of a function between these stand-ins.
pub fn settings<'a>(consul: &'a Recorder, aws: &'a Recorder) -> Vec<(&'static str, &'a str)> {
    vec![
        ("AWS_ENDPOINT_URL", aws.url.as_str()),
        ("CONSUL_HTTP_ADDR", &consul.url),
        ("CONSUL_HTTP_TOKEN", "own"),
        ("ECS_CLUSTER_ARNS", CLUSTER),
        ("SECRET_NAME_PREFIX", "consul-ecs"),
        ("QUEUE_URL", "http://127.0.0.1:1/queue"),
        ("BOOTSTRAP", "none"),
    ]
}

pub fn task_id(number: usize) -> String {
    format!("{number:032x}")
}

/// The accessor ID of the token for which an ended task logged in.
pub fn stopped_accessor(task: usize) -> String {
    accessor(2, task)
}

pub fn task_arn(number: usize) -> String {
    format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{}", task_id(number))
}

fn task_number(arn: &str) -> usize {
    usize::from_str_radix(arn.rsplit('/').next().unwrap(), 16).unwrap()
}

/// The accessor ID of the token of a service.
fn service_accessor(service: usize) -> String {
    accessor(1, service)
}

fn accessor(kind: usize, number: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012x}")
}

/// The token of a service, as Consul returns it.
fn service_token(number: usize) -> Value {
    let service = format!("service-{number}");
    let place = format!("123456789012/us-east-1/consul-ecs-{service}");
    let description = format!(
        "Token for {service} service\nconsul.hashicorp.com/cluster: {CLUSTER}\necs-mesh-controller/secret: {place}"
    );
    token(&service_accessor(number), &description)
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
