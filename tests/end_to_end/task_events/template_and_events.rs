//! The rules of the template, and the files in `events/`.

use serde_json::{Value, json};

use crate::{
    audit::audited,
    fixture::{self, Fixture},
};
use local_stack::aws;

#[tokio::test]
async fn each_rule_matches_exactly_its_events() {
    let fixture = Fixture::get().await;
    let world = Fixture::tokens("examples").await;
    let pre_provision = world.deployed.pre_provision_rule.clone().expect("the rule of the mode that makes tokens");
    let audited = world.deployed.audit.clone().expect("the audit").rule;
    let expected = |rule: &str, file: &str| match file {
        "task-in-another-account.json" | "sqs-batch.json" => false,
        "api-call-register-task-definition.json" => rule == pre_provision || rule == audited,
        "api-call-create-service.json" => rule == pre_provision,
        "api-call-delete-cluster.json" => rule == world.deployed.cluster_deleted_rule,
        _ => file.starts_with("task-") || file.starts_with("gateway-"),
    };
    for rule in [&world.deployed.rule_name, &pre_provision, &world.deployed.cluster_deleted_rule, &audited] {
        let described = fixture.stack.aws.call("events", "AWSEvents.DescribeRule", &json!({ "Name": rule })).await;
        let pattern = described["EventPattern"].as_str().expect("a pattern");
        // Replaces the local stack's account by the examples'
        let pattern = pattern.replace(aws::ACCOUNT, "123456789012");
        for (name, event) in fixture::example_events() {
            if name.starts_with("sweep-") || name.starts_with("audit-") {
                continue;
            }
            let body = json!({ "EventPattern": pattern, "Event": event.to_string() });
            let tested = fixture.stack.aws.call("events", "AWSEvents.TestEventPattern", &body).await;
            let is_task_rule = *rule == world.deployed.rule_name;
            let is_task_event = !name.starts_with("api-call-");
            let wanted = expected(rule, &name) && is_task_rule == is_task_event;
            assert_eq!(tested["Result"], wanted, "{rule}: {name}");
        }
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
        // Replaces the examples' account, cluster and revisions by those of the local stack
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
        let is_for_the_sweep = name.starts_with("sweep-") || name == "api-call-delete-cluster.json";
        let answer = match name.as_str() {
            _ if is_for_the_sweep => world.invoke_reconcile(&event, &[]).await,
            "audit-family.json" => audited(world.aws, world.deployed.audit.as_ref().expect("the audit"), &event).await,
            _ => world.aws.invoke(&world.deployed.function_name, &event).await,
        };
        match name.as_str() {
            "api-call-create-service.json" => {
                assert_eq!(answer.expect(&name), json!({ "outcome": "done" }));
                let made = world.pair("mesh-web").await.expect("the service has its token before any task");
                let token = world.consul.get(&format!("/v1/acl/token/{}", made.accessor_id)).await;
                assert!(token["Description"].as_str().unwrap().contains("unused-since"), "{token}");
            }
            "audit-family.json" => assert_eq!(answer.expect(&name)["definitions"][0]["label"], "web"),
            "sweep-dry-run.json" => assert_eq!(answer.expect(&name)["outcome"], "dry_run"),
            // The cluster exists: it is swept
            "sweep-force.json" | "api-call-delete-cluster.json" => assert_eq!(answer.expect(&name)["outcome"], "done"),
            "task-malformed.json" => {
                let error = answer.expect_err(&name);
                assert!(error["errorMessage"].as_str().unwrap().contains("detail.version"), "{error}");
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
}
