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
async fn foreign_tokens_and_services_are_kept() {
    let world = Fixture::tokens("strangers").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let task = world.start_task(&definition).await;
    world.provisioned(&world.secret_name(&service)).await;
    // Given tokens that are similar to the controller's
    let id = world::task_id(&task);
    for description in [
        format!("made by hand for {service}"),
        format!("Token for {service} service\nconsul.hashicorp.com/cluster: strangers-elsewhere"),
        format!("Token for {service} service"),
        format!("token created via login: {{\"consul.hashicorp.com/cluster\":\"{}\"}}", world.cluster()),
        format!("token created via login: not JSON {id} {}", world.name),
    ] {
        let body = json!({ "Description": description, "ServiceIdentities": [{ "ServiceName": service }] });
        world.consul.put("/v1/acl/token", &body).await;
    }
    // And services that were registered by hand on the cluster's node, one of them with another task's meta
    world.register_instance(&service, &task).await;
    world.register_raw(&json!({ "Service": { "ID": "by-hand", "Service": "by-hand" } })).await;
    world.register_raw(&json!({ "Service": { "ID": format!("by-hand-{id}"), "Service": "by-hand" } })).await;
    world
        .register_raw(
            &json!({ "Service": { "ID": "other", "Service": "by-hand", "Meta": { "task-id": format!("{id}0") } } }),
        )
        .await;
    let strangers = async || {
        let mut tokens = world.tokens_about(world.name).await;
        let own = format!("consul.hashicorp.com/cluster: {}", world.cluster());
        tokens.retain(|token| token["Description"].as_str().unwrap().lines().all(|line| line != own));
        let services = world.node_services().await["Services"].as_array().unwrap().clone();
        let by_hand: Vec<Value> = services.into_iter().filter(|service| service["Service"] == "by-hand").collect();
        (tokens, by_hand)
    };
    let before = strangers().await;
    assert_eq!((before.0.len(), before.1.len()), (5, 3), "{before:#?}");
    // When the task stops and the service's token is revoked
    world.stop_task(&task).await;
    world.emptied(&world.secret_name(&service)).await;
    world.settled().await;
    // Then all of them are unchanged
    assert_eq!(strangers().await, before);
    assert_eq!(world.service_ids().await.len(), 3);
}

#[tokio::test]
async fn hand_made_tokens_in_secrets_are_kept() {
    let world = Fixture::tokens("hand-made").await;
    let service = world.service();
    let made = world.consul.put("/v1/acl/token", &json!({ "Description": format!("mine, for {service}") })).await;
    let value = json!({ "accessor_id": made["AccessorID"], "token": made["SecretID"] });
    world.put_secret(&world.secret_name(&service), &value).await;
    let definition = world.mesh_definition(&service).await;
    let task = world.start_task(&definition).await;
    world.events_handled().await;
    world.stop_task(&task).await;
    world.settled().await;
    let secret = world.secret_text(&world.secret_name(&service)).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&secret).unwrap(), value);
    assert!(world.is_valid(made["SecretID"].as_str().unwrap()).await);
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
