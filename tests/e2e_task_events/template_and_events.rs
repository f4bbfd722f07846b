//! The rule of the template, and the files in `events/`.

use serde_json::{Value, json};

use crate::{
    fixture::{self, Fixture},
    stack::aws,
};

#[tokio::test]
async fn the_rule_s_pattern_matches_the_right_files_in_events() {
    let fixture = Fixture::get().await;
    let world = Fixture::tokens("examples").await;
    let rule_name = json!({ "Name": world.deployed.rule_name });
    let rule = fixture.stack.aws.call("events", "AWSEvents.DescribeRule", &rule_name).await;
    let pattern = rule["EventPattern"].as_str().expect("a pattern");
    // The local stack's account and cluster become the examples'
    let pattern = pattern.replace(aws::ACCOUNT, "123456789012").replace("cluster/examples", "cluster/prod");
    for (name, event) in fixture::example_events() {
        let body = json!({ "EventPattern": pattern, "Event": event.to_string() });
        let tested = fixture.stack.aws.call("events", "AWSEvents.TestEventPattern", &body).await;
        let expected = !matches!(name.as_str(), "task-in-another-account.json" | "sqs-batch.json");
        assert_eq!(tested["Result"], expected, "{name}");
    }
}

#[tokio::test]
async fn every_file_in_events_can_be_invoked() {
    let world = Fixture::tokens("examples").await;
    let web = world.mesh_definition("web").await;
    let plain = world.definition("nightly-report", &json!([]), None).await;
    let mesh = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    let config = json!({ "gateway": { "kind": "mesh-gateway" } });
    let gateway = world.definition("mesh-gateway", &mesh, Some(&config)).await;
    for (name, event) in fixture::example_events() {
        // The examples' account, cluster and revisions become those of the local stack
        let text = event
            .to_string()
            .replace("123456789012", aws::ACCOUNT)
            .replace("cluster/prod", "cluster/examples")
            .replace("task/prod/", "task/examples/")
            .replace(":task-definition/web:7", web.0.split_at(web.0.find(":task-definition/").unwrap()).1)
            .replace(
                ":task-definition/nightly-report:12",
                plain.0.split_at(plain.0.find(":task-definition/").unwrap()).1,
            )
            .replace(
                ":task-definition/mesh-gateway:3",
                gateway.0.split_at(gateway.0.find(":task-definition/").unwrap()).1,
            );
        let event: Value = serde_json::from_str(&text).unwrap();
        let answer = world.aws.invoke(&world.deployed.function_name, &event).await;
        match name.as_str() {
            "task-malformed.json" => {
                let error = answer.expect_err(&name);
                assert!(error["errorMessage"].as_str().unwrap().contains("detail.lastStatus"), "{error}");
            }
            "sqs-batch.json" => {
                let answer = answer.expect(&name);
                let failed: Vec<&str> = answer["batchItemFailures"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| item["itemIdentifier"].as_str().unwrap())
                    .collect();
                assert_eq!(failed, ["00000007-5c1e-4b7e-9d4c-2f6a7b8c9d0e", "00000008-5c1e-4b7e-9d4c-2f6a7b8c9d0e"]);
            }
            _ => assert_eq!(answer.expect(&name), json!({ "outcome": "done" }), "{name}"),
        }
    }
    assert_eq!(world.secret_text("mesh-web").await, None, "ECS knows none of these tasks: nothing is made for them");
}
