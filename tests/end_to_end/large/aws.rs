//! A stand-in for ECS, Secrets Manager and SQS.

use jiff::{SignedDuration, Timestamp};
use local_stack::world::mesh_tags;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use super::installation::{
    CLUSTER, LISTED, RUNNING, SERVICES, definition_arn, service, service_accessor, task_arn, task_number,
};

/// ECS lists up to 100 tasks in a page, and may list fewer.
pub(super) const PAGE: usize = 50;
/// The number of pages of both lists together.
pub(super) const PAGES: usize = LISTED / PAGE;

const CONTAINERS: [&str; 4] = ["app", "consul-dataplane", "consul-ecs-mesh-init", "consul-ecs-health-sync"];

/// The tasks that ECS lists, by their numbers: those before `running` run, the others before `listed` are stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tasks {
    pub(super) running: usize,
    pub(super) listed: usize,
}

/// Those of the large installation.
pub(super) const ALL: Tasks = Tasks { running: RUNNING, listed: LISTED };

/// Starts the stand-in.
pub(super) async fn start(tasks: Tasks) -> Recorder {
    let stopped_at = (Timestamp::now() - SignedDuration::from_hours(1)).as_second();
    Recorder::start(move |seen, _| {
        let body = seen.json();
        let answer = match seen.operation().as_deref() {
            Some("DescribeClusters") => {
                let counts = json!({ "clusterArn": CLUSTER, "status": "ACTIVE", "runningTasksCount": tasks.running });
                json!({ "clusters": [counts], "failures": [] })
            }
            Some("ListTasks") => page(&body, tasks),
            Some("DescribeTasks") => described(&body, tasks, stopped_at),
            Some("DescribeTaskDefinition") => definition(body["taskDefinition"].as_str().unwrap()),
            Some("GetSecretValue") => secret(body["SecretId"].as_str().unwrap()),
            Some("SendMessageBatch") => sent(&body),
            Some("DescribeServices") => services(&body),
            Some("PutEvents") => put(&body),
            _ => return refused(seen),
        };
        Answer::ok(answer.to_string())
    })
    .await
}

fn refused(seen: &RecordedRequest) -> Answer {
    let message = format!("not expected: {:?}", seen.operation());
    Answer::status(400, json!({ "__type": "AccessDeniedException", "message": message }).to_string())
}

fn page(body: &Value, Tasks { running, listed }: Tasks) -> Value {
    let (first, end) = if body["desiredStatus"] == "RUNNING" { (0, running) } else { (running, listed) };
    let first = body["nextToken"].as_str().map_or(first, |next| next.parse().unwrap());
    let next = first + PAGE;
    let tasks: Vec<String> = (first..next.min(end)).map(task_arn).collect();
    json!({ "taskArns": tasks, "nextToken": (next < end).then(|| next.to_string()) })
}

fn described(body: &Value, tasks: Tasks, stopped_at: i64) -> Value {
    let asked = body["tasks"].as_array().unwrap().iter().map(|arn| arn.as_str().unwrap());
    let (known, unknown): (Vec<&str>, Vec<&str>) = asked.partition(|arn| task_number(arn) < tasks.listed);
    let tasks: Vec<Value> = known.into_iter().map(|arn| task(task_number(arn), stopped_at)).collect();
    let failures: Vec<Value> = unknown.iter().map(|arn| json!({ "arn": arn, "reason": "MISSING" })).collect();
    json!({ "tasks": tasks, "failures": failures })
}

/// A task as ECS describes it, with the containers of a task of consul-ecs.
pub(super) fn task(number: usize, stopped_at: i64) -> Value {
    let status = if number < RUNNING { "RUNNING" } else { "STOPPED" };
    let arn = task_arn(number);
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
        "taskDefinitionArn": definition_arn(&service(number)),
        "containers": CONTAINERS.map(container),
        "desiredStatus": status,
        "lastStatus": status,
        "launchType": "FARGATE",
        "availabilityZone": "us-east-1a",
        "connectivity": "CONNECTED",
        "group": format!("service:{}", service(number)),
        "tags": mesh_tags(&service(number)),
        "version": 5,
    });
    if number >= RUNNING {
        task["stoppedAt"] = json!(stopped_at);
    }
    task
}

/// A task definition that reads the token of its service.
fn definition(arn: &str) -> Value {
    let service = arn.rsplit('/').next().unwrap().trim_end_matches(":1");
    let secret = format!("arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ecs-{service}:token::");
    let config = json!({
        "service": { "name": service, "port": 9090 }, "proxy": {}, "healthSyncContainers": ["app"],
    });
    let container = json!({
        "name": "consul-ecs-mesh-init",
        "image": "hashicorp/consul-ecs:0.9.0",
        "environment": [{ "name": "CONSUL_ECS_CONFIG_JSON", "value": config.to_string() }],
        "secrets": [{ "name": "CONSUL_HTTP_TOKEN", "valueFrom": secret }],
    });
    let definition = json!({ "taskDefinitionArn": arn, "family": service, "containerDefinitions": [container] });
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

/// ECS services without tags.
fn services(body: &Value) -> Value {
    let asked = body["services"].as_array().unwrap().iter();
    let service = |name: &Value| json!({ "serviceName": name, "desiredCount": LISTED / SERVICES });
    json!({ "services": asked.map(service).collect::<Vec<Value>>(), "failures": [] })
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
