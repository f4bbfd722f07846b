//! Health sync: containers' health in ECS becomes the status of Consul's checks. The local ECS reports no health, so that a
//! recorder changes its answers.

mod rounds;

use std::collections::BTreeMap;

use crate::{
    environment::{Environment, aws},
    time::LONG,
};
use controller::{Deadline, HealthReport};
use local_stack::world::{World, task_id};
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

/// A task whose app has a health check, with critical checks in Consul.
async fn started(world: &World<'_>) -> String {
    let checked = |name: &str| json!({ "name": name, "image": "example/x:1", "healthCheck": { "command": ["true"] } });
    let definition = world.definition_with(&world.service(), &[checked("web"), checked("consul-dataplane")]).await;
    let task = world.run(&definition).await;
    let id = format!("{}-{}", world.service(), task_id(&task));
    let meta = json!({ "task-id": task_id(&task), "task-arn": task, "source": "consul-ecs" });
    for (instance, containers) in
        [(id.clone(), vec!["web", "consul-dataplane"]), (format!("{id}-sidecar-proxy"), vec!["consul-dataplane"])]
    {
        let checks: Vec<Value> = containers
            .iter()
            .map(|container| {
                json!({
                    "CheckID": format!("{instance}-{container}"), "Name": "Consul ECS health check synced",
                    "Type": "consul-ecs-health-check", "Status": "critical", "ServiceID": instance, "Notes": "kept",
                })
            })
            .collect();
        let service =
            json!({ "ID": instance, "Service": instance.replace(&format!("-{}", task_id(&task)), ""), "Meta": meta });
        world.register_raw(&json!({ "Service": service, "Checks": checks })).await;
    }
    task
}

/// An environment whose ECS reports this health of the task's containers.
async fn environment(world: &World<'_>, task: &str, health: &[(&str, &str)]) -> Environment {
    environment_before(world, task, health, |_| Answer::Forward).await
}

/// The same, with another address of Consul.
async fn environment_before(
    world: &World<'_>,
    task: &str,
    health: &[(&str, &str)],
    consul: impl Fn(&RecordedRequest) -> Answer + Send + Sync + 'static,
) -> Environment {
    let described = world.ecs_call("DescribeTasks", &json!({ "cluster": world.name, "tasks": [task] })).await;
    let mut answer = described;
    let health: BTreeMap<&str, &str> = health.iter().copied().collect();
    let containers = answer["tasks"][0]["containers"].as_array_mut().unwrap();
    containers.retain(|container| health.contains_key(container["name"].as_str().unwrap()));
    for container in containers {
        container["healthStatus"] = json!(health[container["name"].as_str().unwrap()]);
    }
    let consul = Recorder::before(&world.consul.address, move |seen, _| consul(seen)).await;
    let aws = aws(move |seen, _| match seen.operation().as_deref() {
        Some("DescribeTasks") => Answer::ok(answer.to_string()),
        _ => Answer::Forward,
    })
    .await;
    Environment::between(world, consul, aws, &[("TOKEN_MODE", "auth-method"), ("BOOTSTRAP", "none")], |edges| edges)
        .await
}

async fn synced(environment: &Environment) -> HealthReport {
    let report = environment.controller.sync_health(None, Deadline::after(LONG)).await;
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    report
}

async fn statuses(world: &World<'_>, task: &str) -> Vec<String> {
    let mut statuses: Vec<String> = world
        .checks_of(task)
        .await
        .iter()
        .map(|check| {
            let id = check["CheckID"].as_str().unwrap().replace(task_id(task), "*");
            format!("{id}: {}", check["Status"].as_str().unwrap())
        })
        .collect();
    statuses.sort();
    statuses
}

#[tokio::test]
async fn checks_follow_container_health() {
    let world = World::without_deployment("health").await;
    let task = started(&world).await;
    let service = world.service();
    let checks = |app: &str, dataplane: &str| {
        [
            format!("{service}-*-consul-dataplane: {dataplane}"),
            format!("{service}-*-sidecar-proxy-consul-dataplane: {dataplane}"),
            format!("{service}-*-web: {app}"),
        ]
    };
    // Healthy: one write for one task
    let healthy = environment(&world, &task, &[("web", "HEALTHY"), ("consul-dataplane", "HEALTHY")]).await;
    assert_eq!(synced(&healthy).await.updated, 3);
    assert_eq!(statuses(&world, &task).await, checks("passing", "passing"));
    assert_eq!(world.checks_of(&task).await[0]["Notes"], "kept");
    let writes =
        |environment: &Environment| environment.consul.lines().iter().filter(|line| line.starts_with("PUT")).count();
    assert_eq!(writes(&healthy), 1, "all checks of a task go in one write");
    // And no write without a change
    assert_eq!(synced(&healthy).await.updated, 0);
    assert_eq!(writes(&healthy), 1);
    // An unhealthy app makes the proxy's checks critical as well
    let unhealthy = environment(&world, &task, &[("web", "UNHEALTHY"), ("consul-dataplane", "HEALTHY")]).await;
    assert_eq!(synced(&unhealthy).await.updated, 3);
    assert_eq!(statuses(&world, &task).await, checks("critical", "critical"));
    // A missing container is critical as well
    let missing = environment(&world, &task, &[("web", "HEALTHY")]).await;
    assert_eq!(synced(&missing).await.updated, 1);
    assert_eq!(statuses(&world, &task).await, checks("passing", "critical"));
}

/// Handles the event that the task was told to stop.
async fn told_to_stop(world: &World<'_>, task: &str) {
    let stopping = world.event_as(task, "RUNNING", "STOPPED", 9).await;
    let report = Environment::start(world, "auth-method").await.handle(&[stopping]).await;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

/// The number of the task's two instances (service and sidecar proxy) that get traffic.
async fn in_traffic(world: &World<'_>) -> usize {
    let (service, proxy) = (world.service(), format!("{}-sidecar-proxy", world.service()));
    world.passing(&service).await.len() + world.passing(&proxy).await.len()
}

#[tokio::test]
async fn a_drain_between_two_reads_is_kept() {
    let world = World::without_deployment("health-drain").await;
    let task = started(&world).await;
    let environment = environment(&world, &task, &[("web", "HEALTHY"), ("consul-dataplane", "HEALTHY")]).await;
    assert_eq!(synced(&environment).await.updated, 3);
    assert_eq!(in_traffic(&world).await, 2);
    // Given a task that was told to stop, and a round in which ECS still reports the earlier state
    told_to_stop(&world, &task).await;
    let drained = world.checks_of(&task).await;
    let report = synced(&environment).await;
    assert_eq!((report.updated, report.removed), (0, 0));
    assert_eq!(world.checks_of(&task).await, drained);
    assert_eq!(in_traffic(&world).await, 0);
}

#[tokio::test]
async fn a_late_health_sync_keeps_a_drain() {
    let world = World::without_deployment("health-late").await;
    let task = started(&world).await;
    // Given a round that sets the checks to passing, and whose write is delayed
    let healthy = [("web", "HEALTHY"), ("consul-dataplane", "HEALTHY")];
    let is_write = |seen: &RecordedRequest| seen.line().starts_with("PUT /v1/catalog/register");
    let hold_back = move |seen: &RecordedRequest| if is_write(seen) { Answer::ok("true") } else { Answer::Forward };
    let slow = environment_before(&world, &task, &healthy, hold_back).await;
    assert_eq!(synced(&slow).await.updated, 3);
    let write = slow.consul.requests().into_iter().find(is_write).unwrap();
    // When the task is told to stop before the write arrives
    told_to_stop(&world, &task).await;
    world.consul.put(&write.uri, &write.json()).await;
    // Then the containers' checks pass, and the task still gets no traffic
    let checks = world.checks_of(&task).await;
    let of_containers = checks.iter().filter(|check| check["Type"] == "consul-ecs-health-check");
    assert_eq!(of_containers.filter(|check| check["Status"] == "passing").count(), 3, "{checks:?}");
    assert_eq!(in_traffic(&world).await, 0);
}

#[tokio::test]
async fn orphaned_checks_are_deregistered() {
    let world = World::without_deployment("health-orphan").await;
    let task = started(&world).await;
    let id = format!("{}-{}", world.service(), task_id(&task));
    let orphan = json!({ "CheckID": format!("{id}-old"), "Name": "x", "Type": "consul-ecs-health-check", "Status": "critical", "ServiceID": id });
    let by_hand = json!({ "CheckID": "by-hand", "Name": "x", "Type": "http", "Status": "passing", "ServiceID": id });
    world.register_raw(&json!({ "Checks": [orphan, by_hand] })).await;
    let environment = environment(&world, &task, &[("web", "HEALTHY"), ("consul-dataplane", "HEALTHY")]).await;
    assert_eq!(synced(&environment).await.removed, 1);
    let left: Vec<String> = statuses(&world, &task).await;
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(left.iter().any(|check| check.starts_with("by-hand")) && !left.iter().any(|check| check.contains("-old")));
}

/// A task whose configuration is `config`, with the checks of two containers; its name is in its tags.
async fn started_as(world: &World<'_>, config: &Value) -> String {
    let tags = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/service-name", "value": world.service() },
    ]);
    let definition = world.definition(&world.service(), &tags, Some(config)).await;
    let task = world.run(&definition).await;
    world.register_instance(&world.service(), &task).await;
    task
}

#[tokio::test]
async fn an_unreadable_configuration_changes_nothing() {
    let world = World::without_deployment("health-broken").await;
    let task = started_as(&world, &json!({ "healthSyncContainers": "app" })).await;
    let before = world.checks_of(&task).await;
    let environment = environment(&world, &task, &[("app", "UNHEALTHY")]).await;
    let report = synced(&environment).await;
    assert_eq!((report.updated, report.removed), (0, 0), "without a configuration, orphaned checks are unknown");
    assert_eq!(world.checks_of(&task).await, before);
}

#[tokio::test]
async fn a_null_counts_as_absent() {
    let world = World::without_deployment("health-null").await;
    let config = json!({ "service": { "port": 80, "checks": null }, "healthSyncContainers": null });
    let task = started_as(&world, &config).await;
    let environment = environment(&world, &task, &[("app", "HEALTHY")]).await;
    // The app has no health check in ECS, so that its check in Consul is orphaned
    assert_eq!(synced(&environment).await.removed, 1);
}

#[tokio::test]
async fn a_round_costs_four_reads() {
    let world = World::without_deployment("health-cost").await;
    let task = started(&world).await;
    let environment = environment(&world, &task, &[("web", "UNKNOWN"), ("consul-dataplane", "HEALTHY")]).await;
    synced(&environment).await;
    environment.aws.forget();
    environment.consul.forget();
    synced(&environment).await;
    assert_eq!(environment.aws.operations(), ["DescribeTasks", "ListTasks"]);
    let mut lines: Vec<String> = environment.consul.lines();
    lines.sort();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("GET /v1/catalog/node-services/") && lines[1].starts_with("GET /v1/health/node/"));
}
