//! Deleted clusters, and clusters that never existed.

use serde_json::{Value, json};

use crate::reconcile::deployment;
use local_stack::{
    Stack,
    wait::{SOON, eventually},
    world::{World, documented_policy},
};

#[tokio::test]
async fn a_deleted_cluster_is_swept_entirely() {
    let stack = Stack::shared().await;
    let token = stack.consul.token_with_rules("gone-cluster", &documented_policy()).await;
    let clusters = ["gone-cluster", "staying-cluster"];
    let deployed = deployment(&stack.consul, "gone-cluster", &clusters, &token.secret_id, &[]).await.unwrap();
    let gone = World::new(stack, &deployed, "gone-cluster", "gone-cluster");
    let staying = World::new(stack, &deployed, "gone-cluster", "staying-cluster");
    // Given services in two clusters, one of which is deleted with its tasks
    let definition = gone.mesh_definition(&gone.service()).await;
    let task = gone.run(&definition).await;
    gone.register_instance(&gone.service(), &task).await;
    let started = gone.start_task(&definition).await;
    let pair = gone.provisioned(&gone.secret_name(&gone.service())).await;
    let other = staying.run(&staying.mesh_definition(&staying.service()).await).await;
    staying.register_instance(&staying.service(), &other).await;
    // ECS deletes no cluster with running tasks; the events of these stops are lost
    gone.stop(&task).await;
    gone.stop(&started).await;
    gone.ecs_call("DeleteCluster", &json!({ "cluster": gone.name })).await;

    // The local ECS forgets a deleted cluster at once: a sweep cannot distinguish it from a cluster that never existed, which is a
    // fault of this cluster
    let report = gone.aws.invoke(&deployed.reconcile, &json!({})).await.expect("an unknown cluster fails no sweep");
    let fault = report["faults"][0]["reason"].as_str().unwrap();
    assert!(fault.contains(&gone.cluster()) && fault.contains("ECS_CLUSTER_ARNS"), "{report}");
    assert_eq!(gone.service_ids().await.len(), 2, "and deletes nothing of it");
    // The other cluster is swept nevertheless
    staying.provisioned(&staying.secret_name(&staying.service())).await;

    // When the event of the deletion is handled
    let event = deleted(&gone.cluster());
    let summary = gone.invoke_reconcile(&event, &[]).await.unwrap();
    assert_eq!(summary["clusters"][0]["status"], "deleted", "{summary}");
    // Then everything of it is deleted, including its synthetic node, and nothing of the other cluster
    assert_eq!(gone.service_ids().await, Vec::<String>::new());
    let nodes = stack.consul.get("/v1/catalog/nodes").await.to_string();
    assert!(!nodes.contains(&gone.cluster()) && nodes.contains(&staying.cluster()), "{nodes}");
    eventually("its service's token to be revoked", SOON, || async {
        gone.aws.invoke(&deployed.reconcile, &event).await.unwrap();
        if gone.is_valid(&pair.token).await { Err("Consul still knows it") } else { Ok(()) }
    })
    .await;
    assert_eq!(staying.service_ids().await.len(), 2);
}

fn deleted(cluster: &str) -> Value {
    json!({
        "source": "aws.ecs", "detail-type": "AWS API Call via CloudTrail",
        "detail": {
            "eventSource": "ecs.amazonaws.com", "eventName": "DeleteCluster",
            "responseElements": { "cluster": { "clusterArn": cluster } },
        },
    })
}
