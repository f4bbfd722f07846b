//! Pre-provisioning: a registered task definition gives its service a token before the first task starts.

use serde_json::{Value, json};

use super::world;
use local_stack::{
    aws::{ACCOUNT, REGION},
    world::World,
};

/// `EventBridge`'s event of a call that `CloudTrail` has recorded.
fn api_call(name: &str, response: &Value) -> Value {
    json!({
        "source": "aws.ecs", "detail-type": "AWS API Call via CloudTrail", "account": ACCOUNT, "region": REGION,
        "time": "2026-11-21T10:00:00Z",
        "detail": { "eventSource": "ecs.amazonaws.com", "eventName": name, "responseElements": response },
    })
}

async fn description(world: &World<'_>, accessor: &str) -> String {
    let token = world.consul.get(&format!("/v1/acl/token/{accessor}")).await;
    token["Description"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_registered_definition_gets_its_token() {
    let world = world("pre-provision").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let response = json!({ "taskDefinition": { "taskDefinitionArn": definition.0 } });
    world.deliver(&[api_call("RegisterTaskDefinition", &response)]).await;
    let pair = world.provisioned(&world.secret_name(&service)).await;
    assert!(description(&world, &pair.accessor_id).await.contains("unused-since"));
    // It waits for its first task; neither sweeps nor idle checks revoke it
    let asked = json!({ "source": "ecs-mesh-controller", "detail-type": "Service Idle Check", "detail": { "service": service } });
    world.deliver(&[asked]).await;
    world.settled().await;
    world.swept().await;
    assert!(world.is_valid(&pair.token).await);
    // The first task uses it, and from then on it is like any other token
    let task = world.start_task(&definition).await;
    world.settled().await;
    assert_eq!(world.provisioned(&world.secret_name(&service)).await, pair);
    assert!(!description(&world, &pair.accessor_id).await.contains("unused-since"));
    world.stop_task(&task).await;
    world.emptied(&world.secret_name(&service)).await;
    world.revoked(&pair).await;
    // A service that scales up from zero gets a new one
    let response = json!({ "service": { "taskDefinition": definition.0, "clusterArn": world.cluster() } });
    world.deliver(&[api_call("UpdateService", &response)]).await;
    let new = world.provisioned(&world.secret_name(&service)).await;
    assert_ne!(new.token, pair.token);
}
