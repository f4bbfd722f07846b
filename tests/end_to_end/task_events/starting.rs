//! Tasks that start: which of them get a token, and what it grants.

use mesh::consul_ecs::sidecar_of;
use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::Fixture;

#[tokio::test]
async fn a_first_start_provisions_working_tokens() {
    let world = Fixture::tokens("first-start").await;
    let service = world.service();
    // When the first task of a service starts
    let definition = world.mesh_definition(&service).await;
    world.start_task(&definition).await;
    // Then the service's secret has a token that can register the service and its proxy, and no other service
    let own = world.provisioned(&world.secret_name(&service)).await;
    let register = async |name: &str| {
        let body = json!({
            "Node": world.cluster(), "Address": "127.0.0.1", "SkipNodeUpdate": true,
            "Service": { "ID": format!("{name}-1"), "Service": name },
        });
        world.consul.call(Method::PUT, "/v1/catalog/register", &own.token, Some(&body)).await.status
    };
    world.register_raw(&json!({})).await;
    assert_eq!(register(&service).await, 200);
    assert_eq!(register(&sidecar_of(&service)).await, 200);
    assert_eq!(register("another-service").await, 403);
    // And the client agents' secret has a token that can register a node
    let client = world.provisioned("mesh-consul-client-token").await;
    let node = json!({ "Node": "ip-10-0-1-12", "Address": "10.0.1.12" });
    let as_client = async |method: Method, path: &str, body: Option<&Value>| {
        world.consul.call(method, path, &client.token, body).await.status
    };
    assert_eq!(as_client(Method::PUT, "/v1/catalog/register", Some(&node)).await, 200);
    // And nothing else
    let service = json!({
        "Node": "ip-10-0-1-12", "Address": "10.0.1.12", "Service": { "ID": "x", "Service": "another-service" },
    });
    assert_eq!(as_client(Method::PUT, "/v1/catalog/register", Some(&service)).await, 403);
    assert_eq!(as_client(Method::GET, "/v1/acl/tokens", None).await, 403);
    // And no secret half is in the function's log, which has the most verbose level
    world.settled().await;
    let log = world.aws.logs(&world.deployed.log_group).await.join("\n");
    assert!(log.contains("create_token"), "{log}");
    assert!(!log.contains(&own.token) && !log.contains(&client.token), "a secret half is in the log");
}
