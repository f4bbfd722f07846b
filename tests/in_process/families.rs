//! Which secret a service's token is written into: one with the service's name, whatever a task's tags and family say.

use local_stack::world::{Definition, World, mesh_tags};
use observe::SweepOrder;
use report::SweepOutcome;
use serde_json::{Value, json};

use crate::{environment::Environment, sweep::swept};
use test_harness::recorder::Answer;

/// Handles the first event of a new task of the definition, which must succeed.
async fn start(world: &World<'_>, environment: &Environment, definition: &Definition) -> String {
    let task = world.run(definition).await;
    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    task
}

/// The service that the token in a secret identifies.
async fn service_of(world: &World<'_>, secret: &str) -> Value {
    let pair = world.provisioned(secret).await;
    let token = world.consul.get(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    token["ServiceIdentities"][0]["ServiceName"].clone()
}

/// A token as consul-ecs's controller creates it, marked for this cluster, and with these further marks.
async fn token_of(world: &World<'_>, service: &str, marks: &str) -> Value {
    let description = format!("Token for {service} service\nconsul.hashicorp.com/cluster: {}{marks}", world.cluster());
    let body = json!({ "Description": description, "ServiceIdentities": [{ "ServiceName": service }] });
    world.consul.put("/v1/acl/token", &body).await
}

/// A token of this service that the secret with another name contains, as the controller would have written it.
async fn token_in(world: &World<'_>, name: &str, service: &str) -> (String, Value) {
    let secret = world.secret_name(name);
    let marks = format!("\necs-mesh-controller/secret: 000000000000/us-east-1/{secret}");
    let token = token_of(world, service, &marks).await;
    let accessor = token["AccessorID"].as_str().unwrap();
    let nonce = format!("{accessor}/5f0c3b0e-9d5e-4a55-8a3b-0f5f7a3f1b11");
    let value = json!({ "accessor_id": accessor, "token": token["SecretID"], "nonce": nonce });
    world.put_secret(&secret, &value).await;
    (secret, token)
}

#[tokio::test]
async fn a_secret_s_name_decides_whose_token_replaces_another() {
    let world = World::without_deployment("families-taken").await;
    let (orders, other) = (format!("{}-orders", world.name), format!("{}-other", world.name));
    // Given the token of another service in the service's secret
    let (secret, stray) = token_in(&world, &orders, &other).await;
    let environment = Environment::start(&world, "auto").await;
    // When a task of the service starts that the secret is named by
    let read = [("CONSUL_HTTP_TOKEN", orders.as_str())];
    let own = world.definition_reading(&format!("{orders}-family"), &mesh_tags(&orders), None, &read).await;
    start(&world, &environment, &own).await;
    // Then the secret contains its token, and the other service does not take it back
    assert_eq!(service_of(&world, &secret).await, json!(orders));
    let pair = world.pair(&secret).await;
    let named_alike = world.definition_reading(&orders, &mesh_tags(&other), None, &read).await;
    start(&world, &environment, &named_alike).await;
    assert_eq!(world.pair(&secret).await, pair);
    assert!(world.is_valid(stray["SecretID"].as_str().unwrap()).await, "a running task may have read it");
}

#[tokio::test]
async fn a_token_of_consul_ecs_in_another_spelling_is_kept_and_marked() {
    let world = World::without_deployment("families-adopted").await;
    let (service, spelled) = (world.service(), world.service().to_ascii_uppercase());
    let token = token_of(&world, &service, "").await;
    let pair = json!({ "accessor_id": token["AccessorID"], "token": token["SecretID"] });
    world.put_secret(&world.secret_name(&spelled), &pair).await;
    let read = [("CONSUL_HTTP_TOKEN", spelled.as_str())];
    let definition = world.definition_reading(&spelled, &mesh_tags(&service), None, &read).await;
    let environment = Environment::start(&world, "auto").await;
    start(&world, &environment, &definition).await;
    assert_eq!(
        world.provisioned(&world.secret_name(&spelled)).await.accessor_id,
        token["AccessorID"].as_str().unwrap()
    );
    let marked = world.consul.get(&format!("/v1/acl/token/{}", token["AccessorID"].as_str().unwrap())).await;
    let description = marked["Description"].as_str().unwrap();
    assert!(description.ends_with(&format!("/{}", world.secret_name(&spelled))), "{description}");
}

#[tokio::test]
async fn a_token_whose_secret_is_not_known_is_skipped() {
    let world = World::without_deployment("families-unknown").await;
    let token = token_of(&world, &world.service(), "").await;
    let environment = Environment::scripted(&world, &[("BOOTSTRAP", "none")], |_, _| Answer::Forward).await;
    let report = swept(&environment, &SweepOrder { force: true, ..SweepOrder::default() }).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    let skipped = &report.clusters[0].skipped;
    assert!(
        skipped.iter().any(|skipped| format!("{skipped:?}").contains("does not contain it, but another secret may")),
        "{skipped:?}"
    );
    assert!(world.is_valid(token["SecretID"].as_str().unwrap()).await, "the token stays");
}
