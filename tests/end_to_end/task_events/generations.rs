//! Both generations of consul-ecs in one cluster, with the default `TokenMode`: a task gets the tokens that its definition reads.

use local_stack::world::mesh_tags;
use serde_json::{Value, json};

use crate::fixture::Fixture;

#[tokio::test]
async fn each_task_gets_what_its_definition_reads() {
    let world = Fixture::tokens("generations").await;
    let [old, new, gateway] = ["old", "new", "gateway"].map(|kind| format!("{}-{kind}", world.name));
    let spelled = format!("{}-spelled", world.name);
    let spelling = spelled.to_ascii_uppercase();
    // When tasks of both generations and a gateway start
    let config = json!({ "gateway": { "kind": "mesh-gateway", "name": gateway } });
    let definitions = [
        world.mesh_definition(&old).await,
        world.dataplane_definition(&new).await,
        world.definition(&gateway, &mesh_tags(&gateway), Some(&config)).await,
        world.definition_reading(&spelling, &mesh_tags(&spelled), None, &[("CONSUL_HTTP_TOKEN", &spelling)]).await,
    ];
    for definition in &definitions {
        world.start_task(definition).await;
    }
    // Then those that read a token have it, under the name that they read
    world.provisioned(&world.secret_name(&old)).await;
    let pair = world.provisioned(&world.secret_name(&spelling)).await;
    let token = world.consul.get(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    assert_eq!(token["ServiceIdentities"], json!([{ "ServiceName": spelled }]));
    // And the others have none
    world.settled().await;
    for service in [new, gateway] {
        assert_eq!(world.tokens_about(&service).await, Vec::<Value>::new());
        assert_eq!(world.secret_text(&world.secret_name(&service)).await, None);
    }
    assert_eq!(world.secret_text(&world.secret_name(&spelled)).await, None, "the secret that no task reads");
}

#[tokio::test]
async fn a_service_moves_to_the_other_generation_and_back() {
    let world = Fixture::tokens("moves").await;
    let service = world.service();
    let secret = world.secret_name(&service);
    let old = world.mesh_definition(&service).await;
    let old_task = world.start_task(&old).await;
    let first = world.provisioned(&secret).await;
    // When tasks that log in have replaced those that read the token
    let new_task = world.start_task(&world.dataplane_definition(&service).await).await;
    world.settled().await;
    assert_eq!(world.pair(&secret).await, Some(first.clone()), "a task still reads it");
    world.stop_task(&old_task).await;
    // Then the token is revoked, although the service has a task
    world.emptied(&secret).await;
    world.revoked(&first).await;
    // And when the service moves back, it has a new token
    world.start_task(&old).await;
    let second = world.provisioned(&secret).await;
    assert_ne!(second.accessor_id, first.accessor_id);
    world.stop_task(&new_task).await;
    world.settled().await;
    assert_eq!(world.pair(&secret).await, Some(second), "the end of a task that logs in changes no token");
}
