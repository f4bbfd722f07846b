//! `ecs-mesh inventory`

use local_stack::{Stack, world::World};
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneService, Release},
    recorder::{Answer, Recorder},
};

use super::{command, documented, permissions, said};

#[tokio::test]
async fn what_runs_is_listed_with_its_releases() {
    let world = World::without_deployment("inventory").await;
    // Given a service of the mesh, a task with a client agent, and a service of App Mesh without a task
    DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    let agent = json!({ "name": "consul-client", "image": "hashicorp/consul:1.12.2", "essential": false });
    let old = world.definition_with("inventory-old", &[agent]).await;
    world.run(&old).await;
    let envoy = json!({ "name": "envoy", "image": "public.ecr.aws/appmesh/aws-appmesh-envoy:v1.27.2.0-prod" });
    let pay = json!({
        "family": "inventory-pay", "networkMode": "awsvpc", "cpu": "256", "memory": "512", "containerDefinitions": [envoy],
        "proxyConfiguration": { "type": "APPMESH", "containerName": "envoy", "properties": [] },
    });
    world.ecs_call("RegisterTaskDefinition", &pay).await;
    let service = json!({
        "cluster": world.name, "serviceName": "pay", "taskDefinition": "inventory-pay", "desiredCount": 0, "launchType": "FARGATE",
        "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
    });
    world.ecs_call("CreateService", &service).await;

    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let inventory = async |format: &str, further: &[&str]| {
        let arguments = [&["inventory", "--cluster", world.name, "--output", format], further].concat();
        let mut command = command(&aws.url, &arguments).await;
        command.env("CONSUL_HTTP_ADDR", &world.consul.address);
        said(command.env("CONSUL_HTTP_TOKEN", &world.consul.management_token)).await
    };
    let made = inventory("json", &[]).await;
    let document = made.json();
    let unblocked = made.json();
    assert_eq!(made.code, Some(0), "{document:#}{}", made.errors);
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/reference/schema/inventory.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    assert_eq!(permissions(&aws.requests()), documented("inventory"));
    assert!(document["consul"].as_str().unwrap().starts_with(|c: char| c.is_ascii_digit()), "{document:#}");
    let rows = document["rows"].as_array().unwrap().iter();
    let said: Vec<Value> = rows
        .map(|row| json!([row["ecsService"], row["generation"], row["tasks"], row["runsOn"], row["images"]]))
        .collect();
    let images = |fields: Value| {
        let mut images = json!({ "consulEcs": null, "consulDataplane": null, "consul": null, "envoy": null });
        images.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        images
    };
    let expected = [
        json!([null, "client-agent", 1, said[0][3], images(json!({ "consulEcs": "0.9.0", "consul": "1.12.2" }))]),
        json!([
            world.service(),
            "dataplane",
            1,
            ["EC2"],
            images(json!({ "consulEcs": "0.9.0", "consulDataplane": "1.6.5" }))
        ]),
        json!(["pay", "app-mesh", 0, ["FARGATE"], images(json!({ "envoy": "v1.27.2.0-prod" }))]),
    ];
    assert_eq!(said, expected, "{document:#}");

    // And what blocks an upgrade is said, and which releases go with it.
    let blocked = inventory("json", &["--target-consul", "2.0", "--consul", "1.22.1"]).await;
    let document = blocked.json();
    jsonschema::validate(&schema, &document).unwrap();
    let named = |found: &Value| found.as_array().unwrap().iter().map(|it| it["row"]["revision"].clone()).collect();
    let blockers: Vec<Value> = named(&document["upgrade"]["blockers"]);
    assert_eq!((blocked.code, blockers.len()), (Some(1), 2), "{document:#}");
    let newest = json!({ "consul": ["1.22", "2.0"], "consulEcs": "0.10.1", "consulDataplane": "1.9.12" });
    assert_eq!(document["upgrade"]["newest"], newest);

    // An upgrade that depends on the config entry mesh, which this Consul does not have, reads it
    let entry = inventory("json", &["--target-consul", "2.1", "--consul", "2.0"]).await.json();
    jsonschema::validate(&schema, &entry).unwrap();
    let notes = entry["upgrade"]["notes"].as_array().unwrap();
    assert!(notes.iter().all(|note| !note.as_str().unwrap().contains("the config entry mesh")), "{entry:#}");

    // And credentials of AWS are enough: without a stack and without a Consul, the same rows are listed
    let arguments = ["inventory", "--cluster", world.name, "--stack", "none", "--output", "json"];
    let alone = super::said(&mut command(&aws.url, &arguments).await).await;
    assert_eq!((alone.code, &alone.json()["consul"]), (Some(0), &Value::Null), "{}", alone.errors);
    assert_eq!(alone.json()["rows"], unblocked["rows"]);

    let page = inventory("markdown", &[]).await.out;
    assert!(page.contains("| inventory | pay | App Mesh | – | – | – | v1.27.2.0-prod | 0 of 0 |"), "{page}");
}
