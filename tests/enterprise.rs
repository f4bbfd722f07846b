//! Consul Enterprise: exact requests against a recording server, because the Community Edition refuses them.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod environment;
mod recorder;
mod stack;
mod world;

use environment::{Environment, world};
use recorder::{Answer, Seen};
use serde_json::{Value, json};

/// A Consul Enterprise that knows no token yet, and one instance of a task.
fn enterprise(seen: &Seen) -> Answer {
    let path = seen.uri.split('?').next().unwrap_or_default();
    match (seen.method.as_str(), path) {
        ("PUT", "/v1/acl/token") => {
            let accessor = seen.json()["AccessorID"].clone();
            Answer::ok(json!({ "AccessorID": accessor, "SecretID": "new-secret", "Description": "" }).to_string())
        }
        ("GET", "/v1/acl/tokens") => Answer::ok(
            json!([{
                "AccessorID": "11111111-2222-4333-8444-555555555555",
                "Description": "Token for shop service\nconsul.hashicorp.com/cluster: enterprise\n\
                    consul.hashicorp.com/partition: team\nconsul.hashicorp.com/namespace: store",
                "Namespace": "store",
            }])
            .to_string(),
        ),
        ("GET", path) if path.starts_with("/v1/catalog/node-services/") => Answer::ok("{\"Services\":[]}"),
        _ => Answer::ok("{}"),
    }
}

#[tokio::test]
async fn enterprise_tags_decide_where_tokens_are_made_and_how_secrets_are_called() {
    let world = world("enterprise").await;
    let tags = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/service-name", "value": "shop" },
        { "key": "consul.hashicorp.com/partition", "value": "team" },
        { "key": "consul.hashicorp.com/namespace", "value": "store" },
    ]);
    let definition = world.definition("enterprise-shop", &tags, None).await;
    let task = world.run(&definition).await;
    let environment = Environment::scripted(&world, &[], |seen, _| enterprise(seen)).await;

    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let mut lines = environment.consul.lines();
    lines.sort();
    assert_eq!(
        lines,
        [
            "PUT /v1/acl/policy?partition=team&ns=default",
            "PUT /v1/acl/token?partition=team&ns=default",
            "PUT /v1/acl/token?partition=team&ns=store",
        ]
    );
    let made: Vec<Value> = environment.consul.seen().iter().map(Seen::json).collect();
    let service = made.iter().find(|body| body.get("ServiceIdentities").is_some()).expect("the service's token");
    assert_eq!(
        service["Description"],
        format!(
            "Token for shop service\nconsul.hashicorp.com/cluster: {}\n\
             consul.hashicorp.com/partition: team\nconsul.hashicorp.com/namespace: store",
            world.cluster()
        )
    );
    assert!(world.pair("enterprise-shop-store-team").await.is_some());

    // And when the task stops, its partition's tokens are listed across all namespaces, its own namespace's catalog read
    environment.consul.forget();
    world.stop(&task).await;
    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let node = world.cluster().replace('/', "%2F");
    let filter = format!("filter=Meta%5B%22task-id%22%5D+%3D%3D+%22{}%22", world::task_id(&task));
    assert_eq!(
        environment.consul.lines(),
        [
            "GET /v1/acl/tokens?partition=team&ns=*".to_owned(),
            format!("GET /v1/catalog/node-services/{node}?{filter}&partition=team&ns=store"),
        ]
    );
    // And since Consul holds the service's token, a look at the service is asked for
    let messages = world.aws.messages(&world.deployed.queue_url).await;
    let body: Value = serde_json::from_str(messages[0]["Body"].as_str().unwrap()).unwrap();
    assert_eq!(body["detail"], json!({ "service": "shop", "partition": "team", "namespace": "store" }));
}

#[tokio::test]
async fn the_deployment_s_partition_is_where_untagged_tasks_live() {
    let world = world("partition").await;
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.run(&definition).await;
    let settings = [("CONSUL_PARTITION", "team")];
    let environment = Environment::scripted(&world, &settings, |seen, _| enterprise(seen)).await;
    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    assert!(environment.consul.lines().iter().all(|line| line.ends_with("?partition=team&ns=default")));
    assert!(world.pair("partition-partition-web-default-team").await.is_some());
}
