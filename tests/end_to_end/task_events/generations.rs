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
