//! The custom resource: a deployment that cannot work fails with the reason, and a deleted stack leaves nothing behind.

use serde_json::json;

use crate::reconcile::deployment;
use local_stack::{
    Stack,
    consul::Consul,
    deploy::{delete, deploy, stack_id, status, try_deploy},
    wait::{SOON, eventually},
    world::{World, documented_policy, task_id},
};
use test_harness::{
    function::wait_for_requests,
    jwt::JwtAuthMethod,
    recorder::{Answer, Recorder},
};

#[tokio::test]
async fn a_deployment_fails_where_consul_is_down() {
    let consul = Consul::start().await;
    let token = consul.token_with_rules("down", &documented_policy()).await;
    consul.stop();
    let said = deployment(&consul, "down", &["down"], &token.secret_id, &[]).await.expect_err("Consul is down");
    assert!(said.contains("Consul is unavailable") && said.contains("refused"), "{said}");
    // And the failed stack can be deleted, although the clean-up cannot reach Consul
    delete(&Stack::shared().await.aws, "down").await.unwrap();
}

#[tokio::test]
async fn an_update_checks_and_sweeps_again() {
    let stack = Stack::shared().await;
    let token = stack.consul.token_with_rules("update", &documented_policy()).await;
    let deployed = deployment(&stack.consul, "update", &["update"], &token.secret_id, &[]).await.unwrap();
    let world = World::new(stack, &deployed, "update", "update");
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    world.stop(&task).await;
    assert_eq!(world.service_ids().await.len(), 2);
    // When a parameter changes that is only in the functions' environment
    deploy(&stack.aws, "update", &[("MaxDeletePercent", "40")]).await;
    // Then the deployment has swept
    assert_eq!(world.service_ids().await, Vec::<String>::new());
    // And an update with an invalid setting fails with the reason
    let said = try_deploy(&stack.aws, "update", &[("ClusterPartitions", "unknown=team")]).await;
    let said = said.expect_err("wrong settings").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("CLUSTER_PARTITIONS"), "{said}");
}

/// A stack with a running service, and another owner's service on the same node.
async fn stack_with_services(consul: &'static Consul, name: &'static str, cleanup: &str) -> (World<'static>, String) {
    let stack = Stack::shared().await;
    let token = consul.token_with_rules(name, &documented_policy()).await;
    let further = [("CleanupOnDelete", cleanup)];
    let deployed = deployment(consul, name, &[name], &token.secret_id, &further).await.unwrap();
    let world = World::new(stack, &deployed, name, name);
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.start_task(&definition).await;
    world.register_instance(&world.service(), &task).await;
    world.provisioned(&world.secret_name(&world.service())).await;
    world.provisioned(&format!("{name}-consul-client-token")).await;
    let method = JwtAuthMethod::create(consul, name).await;
    let login = method.log_in_task(&world.service(), &world.cluster(), task_id(&task)).await;
    (world, login.secret_id)
}

#[tokio::test]
async fn deleting_everything_leaves_a_clean_catalog() {
    let stack = Stack::shared().await;
    let (world, login) = stack_with_services(&stack.consul, "cleanup", "true").await;
    let pair = world.pair(&world.secret_name(&world.service())).await.unwrap();
    let client = world.pair("cleanup-consul-client-token").await.unwrap();
    let by_hand = stack.consul.put("/v1/acl/token", &json!({ "Description": "cleanup: made by hand" })).await;
    // When the stack and its services are deleted
    delete(&stack.aws, "cleanup").await.unwrap();
    // Then nothing of the controller is left
    let nodes = stack.consul.get("/v1/catalog/nodes").await.to_string();
    assert!(!nodes.contains(&format!("\"{}\"", world.cluster())), "{nodes}");
    for token in [&login, &pair.token, &client.token] {
        assert!(!world.is_valid(token).await, "a token is left");
    }
    assert_eq!(world.is_empty(&world.secret_name(&world.service())).await, Some(true));
    let policies = stack.consul.get("/v1/acl/policies").await.to_string();
    assert!(!policies.contains("\"cleanup-consul-client-policy\""), "{policies}");
    // And everything of other owners is
    assert!(world.is_valid(by_hand["SecretID"].as_str().unwrap()).await);
}

#[tokio::test]
async fn a_node_with_foreign_services_stays() {
    let stack = Stack::shared().await;
    let (world, _) = stack_with_services(&stack.consul, "cleanup-shared", "true").await;
    world.register_raw(&json!({ "Service": { "ID": "by-hand", "Service": "by-hand", "Port": 1 } })).await;
    delete(&stack.aws, "cleanup-shared").await.unwrap();
    assert_eq!(world.service_ids().await, ["by-hand"]);
}

/// CloudFormation rolls a creation back with a made-up ID, if it has no answer, or with the real one.
#[tokio::test]
async fn failed_creation_cleans_up_nothing() {
    let stack = Stack::shared().await;
    let (world, login) = stack_with_services(&stack.consul, "rolled-back", "true").await;
    let cloud_formation = Recorder::start(|_, _| Answer::ok("")).await;
    let stack_id = stack_id(&stack.aws, "rolled-back").await;
    for (number, id) in ["x-MeshSetup-1ABCDEFGHIJKL", "ecs-mesh-controller"].into_iter().enumerate() {
        let request = json!({
            "RequestType": "Delete", "ResponseURL": cloud_formation.url, "StackId": stack_id, "RequestId": "id",
            "LogicalResourceId": "MeshSetup", "PhysicalResourceId": id,
            "ResourceProperties": { "CleanupOnDelete": "true" },
        });
        let answer = world.invoke_reconcile(&request, &[]).await.unwrap();
        assert_eq!(answer["outcome"], "SUCCESS", "{answer}");
        let answers = wait_for_requests(&cloud_formation, number + 1, |_| true).await;
        assert_eq!(answers[number].json()["PhysicalResourceId"], id);
        assert_eq!(world.service_ids().await.len(), 2, "{id}");
        assert!(world.is_valid(&login).await, "{id}");
        let pair = world.pair(&world.secret_name(&world.service())).await.unwrap();
        assert!(world.is_valid(&pair.token).await, "{id}");
    }
    delete(&stack.aws, "rolled-back").await.unwrap();
    assert!(!world.is_valid(&login).await);
}

#[tokio::test]
async fn update_without_consul_is_rolled_back() {
    let (stack, consul) = (Stack::shared().await, Consul::start().await);
    let token = consul.token_with_rules("gone", &documented_policy()).await;
    deployment(&consul, "gone", &["gone"], &token.secret_id, &[]).await.unwrap();
    consul.stop();
    let said = try_deploy(&stack.aws, "gone", &[("MaxDeletePercent", "40")]).await.expect_err("Consul is down");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Consul is unavailable"), "{said}");
    assert_eq!(status(&stack.aws, "gone").await, "UPDATE_ROLLBACK_COMPLETE");
    delete(&stack.aws, "gone").await.unwrap();
}

#[tokio::test]
async fn clean_up_is_off_by_default() {
    let stack = Stack::shared().await;
    let (world, login) = stack_with_services(&stack.consul, "no-cleanup", "false").await;
    delete(&stack.aws, "no-cleanup").await.unwrap();
    assert_eq!(world.service_ids().await.len(), 2);
    assert!(world.is_valid(&login).await);
    let pair = world.pair(&world.secret_name(&world.service())).await.unwrap();
    assert!(world.is_valid(&pair.token).await);
}

#[tokio::test]
async fn the_schedule_sweeps() {
    let stack = Stack::shared().await;
    let token = stack.consul.token_with_rules("schedule", &documented_policy()).await;
    let further = [("ReconcileRate", "rate(1 minute)")];
    let deployed = deployment(&stack.consul, "schedule", &["schedule"], &token.secret_id, &further).await.unwrap();
    let world = World::new(stack, &deployed, "schedule", "schedule");
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    world.stop(&task).await;
    eventually("the schedule to sweep", SOON, || async {
        let left = world.service_ids().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}
