//! The guard: a sweep that would delete too much requires `force`.

use serde_json::json;

use super::world;
use local_stack::{
    wait::{SOON, eventually},
    world::World,
};

/// Waits for the metric that the alarm reads, and for the line with the reason.
async fn alarmed(world: &World<'_>) {
    eventually("the alarm's metric, and its line in the log", SOON, || async {
        let lines = world.aws.logs(&world.deployed.reconcile_log_group).await;
        let is_counted = lines.iter().any(|line| line.contains(r#""GuardTripped":"#));
        let is_reason =
            |line: &String| line.contains(r#""outcome":"guard_tripped","cluster_arn""#) && line.contains(world.name);
        if is_counted && lines.iter().any(is_reason) { Ok(()) } else { Err("one of them is missing") }
    })
    .await;
}

#[tokio::test]
async fn a_large_share_trips_the_guard() {
    let world = world("guard-share").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    for number in 0..10 {
        let task = world.run(&definition).await;
        world.register_instance(&service, &task).await;
        if number < 4 {
            world.stop(&task).await;
        }
    }
    let before = world.node_services().await;
    // 8 of 20 services are 40 %; the limit is 30 %
    let summary = world.sweep(&json!({})).await.unwrap();
    assert_eq!(summary["outcome"], "guard_tripped", "{summary}");
    let cluster = &summary["clusters"][0];
    assert!(cluster["guard"].as_str().unwrap().contains("8 of 20 services"), "{cluster}");
    assert_eq!(cluster["planned"].as_array().unwrap().len(), 8, "it says exactly what it would do");
    assert_eq!(cluster["deleted"], json!({}));
    assert_eq!(world.node_services().await, before);
    alarmed(&world).await;
    // But the running tasks' tokens are provisioned nevertheless
    world.provisioned(&world.secret_name(&service)).await;
    // And with `force` it deletes
    let summary = world.sweep(&json!({ "force": true })).await.unwrap();
    assert_eq!(summary["clusters"][0]["deleted"]["services"], 8, "{summary}");
    assert_eq!(world.service_ids().await.len(), 12);
}

#[tokio::test]
async fn an_empty_listing_trips_the_guard() {
    let world = world("guard-nothing").await;
    let forgotten = format!("arn:aws:ecs:us-east-1:000000000000:task/guard-nothing/{}", "0".repeat(32));
    world.register_instance(&world.service(), &forgotten).await;
    let summary = world.sweep(&json!({})).await.unwrap();
    assert_eq!(summary["outcome"], "guard_tripped", "{summary}");
    assert!(summary["clusters"][0]["guard"].as_str().unwrap().contains("ECS lists no task"), "{summary}");
    assert_eq!(world.service_ids().await.len(), 2);
    world.sweep(&json!({ "force": true })).await.unwrap();
    assert_eq!(world.service_ids().await, Vec::<String>::new());
}
