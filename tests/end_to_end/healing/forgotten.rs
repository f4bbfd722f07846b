//! The sweep registers again what Consul has forgotten, as `mesh-init` did, with the health that ECS reports.

use std::collections::BTreeMap;

use local_stack::world::cluster_arn;
use serde_json::json;
use test_harness::ecs_agent::{DataplaneTask, Release, SYNCED, catalog, deregister};

use super::{assert_settled, log_lines, one_of_each_release, services_of, swept_after, world};

/// The statuses of the checks of a task whose first synced container fails; those of the dataplane follow it since 0.9.
fn statuses_with_failing_app(task: &DataplaneTask<'_>, release: Release) -> BTreeMap<String, String> {
    let mut statuses = task.all_checks(if release == Release::V0_8 { "passing" } else { "critical" });
    for (container, status) in SYNCED.into_iter().zip(["critical", "passing"]) {
        statuses.insert(format!("{}-{container}", task.instance()), status.to_owned());
    }
    statuses
}

#[tokio::test]
async fn a_node_that_was_deregistered_comes_back_with_its_tasks() {
    let world = world("node-gone").await;
    // Given a healthy task of each release, and one that has stopped
    let tasks = one_of_each_release(&world).await;
    let stopped = DataplaneTask::start(&world, Release::V0_10).await;
    world.stop(&stopped.arn).await;
    world.swept().await;
    let before = catalog(&world).await;
    // When the cluster's node is deregistered, with everything on it, and a sweep runs
    let swept = swept_after(&world, async || {
        deregister(&world, &json!({})).await;
        assert_eq!(world.service_ids().await, [""; 0]);
    })
    .await;
    // Then the running tasks are as they were, with the true health
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(3), &json!(0)), "{swept}");
    assert_eq!(catalog(&world).await, before);
    assert_eq!(world.service_ids().await, services_of(&tasks));
    // When it happens again, and a container has failed since
    deregister(&world, &json!({})).await;
    for task in &tasks {
        task.report_health(SYNCED[0], "UNHEALTHY").await;
    }
    world.swept().await;
    for (task, release) in tasks.iter().zip(Release::ALL) {
        // Then its check is critical, and that of the dataplane where the release says so
        assert_eq!(task.statuses().await, statuses_with_failing_app(task, release), "{release:?}");
    }
    assert_settled(&world).await;
}

#[tokio::test]
async fn a_repair_leaves_what_others_have_on_the_node() {
    let world = world("kept-marks").await;
    let task = DataplaneTask::start(&world, Release::V0_10).await;
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
    // Then it comes back alone
    assert_eq!(swept["repaired"], 1, "{swept}");
    assert_eq!(catalog(&world).await, before);
    assert_settled(&world).await;
    // And the log says what was repaired, and why
    let line = &log_lines(&task, "repair").await[0];
    assert_eq!((&line["outcome"], &line["cluster_arn"]), (&json!("done"), &json!(cluster_arn("kept-marks"))));
    assert_eq!(line["service"], world.service());
    assert!(line["in_ecs"].as_str().unwrap().contains("consul-dataplane HEALTHY"), "{line}");
    assert!(line["in_consul"].as_str().unwrap().contains(task.id()), "{line}");
    assert!(line["reason"].as_str().unwrap().contains("has lost"), "{line}");
}
