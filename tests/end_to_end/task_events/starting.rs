//! Tasks that start: which of them get a token, and what it grants.

use std::collections::BTreeSet;

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
    assert_eq!(register(&format!("{service}-sidecar-proxy")).await, 200);
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

#[tokio::test]
async fn a_second_task_creates_no_token() {
    let world = Fixture::tokens("second-task").await;
    let definition = world.mesh_definition(&world.service()).await;
    world.start_task(&definition).await;
    let first = world.provisioned(&world.secret_name(&world.service())).await;
    world.start_task(&definition).await;
    world.settled().await;
    assert_eq!(world.pair(&world.secret_name(&world.service())).await, Some(first));
    assert_eq!(world.tokens_about(&world.service()).await.len(), 1);
}

#[tokio::test]
async fn twenty_concurrent_starts_create_one_token() {
    let world = Fixture::tokens("twenty-starts").await;
    let definition = world.mesh_definition(&world.service()).await;
    let mut events = Vec::new();
    for _ in 0..20 {
        let task = world.run(&definition).await;
        events.push(world.event(&task).await);
    }
    futures::future::join_all(events.iter().map(|event| world.deliver(std::slice::from_ref(event)))).await;
    world.settled().await;
    let pair = world.provisioned(&world.secret_name(&world.service())).await;
    let tokens = world.tokens_about(&world.service()).await;
    assert_eq!(tokens.len(), 1, "{tokens:#?}");
    assert_eq!(tokens[0]["AccessorID"], pair.accessor_id);
    // And no version of the secret names another token
    let secret = world.secret_name(&world.service());
    assert_eq!(world.secret_tokens(&secret).await, BTreeSet::from([pair.token]));
}

#[tokio::test]
async fn a_consul_ecs_controller_token_is_adopted() {
    let world = Fixture::tokens("adopted").await;
    let service = world.service();
    let old = world.consul_ecs_controller_token(&service).await;
    let definition = world.mesh_definition(&service).await;
    let task = world.start_task(&definition).await;
    world.settled().await;
    assert_eq!(world.pair(&world.secret_name(&service)).await, Some(old.clone()), "the secret stays as it was");
    assert_eq!(world.tokens_about(&service).await.len(), 1, "no second token");
    // And when its service is idle, it is revoked like the controller's own tokens
    world.stop_task(&task).await;
    world.emptied(&world.secret_name(&service)).await;
    world.revoked(&old).await;
}

#[tokio::test]
async fn empty_secrets_are_filled_in() {
    let world = Fixture::tokens("empty-secret").await;
    let (blank, bare) = (world.service(), format!("{}-bare", world.name));
    world.put_secret(&world.secret_name(&blank), &json!({})).await;
    world.aws.secrets().create_secret().name(world.secret_name(&bare)).send().await.expect("CreateSecret");
    for service in [blank, bare] {
        let definition = world.mesh_definition(&service).await;
        world.start_task(&definition).await;
        world.provisioned(&world.secret_name(&service)).await;
    }
}

#[tokio::test]
async fn task_tags_suffice_for_the_mesh() {
    let world = Fixture::tokens("own-tags").await;
    let service = world.service();
    let config = json!({ "service": { "name": service } });
    let read = [("CONSUL_HTTP_TOKEN", service.as_str())];
    let definition = world.definition_reading(&service, &json!([]), Some(&config), &read).await;
    let tags = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    let task = world.run_tagged(&definition, &tags).await;
    world.deliver(&[world.event(&task).await]).await;
    world.provisioned(&world.secret_name(&service)).await;
}

#[tokio::test]
async fn gateways_and_other_tasks_get_no_token() {
    let world = Fixture::tokens("not-in-mesh").await;
    let plain = world.definition(&format!("{}-plain", world.name), &json!([]), None).await;
    let mesh = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    let config = json!({ "gateway": { "kind": "mesh-gateway" } });
    let gateway = world.definition(&format!("{}-gateway", world.name), &mesh, Some(&config)).await;
    world.start_task(&plain).await;
    world.start_task(&gateway).await;
    world.settled().await;
    assert_eq!(world.tokens_about(world.name).await, Vec::<Value>::new());
    assert_eq!(world.secret_text(&world.secret_name(&format!("{}-gateway", world.name))).await, None);
}
