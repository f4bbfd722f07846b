//! `ecs-mesh survey`, and `ecs-mesh sweep --dry-run` without a stack

use std::collections::BTreeSet;

use local_stack::{
    Stack,
    world::{World, observing_policy, task_id},
};
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneTask, Release},
    recorder::{Answer, Recorder},
};

use super::{Said, command, documented, key_of_user, permissions, said};
use crate::fixture::{Fixture, controller_token};

/// Runs a command against AWS at this endpoint, and the world's Consul with this token.
async fn run(world: &World<'_>, endpoint: &str, token: &str, arguments: &[&str]) -> Said {
    let mut command = command(endpoint, arguments).await;
    command.env("CONSUL_HTTP_ADDR", &world.consul.address).env("CONSUL_HTTP_TOKEN", token);
    said(&mut command).await
}

/// The clusters of a plan. A sweep begins with a random action.
fn planned(document: &Value) -> Vec<Value> {
    let mut clusters = document["clusters"].as_array().unwrap().clone();
    for cluster in &mut clusters {
        let actions = cluster["planned"].as_array_mut().expect("actions");
        actions.sort_by_key(Value::to_string);
    }
    clusters
}

fn finding<'a>(document: &'a Value, id: &str) -> &'a Value {
    let findings = document["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["id"] == id).unwrap_or_else(|| panic!("{id}: {document:#}"))
}

fn names(finding: &Value) -> BTreeSet<&str> {
    finding["objects"].as_array().unwrap().iter().map(|object| object["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn survey_and_sweep_without_a_stack_plan_what_the_deployed_sweep_plans() {
    let stack = Stack::shared().await;
    let token = controller_token(&stack.consul, "surveyed").await.secret_id;
    let fixture = Fixture::get().await;
    let world = fixture.deployment_of_its_own(&stack.consul, "surveyed", &token, &[("Bootstrap", "none")]).await;
    let reading = world.consul.token_with_rules("survey", &observing_policy()).await.secret_id;
    // Given a task that runs, and one that has stopped, whose event is lost
    let task = DataplaneTask::start(&world, Release::V0_9).await;
    let other = DataplaneTask::start(&world, Release::V0_9).await;
    world.stop(&task.arn).await;

    // When a sweep is planned by the stack, and without it by a token that may only read
    let dry_run = async |stack_name: &str| {
        let arguments = ["sweep", "--dry-run", "--stack", stack_name, "--cluster", world.name, "--output", "json"];
        run(&world, &stack.aws.endpoint, &reading, &arguments).await
    };
    let (deployed, local) = (dry_run("surveyed").await, dry_run("none").await);
    // Then both say the same, and the second one says who made it
    assert_eq!((deployed.code, local.code), (Some(0), Some(0)), "{}{}", deployed.errors, local.errors);
    assert_eq!(planned(&local.json()), planned(&deployed.json()));
    assert!(local.errors.contains("There is no stack none: the plan was made here"), "{}", local.errors);
    // And nothing can sweep without the stack
    let arguments = ["sweep", "--stack", "none", "--cluster", world.name, "--yes"];
    let refused = run(&world, &stack.aws.endpoint, &reading, &arguments).await;
    assert_eq!(refused.code, Some(2), "{}", refused.out);

    // When the cluster is surveyed
    let aws = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let survey = async |further: &[&str]| {
        let arguments = [&["survey", "--cluster", world.name], further].concat();
        let mut command = command(&aws.url, &arguments).await;
        command.env("CONSUL_HTTP_ADDR", &consul.url).env("CONSUL_HTTP_TOKEN", &reading);
        said(&mut command).await
    };
    let made = survey(&["--output", "json"]).await;
    let document = made.json();
    let schema = serde_json::from_str(include_str!("../../../docs/reference/schema/survey.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    assert_eq!((made.code, &document["unread"]), (Some(1), &json!([])), "{document:#}");
    // Then it lists the instances that the sweep would deregister, with the reason, the time and the request
    let left = finding(&document, "left-in-consul");
    let deployed = deployed.json();
    let actions = deployed["clusters"][0]["planned"].as_array().unwrap().iter();
    let planned = actions.filter(|action| action["action"] == "deregister");
    assert_eq!(names(left), planned.map(|action| action["serviceId"].as_str().unwrap()).collect(), "{document:#}");
    assert_eq!(names(left).len(), 2, "{document:#}");
    assert_eq!(left["objects"][0]["controller"], "deregisters it");
    assert!(left["objects"][0]["why"].as_str().unwrap().contains("has stopped"), "{document:#}");
    assert!(left["since"].is_string(), "{document:#}");
    assert!(!left.to_string().contains(task_id(&other.arn)), "{document:#}");
    // And it has called what its page says, and written nothing
    let mut called = documented("survey");
    // The cluster is named, and has no service of ECS.
    for unused in ["ecs:ListClusters", "ecs:DescribeServices"] {
        assert!(called.remove(unused), "{unused}");
    }
    assert_eq!(permissions(&aws.requests()), called);
    let is_read = |line: &String| line.starts_with("GET ") || line == "POST /v1/internal/acl/authorize";
    assert_eq!(consul.lines().into_iter().filter(|line| !is_read(line)).collect::<Vec<_>>(), [""; 0]);

    // And strangers learn no names
    let account = world.cluster().split(':').nth(4).unwrap().to_owned();
    for format in ["text", "json", "html"] {
        let hidden = survey(&["--anonymous", "--output", format]).await.out;
        for name in [world.name, &world.service(), &account] {
            assert!(!hidden.contains(name), "{format}: {name} in {hidden}");
        }
        assert!(hidden.contains("cluster-1") && hidden.contains("object-1"), "{format}: {hidden}");
    }
}

#[tokio::test]
async fn instances_of_a_destroyed_cluster_are_listed_and_their_requests_remove_them() {
    let stack = Stack::shared().await;
    let world = World::without_deployment("survey-gone").await;
    let reading = world.consul.token_with_rules("survey-gone", &observing_policy()).await.secret_id;
    // Given a cluster that was destroyed with its tasks and their controller
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    for _ in 0..2 {
        let task = world.run(&definition).await;
        world.register_instance(&service, &task).await;
        world.stop(&task).await;
    }
    world.ecs_call("DeleteCluster", &json!({ "cluster": world.name })).await;
    let left = world.service_ids().await;
    assert_eq!(left.len(), 4);
    // When a stranger surveys it by its name, which ECS does not know
    let arguments = ["survey", "--cluster", world.name, "--output", "json"];
    let made = run(&world, &stack.aws.endpoint, &reading, &arguments).await;
    let document = made.json();
    // Then each instance is listed with the reason
    assert_eq!(made.code, Some(1), "{document:#}{}", made.errors);
    let finding = finding(&document, "left-in-consul");
    assert_eq!(names(finding), left.iter().map(String::as_str).collect(), "{document:#}");
    let why = "ECS does not know its cluster: it was deleted long ago, or never existed";
    assert_eq!(finding["objects"][0]["why"], why);
    assert_eq!(document["clusters"][0]["status"], "deleted", "{document:#}");
    // And the printed requests remove them
    for command in finding["commands"].as_array().unwrap() {
        let command = command.as_str().unwrap();
        assert!(command.ends_with("\"$CONSUL_HTTP_ADDR/v1/catalog/deregister\""), "{command}");
        let body: Value = serde_json::from_str(command.split('\'').nth(1).unwrap()).unwrap();
        world.consul.put("/v1/catalog/deregister", &body).await;
    }
    assert_eq!(world.service_ids().await, [""; 0]);
}

#[tokio::test]
async fn what_a_survey_may_not_read_stands_at_the_top_with_the_permission() {
    let stack = Stack::shared().await;
    let world = World::without_deployment("survey-denied").await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    let survey = ["survey", "--cluster", world.name];
    // Given a token that Consul does not know
    let unknown = "00000000-1111-2222-3333-444444444444";
    let refused = run(&world, &stack.aws.endpoint, unknown, &survey).await;
    assert_eq!(refused.code, Some(2), "{}", refused.errors);
    assert!(refused.out.starts_with("permission"), "{}", refused.out);
    assert!(refused.out.contains("it does not know the token in CONSUL_HTTP_TOKEN"), "{}", refused.out);
    assert!(!refused.out.contains(unknown), "{}", refused.out);
    // Given a token without permissions
    let poor = world.consul.token_with_rules("survey-poor", "key_prefix \"\" { policy = \"read\" }").await.secret_id;
    let poor = run(&world, &stack.aws.endpoint, &poor, &survey).await;
    assert_eq!(poor.code, Some(2), "{}", poor.errors);
    let names = |said: &Said, permission: &str| {
        let columns = said.out.lines().filter_map(|line| line.split("  ").next());
        columns.skip(1).any(|column| column.contains(permission))
    };
    assert!(names(&poor, "service_prefix \"\" { policy = \"read\" }"), "{}", poor.out);
    assert!(!names(&refused, "service_prefix"), "{}", refused.out);
    // Given credentials that may not read ECS
    let key = key_of_user(&["redrive"]).await;
    let mut command = command(&stack.aws.endpoint, &survey).await;
    command.env("AWS_ACCESS_KEY_ID", &key.id).env("AWS_SECRET_ACCESS_KEY", &key.secret);
    command.env("CONSUL_HTTP_ADDR", &world.consul.address);
    let denied = said(command.env("CONSUL_HTTP_TOKEN", &world.consul.management_token)).await;
    assert_eq!(denied.code, Some(2), "{}", denied.errors);
    assert!(names(&denied, "ecs:DescribeClusters") && !names(&denied, "service_prefix"), "{}", denied.out);
    // Then nothing is said of what is in Consul: it may be of living tasks
    assert!(!denied.out.contains("left-in-consul") && !denied.out.contains("have no running task"), "{}", denied.out);
}
