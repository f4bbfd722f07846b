//! What Consul has forgotten is registered again, as `mesh-init` did, with the health that ECS reports.

use local_stack::{
    aws::{ACCOUNT, REGION},
    wait::{SOON, eventually},
    world::{World, cluster_arn},
};
use serde_json::{Value, json};
use test_harness::ecs_agent::{DataplaneTask, Release, SYNCED, catalog, deregister, node_checks};

use super::{
    assert_settled, log_lines, one_of_each_release, services_of, statuses_with_failing_app, swept_after, world,
};

#[tokio::test]
async fn a_node_that_was_deregistered_comes_back_with_its_tasks() {
    let world = world("node-gone").await;
    // Given a healthy task of each release
    let tasks = one_of_each_release(&world).await;
    let before = catalog(&world).await;
    // When the cluster's node is deregistered, with everything on it, and a sweep runs
    let swept = swept_after(&world, async || {
        deregister(&world, &json!({})).await;
        assert_eq!(world.service_ids().await, [""; 0]);
    })
    .await;
    // Then it is as it was, with the true health, before any health-sync writes
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(3), &json!(0)), "{swept}");
    assert_eq!(catalog(&world).await, before);
    // And no health-sync has anything to add
    for (task, mut health_sync) in tasks {
        assert_eq!(health_sync.tick().await.1, 0, "refused");
        assert_eq!(task.statuses().await, task.all_checks("passing"));
    }
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_service_that_was_deregistered_comes_back_alone() {
    let world = world("service-gone").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let (_other, _its_health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let before = catalog(&world).await;
    for id in [task.instance(), task.sidecar()] {
        // When one of its two services is deregistered
        let swept = swept_after(&world, async || deregister(&world, &json!({ "ServiceID": id })).await).await;
        assert_eq!(swept["repaired"], 1, "{swept}");
        assert_eq!(catalog(&world).await, before, "{id}");
    }
    // Then the log tells each repair, and why
    for line in log_lines(&task, "repair").await {
        assert_eq!((&line["outcome"], &line["cluster_arn"]), (&json!("done"), &json!(cluster_arn("service-gone"))));
        assert_eq!(line["service"], world.service());
        assert!(line["in_ecs"].as_str().unwrap().contains("consul-dataplane HEALTHY"), "{line}");
        assert!(line["in_consul"].as_str().unwrap().contains(task.id()), "{line}");
        assert!(line["reason"].as_str().unwrap().contains("forgotten"), "{line}");
    }
}

#[tokio::test]
async fn a_check_that_was_deleted_comes_back() {
    let world = world("check-gone").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_9).await;
    let before = catalog(&world).await;
    for id in task.check_ids() {
        // When one check is deleted, an instance that had failed would count as healthy
        let swept = swept_after(&world, async || deregister(&world, &json!({ "CheckID": id })).await).await;
        assert_eq!(swept["repaired"], 1, "{swept}");
        assert_eq!(catalog(&world).await, before, "{id}");
    }
    assert_settled(&world).await;
}

#[tokio::test]
async fn everything_that_was_deleted_at_once_comes_back() {
    let world = world("all-gone").await;
    let mut tasks = one_of_each_release(&world).await;
    tasks.extend(one_of_each_release(&world).await);
    // Given that one task has stopped, and its event was handled
    let (stopped, _) = tasks.pop().unwrap();
    world.stop(&stopped.arn).await;
    world.swept().await;
    let before = catalog(&world).await;
    // When every check and every service is deleted one by one
    let swept = swept_after(&world, async || {
        for check in node_checks(&world).await {
            deregister(&world, &json!({ "CheckID": check["CheckID"] })).await;
        }
        for id in world.service_ids().await {
            deregister(&world, &json!({ "ServiceID": id })).await;
        }
    })
    .await;
    // Then all come back but those of the stopped task
    assert_eq!(swept["repaired"], tasks.len(), "{swept}");
    assert_eq!(catalog(&world).await, before);
    assert_eq!(world.service_ids().await, services_of(tasks.iter().map(|(task, _)| task)));
}

#[tokio::test]
async fn what_is_registered_again_has_the_health_of_ecs() {
    let world = world("gone-unhealthy").await;
    let tasks = one_of_each_release(&world).await;
    // Given a container that fails since Consul has forgotten the tasks
    deregister(&world, &json!({})).await;
    for (task, _) in &tasks {
        task.report_health(SYNCED[0], "UNHEALTHY").await;
    }
    world.swept().await;
    for ((task, mut health_sync), release) in tasks.into_iter().zip(Release::ALL) {
        // Then its check is critical, and that of the dataplane where the release says so
        let expected = statuses_with_failing_app(&task, release);
        assert_eq!(task.statuses().await, expected, "{release:?}");
        // And health-sync agrees
        health_sync.tick().await;
        assert_eq!(task.statuses().await, expected, "{release:?}");
        // And when the container recovers, health-sync writes it
        task.report_all_healthy().await;
        health_sync.tick().await;
        assert_eq!(task.statuses().await, task.all_checks("passing"), "{release:?}");
    }
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_repair_leaves_what_others_have_on_the_node() {
    let world = world("kept-marks").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    // Given another owner's service on the node, and another owner's check of the task's service
    world.register_raw(&json!({ "Service": { "ID": "by-hand", "Service": "by-hand", "Port": 1 } })).await;
    let by_hand = json!({
        "CheckID": format!("{}-by-hand", task.instance()), "Name": "by hand", "Status": "critical",
        "ServiceID": task.instance(),
    });
    world.register_raw(&json!({ "Checks": [by_hand] })).await;
    let before = catalog(&world).await;
    // When the sidecar proxy is forgotten
    let swept = swept_after(&world, async || deregister(&world, &json!({ "ServiceID": task.sidecar() })).await).await;
    assert_eq!(swept["repaired"], 1, "{swept}");
    assert_eq!(catalog(&world).await, before);
    assert_settled(&world).await;
}

/// A queue that gets the controller's events about the world's cluster.
async fn announced(world: &World<'_>) -> String {
    let queue = world.aws.sqs().create_queue().queue_name(format!("{}-announced", world.name)).send().await;
    let url = queue.expect("CreateQueue").queue_url.expect("a URL");
    let arn = format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{}-announced", world.name);
    let pattern = json!({ "source": ["ecs-mesh-controller"], "detail": { "clusterArn": [world.cluster()] } });
    let rule = json!({ "Name": world.name, "EventPattern": pattern.to_string() });
    world.aws.call("events", "AWSEvents.PutRule", &rule).await;
    let targets = json!({ "Rule": world.name, "Targets": [{ "Id": "queue", "Arn": arn }] });
    world.aws.call("events", "AWSEvents.PutTargets", &targets).await;
    url
}

#[tokio::test]
async fn repairs_and_corrections_are_announced_to_programs() {
    let world = world("announced").await;
    let queue = announced(&world).await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let (wrong, _its_health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    swept_after(&world, async || {
        task.forget().await;
        wrong.write_status(&wrong.check_ids()[0], "critical").await;
    })
    .await;
    // Then there are events for both tasks
    let is_about = |event: &Value, task: &DataplaneTask<'_>| event["detail"]["taskId"] == task.id();
    let events = eventually("events about both tasks", SOON, || async {
        let messages = world.aws.messages(&queue).await;
        let body = |message: &Value| serde_json::from_str::<Value>(message["Body"].as_str().unwrap()).unwrap();
        let events: Vec<Value> = messages.iter().map(body).collect();
        let is_announced = |task: &DataplaneTask<'_>| events.iter().any(|event| is_about(event, task));
        if is_announced(&task) && is_announced(&wrong) { Ok(events) } else { Err(format!("{events:?}")) }
    })
    .await;
    for (kind, task) in [("ECS Mesh Task Repaired", &task), ("ECS Mesh Health Corrected", &wrong)] {
        for event in events.iter().filter(|event| is_about(event, task)) {
            assert_eq!((&event["detail-type"], &event["detail"]["service"]), (&json!(kind), &json!(world.service())));
        }
    }
}
