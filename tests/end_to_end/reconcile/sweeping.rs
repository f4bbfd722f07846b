//! Sweeps: lost events, tasks that ECS has forgotten, and manual changes.

use serde_json::json;

use super::world;
use local_stack::{
    wait::{SOON, eventually},
    world::{cluster_arn, instance_ids, task_id},
};
use test_harness::jwt::JwtAuthMethod;

#[tokio::test]
async fn one_sweep_repairs_lost_events() {
    let world = world("lost-events").await;
    let (web, gone) = (world.service(), "lost-events-gone".to_owned());
    let definition = world.mesh_definition(&web).await;
    let running = world.run(&definition).await;
    world.register_instance(&web, &running).await;
    // A service whose only task has stopped without a clean-up
    let old = world.consul_ecs_controller_token(&gone).await;
    let stopped = world.run(&world.mesh_definition(&gone).await).await;
    world.register_instance(&gone, &stopped).await;
    let method = JwtAuthMethod::create(world.consul, "lost-events").await;
    let kept = method.log_in_task(&web, &world.cluster(), task_id(&running)).await;
    let leftover = method.log_in_task(&gone, &world.cluster(), task_id(&stopped)).await;
    world.stop(&stopped).await;

    // When no event is delivered, and one sweep runs. The other tests' clusters may be empty: a sweep of one cluster does not
    // rely on their listings
    let answer = world.sweep(&json!({ "force": true })).await.unwrap();
    let summary = &answer["clusters"][0];

    // Then the running tasks have what they demand, and nothing of the stopped task is left
    world.provisioned(&world.secret_name(&web)).await;
    world.provisioned("sweep-consul-client-token").await;
    assert_eq!(world.service_ids().await, instance_ids(&web, &running));
    assert!(world.is_valid(&kept.secret_id).await && !world.is_valid(&leftover.secret_id).await);
    assert_eq!(
        (&summary["deleted"]["loginTokens"], &summary["deleted"]["services"]),
        (&json!(1), &json!(2)),
        "{summary}"
    );
    assert_eq!(summary["found"]["livingTasks"], 1);
    // And the idle service's token is revoked once its secret is old enough and it was hidden for long enough
    eventually("the idle service's token to be revoked", SOON, || async {
        world.sweep(&json!({ "force": true })).await.unwrap();
        if world.is_valid(&old.token).await { Err("Consul still knows it") } else { Ok(()) }
    })
    .await;
    assert_eq!(world.is_empty(&world.secret_name(&gone)).await, Some(true));
    // And the next sweep changes nothing
    let again = world.swept().await;
    assert_eq!((&again["deleted"], &again["created"], &again["left"]), (&json!({}), &json!({}), &json!(0)));
}

#[tokio::test]
async fn one_sweep_handles_fifty_missed_stops() {
    let world = world("fifty-stops").await;
    let definition = world.mesh_definition(&world.service()).await;
    for _ in 0..50 {
        let task = world.run(&definition).await;
        world.register_instance(&world.service(), &task).await;
        world.stop(&task).await;
    }
    let running = world.run(&definition).await;
    world.register_instance(&world.service(), &running).await;
    assert_eq!(world.service_ids().await.len(), 102);
    let summary = world.swept().await;
    assert_eq!(summary["deleted"]["services"], 100, "what ECS describes as STOPPED needs no force");
    assert_eq!(world.service_ids().await.len(), 2);
    world.provisioned(&world.secret_name(&world.service())).await;
}

#[tokio::test]
async fn what_a_sweep_leaves_to_others_is_reported() {
    let world = world("foreign").await;
    // Given another owner's service on the node, and a login whose mark names the cluster without its account
    world.register_raw(&json!({ "Service": { "ID": "by-hand", "Service": "by-hand", "Port": 1 } })).await;
    let unknown = "ffffffffffffffffffffffffffffffff";
    let method = JwtAuthMethod::create(world.consul, "foreign").await;
    let login = method.log_in_task(&world.service(), world.name, unknown).await;
    let skipped = world.swept().await["skipped"].to_string();
    assert!(skipped.contains("by-hand") && skipped.contains(unknown), "{skipped}");
    assert!(world.service_ids().await == ["by-hand"] && world.is_valid(&login.secret_id).await);
}

#[tokio::test]
async fn a_deleted_client_policy_is_restored() {
    let world = world("lost-policy").await;
    world.run(&world.mesh_definition(&world.service()).await).await;
    world.swept().await;
    let client = world.provisioned("sweep-consul-client-token").await;
    let policy = world.consul.get("/v1/acl/policy/name/sweep-consul-client-policy").await;
    world.consul.delete(&format!("/v1/acl/policy/{}", policy["ID"].as_str().unwrap())).await;
    world.swept().await;
    let token = world.consul.get(&format!("/v1/acl/token/{}", client.accessor_id)).await;
    assert_eq!(token["Policies"][0]["Name"], "sweep-consul-client-policy", "{token}");
}

#[tokio::test]
async fn a_misspelt_order_is_refused() {
    let world = world("lost-events").await;
    for (order, said) in [
        (json!({ "dryrun": true }), "dryRun"),
        (json!({ "clusters": ["prod"] }), "a cluster ARN such as"),
        (json!({ "clusters": [cluster_arn("unknown")] }), "is not in ECS_CLUSTER_ARNS"),
        (json!("sweep"), "dryRun"),
    ] {
        let error = world.aws.invoke(&world.deployed.reconcile, &order).await.expect_err("a wrong order");
        let message = error["errorMessage"].as_str().unwrap();
        assert!(message.contains(said), "{order}: {message}");
    }
}
