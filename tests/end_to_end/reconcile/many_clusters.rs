//! A deployment for more clusters than a list of ARNs could name.

use serde_json::json;

use crate::reconcile::deployment;
use local_stack::{
    Stack,
    wait::{SOON, eventually},
    world::{World, cluster_arn, documented_policy},
};

const CLUSTERS: usize = 200;

#[tokio::test]
async fn a_pattern_manages_200_clusters() {
    let stack = Stack::shared().await;
    // Given 200 clusters, and one of another name
    let names: Vec<String> = (0..CLUSTERS).map(|number| format!("many-{number:03}")).collect();
    for name in names.iter().map(String::as_str).chain(["not-many"]) {
        stack.aws.create_cluster(name).await;
    }
    let token = stack.consul.token_with_rules("many", &documented_policy()).await;
    // When they are deployed by a pattern
    let level = [("LogLevel", "debug")];
    let deployed = deployment(&stack.consul, "many", &["many-*"], &token.secret_id, &level).await.unwrap();
    // Then a task that starts in any of them gets its token
    let world = World::new(stack, &deployed, "many", "many-137");
    let other = World::new(stack, &deployed, "many", "not-many");
    other.start_task(&other.mesh_definition(&other.service()).await).await;
    let task = world.start_task(&world.mesh_definition(&world.service()).await).await;
    world.provisioned(&world.secret_name(&world.service())).await;
    // And a sweep visits each of them, and no other
    world.register_instance(&world.service(), &task).await;
    let summary = world.invoke_reconcile(&json!({}), &[]).await.unwrap();
    let swept = summary["clusters"].as_array().expect("clusters");
    let expected: Vec<String> = names.iter().map(|name| cluster_arn(name)).collect();
    let arns: Vec<&str> = swept.iter().map(|cluster| cluster["clusterArn"].as_str().unwrap()).collect();
    assert_eq!(arns, expected);
    assert_eq!(swept[137]["found"]["livingTasks"], 1, "{}", swept[137]);
    assert_eq!(other.secret_text(&other.secret_name(&other.service())).await, None);
    // And the event of the other cluster is in the log, at level `debug`
    let is_ignored = |line: &String| line.contains("\"DEBUG\"") && line.contains(&other.cluster());
    eventually("the event of the other cluster", SOON, || async {
        let lines = world.aws.logs(&deployed.log_group).await;
        if lines.iter().any(is_ignored) { Ok(()) } else { Err(format!("{} other lines", lines.len())) }
    })
    .await;
}
