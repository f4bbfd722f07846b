//! Secrets in the formats of the previous release: each is migrated.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{DELETED, HIDDEN, assert_handled, check_idle, held, later, start};
use crate::environment::Environment;
use local_stack::world::{Pair, World};

/// A token of the previous release, with an accessor ID derived from the secret's name, and a secret with it in this format.
async fn written_before(world: &World<'_>, form: impl Fn(&Pair) -> Value) -> Pair {
    let service = world.service();
    let secret = world.secret_name(&service);
    let derived = |of: &str| Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{of} {secret}").as_bytes()).to_string();
    let pair = Pair { accessor_id: derived("accessor ID"), token: derived("secret half") };
    let body = json!({
        "AccessorID": pair.accessor_id,
        "SecretID": pair.token,
        "Description": format!("Token for {service} service\nconsul.hashicorp.com/cluster: {}", world.cluster()),
        "ServiceIdentities": [{ "ServiceName": service }],
    });
    world.consul.put("/v1/acl/token", &body).await;
    world.put_secret(&secret, &form(&pair)).await;
    pair
}

fn shown(pair: &Pair) -> Value {
    json!({ "accessor_id": pair.accessor_id, "token": pair.token })
}

fn adopted(pair: &Pair) -> Value {
    json!({ "accessor_id": pair.accessor_id, "token": pair.token, "adopted": true })
}

fn claimed(pair: &Pair) -> Value {
    json!({ "accessor_id": pair.accessor_id, "token": pair.token, "claim": "0b1c1e9e-9f4e-4f0e-8f0c-6f1d2c3b4a59" })
}

fn reserved(pair: &Pair) -> Value {
    json!({ "accessor_id": pair.accessor_id, "reserved": pair.token })
}

#[tokio::test]
async fn a_shown_token_is_kept_until_idle() {
    for (name, form) in
        [("before-shown", shown as fn(&Pair) -> Value), ("before-adopted", adopted), ("before-claimed", claimed)]
    {
        let world = World::without_deployment(name).await;
        let pair = written_before(&world, form).await;
        let task = world.run(&world.mesh_definition(&world.service()).await).await;
        let event = world.event(&task).await;
        assert_handled(&Environment::start(&world, "auto").await.handle(&[event]).await);
        assert_eq!(world.provisioned(&world.secret_name(&world.service())).await, pair, "{name}");
        world.stop(&task).await;
        assert_handled(&check_idle(&world, &later(&world, HIDDEN).await).await);
        assert_eq!(held(&world).await["retiring"], json!(pair.token), "{name}");
        assert_handled(&check_idle(&world, &later(&world, DELETED).await).await);
        assert!(!world.is_valid(&pair.token).await, "{name}");
    }
}

#[tokio::test]
async fn a_reserved_token_is_shown_or_deleted() {
    let world = World::without_deployment("before-reserved").await;
    let pair = written_before(&world, reserved).await;
    start(&world, &world.mesh_definition(&world.service()).await).await;
    assert_eq!(world.provisioned(&world.secret_name(&world.service())).await, pair);

    let world = World::without_deployment("before-reserved-idle").await;
    let pair = written_before(&world, reserved).await;
    assert_handled(&check_idle(&world, &later(&world, DELETED).await).await);
    assert_eq!(world.is_empty(&world.secret_name(&world.service())).await, Some(true));
    assert!(!world.is_valid(&pair.token).await);
}

#[tokio::test]
async fn a_missing_reserved_token_is_created() {
    let world = World::without_deployment("before-unmade").await;
    let pair = written_before(&world, reserved).await;
    world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    start(&world, &world.mesh_definition(&world.service()).await).await;
    assert_eq!(world.provisioned(&world.secret_name(&world.service())).await, pair);
}

#[tokio::test]
async fn a_former_cluster_s_token_is_marked_anew() {
    // Given a token whose description names another cluster, and whose secret identifies it as the controller's
    let world = World::without_deployment("before-moved").await;
    let pair = written_before(&world, claimed).await;
    let service = world.service();
    let mark = |cluster: &str| format!("Token for {service} service\nconsul.hashicorp.com/cluster: {cluster}");
    let path = format!("/v1/acl/token/{}", pair.accessor_id);
    let elsewhere = mark("arn:aws:ecs:us-east-1:123456789012:cluster/gone");
    world
        .consul
        .put(&path, &json!({ "Description": elsewhere, "ServiceIdentities": [{ "ServiceName": service }] }))
        .await;
    // When a task starts
    start(&world, &world.mesh_definition(&service).await).await;
    // Then its description names this cluster, and its grants are unchanged
    let token = world.consul.get(&path).await;
    assert!(token["Description"].as_str().is_some_and(|said| said.starts_with(&mark(&world.cluster()))), "{token}");
    assert_eq!(token["ServiceIdentities"][0]["ServiceName"], json!(service));
    assert_eq!(world.provisioned(&world.secret_name(&service)).await, pair);
}
