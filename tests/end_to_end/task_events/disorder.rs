//! Duplicate and reordered events, state of other owners, and invalid messages.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use local_stack::{
    wait::{SOON, eventually},
    world,
};

#[tokio::test]
async fn duplicate_reordered_and_replayed_events_change_nothing() {
    let world = Fixture::tokens("disorder").await;
    let secret = world.secret_name(&world.service());
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.run(&definition).await;
    let staying = world.run(&definition).await;
    let running = world.event(&task).await;
    let provisioning = world.event_as(&task, "PROVISIONING", "RUNNING", 1).await;
    world.register_instance(&world.service(), &task).await;
    world.register_instance(&world.service(), &staying).await;
    // Given a start whose events arrive twice and in the wrong order
    world.deliver(&[running.clone(), provisioning.clone(), running.clone(), world.event(&staying).await]).await;
    world.settled().await;
    let pair = world.provisioned(&secret).await;
    // When the task stops, and an older event arrives late
    world.stop(&task).await;
    let stopped = world.event(&task).await;
    world.deliver(&[stopped.clone(), running.clone(), stopped.clone(), provisioning.clone()]).await;
    world.settled().await;
    let left = format!("{}-{}", world.service(), world::task_id(&staying));
    assert_eq!(world.service_ids().await, [left.clone(), format!("{left}-sidecar-proxy")]);
    assert_eq!(world.pair(&secret).await, Some(pair.clone()));
    assert!(world.is_valid(&pair.token).await);
    // And when the service is gone, a replay of all its events creates nothing
    world.stop_task(&staying).await;
    world.emptied(&secret).await;
    for event in [provisioning, running, stopped] {
        world.deliver(&[event]).await;
        world.settled().await;
    }
    assert_eq!(world.is_empty(&secret).await, Some(true));
    assert_eq!(world.tokens_about(&world.service()).await, Vec::<Value>::new());
}

#[tokio::test]
async fn poison_messages_fail_alone() {
    let world = Fixture::tokens("poison").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let task = world.run(&definition).await;
    let good = world.event(&task).await;
    let bad_name = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/service-name", "value": "Not Legal" },
    ]);
    let lonely = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/partition", "value": "p" },
    ]);
    let bad_name = world.run(&world.definition(&format!("{}-bad-name", world.name), &bad_name, None).await).await;
    let lonely = world.run(&world.definition(&format!("{}-lonely-tag", world.name), &lonely, None).await).await;
    let mut unknown_status = good.clone();
    unknown_status["detail"]["lastStatus"] = json!("DANCING");
    let mut no_arn = good.clone();
    no_arn["detail"].as_object_mut().unwrap().remove("taskArn");
    let bodies = [
        format!("{{\"this is not\": JSON, {}", world.name),
        unknown_status.to_string(),
        no_arn.to_string(),
        world.event(&bad_name).await.to_string(),
        world.event(&lonely).await.to_string(),
        good.to_string(),
    ];
    world.deliver_raw(&bodies).await;
    world.provisioned(&world.secret_name(&service)).await;
    eventually("five messages in the dead-letter queue", SOON, || async {
        let dead = world.waiting(&world.deployed.failed_queue_url).await;
        if dead.len() == 5 { Ok(()) } else { Err(format!("{dead:#?}")) }
    })
    .await;
}
