//! Secrets that are named by the family of a task definition, as the Terraform modules of consul-ecs 0.2 to 0.4 name them.

use controller::{SweepOrder, SweepOutcome};
use local_stack::world::{World, mesh_tags};
use serde_json::{Value, json};

use crate::{environment::Environment, sweep::swept};

/// Handles the first event of a new task of the definition, which must succeed.
async fn start(world: &World<'_>, environment: &Environment, definition: &local_stack::world::Definition) {
    let task = world.run(definition).await;
    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
}

/// The service that the token in a secret identifies.
async fn service_of(world: &World<'_>, secret: &str) -> Value {
    let pair = world.provisioned(secret).await;
    let token = world.consul.get(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    token["ServiceIdentities"][0]["ServiceName"].clone()
}

/// A token as consul-ecs's controller creates it, marked for this cluster.
async fn token_of_consul_ecs(world: &World<'_>, service: &str) -> Value {
    let description = format!("Token for {service} service\nconsul.hashicorp.com/cluster: {}", world.cluster());
    let body = json!({ "Description": description, "ServiceIdentities": [{ "ServiceName": service }] });
    world.consul.put("/v1/acl/token", &body).await
}

#[tokio::test]
async fn a_family_does_not_keep_the_secret_of_the_service_of_its_name() {
    let world = World::without_deployment("families-taken").await;
    let (orders, other) = (format!("{}-orders", world.name), format!("{}-other", world.name));
    let secret = world.secret_name(&orders);
    let environment = Environment::start(&world, "auto").await;
    // Given a family with the name of a service, whose tasks are instances of another service
    let read = [("CONSUL_HTTP_TOKEN", orders.as_str())];
    let named_alike = world.definition_reading(&orders, &mesh_tags(&other), None, &read).await;
    start(&world, &environment, &named_alike).await;
    assert_eq!(service_of(&world, &secret).await, json!(other));
    // When a task of the service starts
    let own = world.definition_reading(&format!("{orders}-family"), &mesh_tags(&orders), None, &read).await;
    start(&world, &environment, &own).await;
    // Then the secret contains the service's token, and the family does not take it back
    assert_eq!(service_of(&world, &secret).await, json!(orders));
    let pair = world.pair(&secret).await;
    let event = world.event(&world.run(&named_alike).await).await;
    let report = Environment::start(&world, "auto").await.handle(&[event]).await;
    assert_eq!(report.failures.len(), 1);
    assert!(report.failures[0].error.is_permanent(), "{report:?}");
    assert!(report.failures[0].error.to_string().contains(&format!("the token of the service {orders}")), "{report:?}");
    assert_eq!(world.pair(&secret).await, pair);
}

#[tokio::test]
async fn a_token_of_consul_ecs_in_a_family_s_secret_is_kept_and_marked() {
    let world = World::without_deployment("families-adopted").await;
    let (service, family) = (world.service(), format!("{}-Family", world.name));
    let token = token_of_consul_ecs(&world, &service).await;
    let pair = json!({ "accessor_id": token["AccessorID"], "token": token["SecretID"] });
    world.put_secret(&world.secret_name(&family), &pair).await;
    let read = [("CONSUL_HTTP_TOKEN", family.as_str())];
    let definition = world.definition_reading(&family, &mesh_tags(&service), None, &read).await;
    let environment = Environment::start(&world, "auto").await;
    start(&world, &environment, &definition).await;
    assert_eq!(world.provisioned(&world.secret_name(&family)).await.accessor_id, token["AccessorID"].as_str().unwrap());
    let marked = world.consul.get(&format!("/v1/acl/token/{}", token["AccessorID"].as_str().unwrap())).await;
    let description = marked["Description"].as_str().unwrap();
    let marks = format!("/{}\necs-mesh-controller/family: {family}", world.secret_name(&family));
    assert!(description.ends_with(&marks), "{description}");
}

#[tokio::test]
async fn a_token_whose_secret_is_not_known_is_skipped() {
    let world = World::without_deployment("families-unknown").await;
    let token = token_of_consul_ecs(&world, &world.service()).await;
    let environment =
        Environment::scripted(&world, &[("BOOTSTRAP", "none")], |_, _| test_harness::recorder::Answer::Forward).await;
    let report = swept(&environment, &SweepOrder { force: true, ..SweepOrder::default() }).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    let skipped = &report.clusters[0].skipped;
    assert!(
        skipped.iter().any(|skipped| format!("{skipped:?}").contains("does not contain it, and another one may")),
        "{skipped:?}"
    );
    assert!(world.is_valid(token["SecretID"].as_str().unwrap()).await, "the token stays");
}
