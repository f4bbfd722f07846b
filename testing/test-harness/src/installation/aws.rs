//! A stand-in for ECS, Secrets Manager and SQS.

use std::{sync::Mutex, time::Instant};

use jiff::{SignedDuration, Timestamp};
use local_stack::world::mesh_tags;
use serde_json::{Value, json};

use super::{CLUSTER, Installation, PAGE, service_accessor, task_arn, task_number};
use crate::recorder::{Answer, Recorder};

const CONTAINERS: [&str; 4] = ["app", "consul-dataplane", "consul-ecs-mesh-init", "consul-ecs-health-sync"];

/// What ECS does with too many calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimit {
    /// It answers all.
    None,
    /// It throttles `ListTasks` and `DescribeTasks`, which have one bucket for an account and a Region, as it documents:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/request-throttling.html>.
    Documented,
}

/// The calls that a full bucket allows, and those that are added each second.
const BUCKET: f64 = 100.0;
const REFILL: f64 = 20.0;

/// The calls that are allowed at a time.
struct Bucket(Mutex<(f64, Instant)>);

impl Bucket {
    fn full() -> Self {
        Self(Mutex::new((BUCKET, Instant::now())))
    }

    /// Takes one call out of the bucket, if it is not empty.
    fn take(&self) -> bool {
        let mut bucket = self.0.lock().unwrap();
        let (left, at) = *bucket;
        let now = Instant::now();
        let left = (left + (now - at).as_secs_f64() * REFILL).min(BUCKET);
        let is_allowed = left >= 1.0;
        *bucket = (if is_allowed { left - 1.0 } else { left }, now);
        is_allowed
    }
}

impl Installation {
    /// Starts the stand-in for AWS.
    pub async fn aws(self, limit: RateLimit) -> Recorder {
        let stopped_at = (Timestamp::now() - SignedDuration::from_hours(1)).as_second();
        let bucket = Bucket::full();
        Recorder::start(move |seen, _| {
            let operation = seen.operation().unwrap_or_default();
            let is_limited = limit == RateLimit::Documented && ["ListTasks", "DescribeTasks"].contains(&&*operation);
            if is_limited && !bucket.take() {
                return refused("ThrottlingException", "Rate exceeded");
            }
            let body = seen.json();
            let answer = match operation.as_str() {
                "DescribeClusters" => {
                    let counts =
                        json!({ "clusterArn": CLUSTER, "status": "ACTIVE", "runningTasksCount": self.running });
                    json!({ "clusters": [counts], "failures": [] })
                }
                "ListTasks" => self.page(&body),
                "DescribeTasks" => self.described(&body, stopped_at),
                "DescribeTaskDefinition" => definition(body["taskDefinition"].as_str().unwrap()),
                "GetSecretValue" => secret(body["SecretId"].as_str().unwrap()),
                "SendMessageBatch" => sent(&body),
                "ListServices" => self.service_page(&body),
                "DescribeServices" => self.ecs_services(&body),
                "PutEvents" => put(&body),
                "DescribeStacks" => return without_stack(),
                other => return refused("AccessDeniedException", &format!("not expected: {other}")),
            };
            Answer::ok(answer.to_string())
        })
        .await
    }

    fn page(self, body: &Value) -> Value {
        let (first, end) =
            if body["desiredStatus"] == "STOPPED" { (self.running, self.listed()) } else { (0, self.running) };
        let first = body["nextToken"].as_str().map_or(first, |next| next.parse().unwrap());
        let next = first + PAGE;
        let tasks: Vec<String> = (first..next.min(end)).map(task_arn).collect();
        json!({ "taskArns": tasks, "nextToken": (next < end).then(|| next.to_string()) })
    }

    fn described(self, body: &Value, stopped_at: i64) -> Value {
        let asked = body["tasks"].as_array().unwrap().iter().map(|arn| arn.as_str().unwrap());
        let (known, unknown): (Vec<&str>, Vec<&str>) = asked.partition(|arn| task_number(arn) < self.listed());
        let tasks: Vec<Value> = known.into_iter().map(|arn| self.task(task_number(arn), stopped_at)).collect();
        let failures: Vec<Value> = unknown.iter().map(|arn| json!({ "arn": arn, "reason": "MISSING" })).collect();
        json!({ "tasks": tasks, "failures": failures })
    }

    fn service_page(self, body: &Value) -> Value {
        let first = body["nextToken"].as_str().map_or(0, |next| next.parse().unwrap());
        let next = first + PAGE;
        let arn = |number| format!("arn:aws:ecs:us-east-1:123456789012:service/prod/{}", self.service(number));
        let services: Vec<String> = (first..next.min(self.services)).map(arn).collect();
        json!({ "serviceArns": services, "nextToken": (next < self.services).then(|| next.to_string()) })
    }

    /// ECS services without tags, by name or ARN.
    fn ecs_services(self, body: &Value) -> Value {
        let asked = body["services"].as_array().unwrap().iter();
        let number = |name: &str| name.rsplit('-').next().unwrap().parse::<usize>().unwrap();
        let running = |name: &str| (self.running + self.services - 1 - number(name)) / self.services;
        let service = |name: &Value| {
            let name = name.as_str().unwrap().rsplit('/').next().unwrap();
            json!({
                "serviceName": name,
                "clusterArn": CLUSTER,
                "status": "ACTIVE",
                "desiredCount": running(name),
                "taskDefinition": format!("arn:aws:ecs:us-east-1:123456789012:task-definition/{name}:1"),
            })
        };
        json!({ "services": asked.map(service).collect::<Vec<Value>>(), "failures": [] })
    }

    /// A task as ECS describes it, with the containers of a task of consul-ecs.
    pub fn task(self, number: usize, stopped_at: i64) -> Value {
        let status = if number < self.running { "RUNNING" } else { "STOPPED" };
        let (arn, service) = (task_arn(number), self.service(number));
        let container = |name: &str| {
            // It has registered the task.
            let has_ended = name == "consul-ecs-mesh-init";
            json!({
                "containerArn": format!("{}/{name}", arn.replace(":task/", ":container/")),
                "taskArn": arn,
                "name": name,
                "image": "public.ecr.aws/hashicorp/consul-dataplane:1.5.0",
                "imageDigest": format!("sha256:{}", "0".repeat(64)),
                "runtimeId": format!("{number:032x}-1234567890"),
                "lastStatus": if has_ended { "STOPPED" } else { status },
                "exitCode": has_ended.then_some(0),
                "networkBindings": [],
                "networkInterfaces": [{ "attachmentId": "1f0a5a34", "privateIpv4Address": "10.0.1.12" }],
                "healthStatus": "HEALTHY",
                "cpu": "256",
                "memory": "512",
            })
        };
        let mut task = json!({
            "taskArn": arn,
            "clusterArn": CLUSTER,
            "taskDefinitionArn": format!("arn:aws:ecs:us-east-1:123456789012:task-definition/{service}:1"),
            "containers": CONTAINERS.map(container),
            "desiredStatus": status,
            "lastStatus": status,
            "launchType": "FARGATE",
            "availabilityZone": "us-east-1a",
            "connectivity": "CONNECTED",
            "group": format!("service:{service}"),
            "tags": mesh_tags(&service),
            "version": 5,
        });
        if number >= self.running {
            task["stoppedAt"] = json!(stopped_at);
        }
        task
    }
}

/// CloudFormation's answer about a stack that does not exist.
fn without_stack() -> Answer {
    let error = "<Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id x does not exist</Message>";
    Answer::status(400, format!("<ErrorResponse><Error>{error}</Error><RequestId>r</RequestId></ErrorResponse>"))
}

fn refused(kind: &str, message: &str) -> Answer {
    Answer::status(400, json!({ "__type": kind, "message": message }).to_string())
}

/// A task definition that reads the token of its service.
fn definition(arn: &str) -> Value {
    let service = arn.rsplit('/').next().unwrap().trim_end_matches(":1");
    let secret = format!("arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ecs-{service}:token::");
    let config = json!({
        "service": { "name": service, "port": 9090 }, "proxy": {}, "healthSyncContainers": ["app"],
    });
    let containers = CONTAINERS.map(|name| match name {
        "consul-ecs-mesh-init" => json!({
            "name": name,
            "image": "hashicorp/consul-ecs:0.9.0",
            "environment": [{ "name": "CONSUL_ECS_CONFIG_JSON", "value": config.to_string() }],
            "secrets": [{ "name": "CONSUL_HTTP_TOKEN", "valueFrom": secret }],
        }),
        name => json!({ "name": name }),
    });
    let definition = json!({ "taskDefinitionArn": arn, "family": service, "containerDefinitions": containers });
    json!({ "taskDefinition": definition, "tags": mesh_tags(service) })
}

/// The secret of a service, with its token.
fn secret(name: &str) -> Value {
    let number: usize = name.rsplit('-').next().unwrap().parse().unwrap();
    let accessor = service_accessor(number);
    let value = json!({ "accessor_id": accessor, "token": accessor, "nonce": "00000000-0000-4000-8000-000000000000" });
    json!({
        "Name": name,
        "SecretString": value.to_string(),
        "VersionId": "00000000-0000-4000-8000-000000000001",
        "CreatedDate": Timestamp::now().as_second(),
    })
}

fn put(body: &Value) -> Value {
    let put = body["Entries"].as_array().unwrap().iter().map(|_| json!({ "EventId": "e" }));
    json!({ "FailedEntryCount": 0, "Entries": put.collect::<Vec<Value>>() })
}

fn sent(body: &Value) -> Value {
    let ids = body["Entries"].as_array().unwrap().iter().map(|entry| &entry["Id"]);
    let sent: Vec<Value> = ids
        .map(|id| json!({ "Id": id, "MessageId": "m", "MD5OfMessageBody": "d41d8cd98f00b204e9800998ecf8427e" }))
        .collect();
    json!({ "Successful": sent, "Failed": [] })
}
