//! Tasks of kinds and statuses that this version does not know, in the clusters and answers of tasks of the mesh.

use aws::ecs::{AwsEcs, EcsError, Tasks};
use local_stack::world::{World, cluster_arn, task_id};
use mesh::task::{DescribedTask, TaskPhase};
use observe::SweepOrder;
use report::SweepOutcome;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use super::{an_hour_later, environment, forward, is_hidden, swept};
use crate::environment::{Environment, sdk_at};

fn arn(cluster: &str, number: u8) -> String {
    format!("{}/{number:032x}", cluster_arn(cluster).replace(":cluster/", ":task/"))
}

/// A task of ECS Managed Daemons, which runs in a cluster.
fn daemon(cluster: &str) -> Value {
    let account = cluster_arn(cluster).replace(&format!(":cluster/{cluster}"), "");
    json!({
        "taskArn": arn(cluster, 0xd),
        "clusterArn": cluster_arn(cluster),
        "taskDefinitionArn": format!("{account}:daemon-task-definition/agent:3"),
        "lastStatus": "RUNNING",
        "desiredStatus": "RUNNING",
        "launchType": "OF_NEXT_YEAR",
        "createdAt": 1_700_000_000,
        "containers": [{ "name": "agent", "lastStatus": "RUNNING", "healthStatus": "OF_NEXT_YEAR" }],
    })
}

/// ECS with a daemon in a cluster.
fn with_daemon(cluster: &'static str) -> impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static {
    move |seen, _| {
        let (body, daemon) = (seen.json(), daemon(cluster));
        let change: fn(&mut Value, Value) = match seen.operation().as_deref() {
            Some("ListTasks") if body["desiredStatus"] == "RUNNING" => |answer, daemon| {
                answer["taskArns"].as_array_mut().unwrap().push(daemon["taskArn"].clone());
            },
            Some("DescribeTasks") if body["tasks"].as_array().unwrap().contains(&daemon["taskArn"]) => {
                |answer, daemon| {
                    answer["failures"].as_array_mut().unwrap().retain(|failure| failure["arn"] != daemon["taskArn"]);
                    answer["tasks"].as_array_mut().unwrap().push(daemon);
                }
            }
            _ => return Answer::Forward,
        };
        let translate = move |text: String| {
            let mut answer: Value = serde_json::from_str(&text).unwrap();
            change(&mut answer, daemon);
            answer.to_string()
        };
        Answer::ForwardAs(seen.body.clone(), Box::new(translate))
    }
}

#[tokio::test]
async fn cluster_with_a_daemon_is_swept_and_its_idle_tokens_are_hidden() {
    // Given a task that has stopped unseen, and a daemon that runs in its cluster
    let world = World::without_deployment("daemons").await;
    world.create_node().await;
    let service = world.service();
    let task = world.run(&world.mesh_definition(&service).await).await;
    let starting = environment(&world, forward, with_daemon("daemons"), &[], |edges| edges).await;
    assert!(starting.handle(&[world.event(&task).await]).await.failures.is_empty());
    world.register_instance(&service, &task).await;
    world.stop(&task).await;
    // When its cluster is swept
    let later = environment(&world, forward, with_daemon("daemons"), &[], an_hour_later).await;
    let report = swept(&later, &SweepOrder::default()).await;
    // Then nothing is wrong, what the task has left is removed, and the token of its service is on its way out
    assert_eq!(
        (report.outcome, &report.problems, &report.faults),
        (SweepOutcome::Done, &vec![], &vec![]),
        "{report:?}"
    );
    assert!(world.service_ids().await.is_empty());
    assert!(is_hidden(&world, &service).await);
}

#[tokio::test]
async fn events_of_daemons_and_of_other_clusters_are_acknowledged_even_if_malformed() {
    let world = World::without_deployment("daemon-events").await;
    world.create_node().await;
    let service = world.service();
    let task = world.run(&world.mesh_definition(&service).await).await;
    world.register_instance(&service, &task).await;
    world.stop(&task).await;
    let stopped = world.event(&task).await;
    let with = |changes: &Value| {
        let mut event = stopped.clone();
        event["detail"].as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        event
    };
    let elsewhere = cluster_arn("elsewhere");
    let of_daemon = daemon("daemon-events");
    let events = [
        with(&of_daemon),
        with(&json!({ "taskDefinitionArn": null, "version": "x", "taskArn": 7 })),
        with(&json!({ "clusterArn": elsewhere, "taskArn": 7, "taskDefinitionArn": 7, "lastStatus": 7 })),
        with(&json!({ "taskArn": arn("daemon-events", 2), "lastStatus": "HIBERNATING" })),
        with(&json!({ "taskArn": arn("daemon-events", 3), "desiredStatus": "MAYBE" })),
        stopped.clone(),
    ];
    let environment = environment(&world, forward, forward, &[], |edges| edges).await;
    let report = environment.handle(&events).await;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert!(
        world.service_ids().await.is_empty(),
        "the stopped task, whose event is in the same batch, has left something"
    );
}

#[tokio::test]
async fn task_with_an_unknown_status_keeps_its_entries_and_its_token() {
    // Given a task that ECS shows in a status of next year
    let world = World::without_deployment("hibernating").await;
    world.create_node().await;
    let service = world.service();
    let task = world.run(&world.mesh_definition(&service).await).await;
    let starting = environment(&world, forward, forward, &[], |edges| edges).await;
    assert!(starting.handle(&[world.event(&task).await]).await.failures.is_empty());
    world.register_instance(&service, &task).await;
    let hibernating = |seen: &RecordedRequest, _| match seen.operation().as_deref() {
        Some("DescribeTasks") => Answer::ForwardAs(
            seen.body.clone(),
            Box::new(|text| {
                text.replace(r#""lastStatus": "RUNNING""#, r#""lastStatus": "HIBERNATING""#)
                    .replace(r#""lastStatus":"RUNNING""#, r#""lastStatus":"HIBERNATING""#)
            }),
        ),
        _ => Answer::Forward,
    };
    // When it is swept
    let later = environment(&world, forward, hibernating, &[], an_hour_later).await;
    let report = swept(&later, &SweepOrder::default()).await;
    // Then its service is in use, and nothing of it is drained or removed
    assert_eq!(
        (report.outcome, &report.problems, &report.faults),
        (SweepOutcome::Done, &vec![], &vec![]),
        "{report:?}"
    );
    assert_eq!(report.clusters[0].found["livingTasks"], 1);
    assert!(world.service_ids().await.iter().any(|id| id.contains(task_id(&task))));
    assert!(world.checks_of(&task).await.iter().all(|check| check["Status"] == "passing"));
    assert!(!is_hidden(&world, &service).await);
}

/// The paths of all values in a task.
fn paths(value: &Value, at: &str, all: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        let path = format!("{at}/{name}");
        paths(child, &path, all);
        all.push(path);
    }
}

/// The changes of a field: it is gone, it has a value of next year, or it has another type.
fn changed(task: &Value, path: &str) -> [Value; 3] {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let mut gone = task.clone();
    match gone.pointer_mut(parent).unwrap() {
        Value::Object(fields) => drop(fields.remove(name)),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        other => panic!("{other}"),
    }
    let with = |value: Value| {
        let mut other = task.clone();
        *other.pointer_mut(path).unwrap() = value;
        other
    };
    let old = task.pointer(path).unwrap();
    let of_next_year = match old {
        Value::String(_) => json!("OF_NEXT_YEAR"),
        Value::Number(_) => json!(77),
        Value::Bool(value) => json!(!value),
        Value::Array(_) => json!([]),
        _ => json!({ "of-next-year": [] }),
    };
    [gone, with(of_next_year), with(if old.is_string() { json!({}) } else { json!("of another type") })]
}

async fn described(tasks: &[Value]) -> Result<Vec<DescribedTask>, EcsError> {
    let answer = json!({ "tasks": tasks, "failures": [] }).to_string();
    let ecs = Recorder::start(move |_, _| Answer::ok(answer.clone())).await;
    let asked = [arn("prod", 1).parse().unwrap(), arn("prod", 2).parse().unwrap()];
    AwsEcs::new(&sdk_at(&ecs.url)).describe_tasks(&cluster_arn("prod").parse().unwrap(), &asked).await
}

/// ECS's own words of a task, in its protocol.
fn task(number: u8) -> Value {
    let account = cluster_arn("prod").replace(":cluster/prod", "");
    json!({
        "taskArn": arn("prod", number),
        "clusterArn": cluster_arn("prod"),
        "taskDefinitionArn": format!("{account}:task-definition/web:7"),
        "lastStatus": "RUNNING",
        "desiredStatus": "RUNNING",
        "connectivity": "CONNECTED",
        "launchType": "FARGATE",
        "capacityProviderName": "FARGATE",
        "availabilityZone": "us-east-1a",
        "group": "service:web",
        "version": 5,
        "createdAt": 1_700_000_000,
        "startedAt": 1_700_000_030,
        "pullStartedAt": 1_700_000_010,
        "stopCode": "UserInitiated",
        "stoppedReason": "because",
        "tags": [{ "key": "consul.hashicorp.com/mesh", "value": "true" }],
        "attachments": [{
            "id": "1", "type": "ElasticNetworkInterface", "status": "ATTACHED",
            "details": [{ "name": "privateIPv4Address", "value": "10.0.0.7" }],
        }],
        "containers": [{
            "name": "app", "lastStatus": "RUNNING", "healthStatus": "HEALTHY", "exitCode": 0,
            "networkInterfaces": [{ "privateIpv4Address": "10.0.0.7" }],
        }],
        "overrides": { "taskRoleArn": "r", "containerOverrides": [{ "name": "app", "command": ["x"] }] },
    })
}

#[tokio::test]
async fn any_field_of_a_described_task_concerns_this_task_alone() {
    let neighbour = described(&[task(1), task(2)]).await.unwrap().remove(1);
    let mut all = Vec::new();
    paths(&task(1), "", &mut all);
    assert!(all.len() > 40, "{all:?}");
    for path in all {
        for (how, other) in ["gone", "of next year", "of another type"].into_iter().zip(changed(&task(1), &path)) {
            let what = format!("{path} is {how}: {other}");
            match described(&[other, task(2)]).await {
                Ok(tasks) => {
                    assert!(tasks.contains(&neighbour), "{what}: {tasks:?}");
                    let own = tasks.iter().find(|task| task.arn.as_str() == arn("prod", 1));
                    let own = own.unwrap_or_else(|| panic!("not described, and no error: {what}"));
                    assert!(own.phase.is_living(), "{what}: {own:?}");
                    let is_status = ["/lastStatus", "/desiredStatus"].contains(&path.as_str());
                    assert_eq!(own.phase == TaskPhase::Unknown, is_status, "{what}");
                    assert_eq!(own.definition.is_none(), path == "/taskDefinitionArn", "{what}");
                }
                // Without its name, nothing is said of a task. AWS's SDK reads no answer with a field of another type.
                Err(error) => assert!(path == "/taskArn" || how == "of another type", "{what}: {error}"),
            }
        }
    }
}

#[tokio::test]
async fn event_with_any_field_changed_harms_no_other_event_of_its_batch() {
    let world = World::without_deployment("changed-events").await;
    let definition = world.definition("changed-events-app", &json!([]), None).await;
    let (task, neighbour) = (world.run(&definition).await, world.run(&definition).await);
    let (event, neighbour) = (world.event(&task).await, world.event(&neighbour).await);
    let environment = Environment::start(&world, "auto").await;
    let mut all = Vec::new();
    paths(&event["detail"], "/detail", &mut all);
    assert!(all.len() > 20, "{all:?}");
    for path in all {
        for other in changed(&event, &path) {
            let report = environment.handle(&[other.clone(), neighbour.clone()]).await;
            let failed: Vec<&str> = report.failures.iter().map(|failure| failure.id.as_str()).collect();
            assert!(failed.is_empty() || failed == ["0"], "{path}: {:?}: {other}", report.failures);
        }
    }
}
