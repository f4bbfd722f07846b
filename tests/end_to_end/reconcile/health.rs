//! Health sync as deployed. The local ECS reports no container's health, which is critical in Consul.
//! `tests/in_process/health_sync` tests the other values.

use serde_json::{Value, json};

use super::deployment;
use local_stack::{
    Stack,
    world::{World, documented_policy},
};

/// A running task whose app has a health check, with all its checks passing in Consul.
pub(crate) async fn healthy_task(world: &World<'_>) -> String {
    let checked = json!({ "name": "web", "image": "example/web:1", "healthCheck": { "command": ["true"] } });
    let definition = world.definition_with(&world.service(), &[checked]).await;
    let task = world.run(&definition).await;
    world.register_instance(&world.service(), &task).await;
    task
}

pub(crate) fn statuses(checks: &[Value]) -> Vec<&str> {
    checks.iter().map(|check| check["Status"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn on_demand_health_is_synced_once() {
    // Given a separate deployment: health is synced in all clusters of a deployment
    let stack = Stack::shared().await;
    let token = stack.consul.token_with_rules("health", &documented_policy()).await;
    let deployed = deployment(&stack.consul, "health", &["health"], &token.secret_id, &[]).await.unwrap();
    let world = World::new(stack, &deployed, "health", "health");
    let task = healthy_task(&world).await;
    assert_eq!(statuses(&world.checks_of(&task).await), ["passing"; 3]);
    let report = world.invoke_reconcile(&json!({ "healthSync": true }), &[]).await.unwrap();
    assert_eq!(report["rounds"], 1, "{report}");
    // The dataplane's two checks; the app has no health check in ECS, so that its check is orphaned
    let checks = world.checks_of(&task).await;
    assert_eq!(statuses(&checks), ["critical"; 2], "{checks:?}");
    assert!(checks[0]["Output"].as_str().unwrap().contains("consul-dataplane"), "{checks:?}");
}
