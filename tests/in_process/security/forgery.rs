//! Forged messages: events of other accounts, regions, partitions or clusters are dismissed; messages that are no events fail
//! and end in the dead-letter queue. Neither causes a call.

use std::time::{SystemTime, UNIX_EPOCH};

use controller::BatchReport;
use ecs_mesh_controller::{custom_resource::AwsCloudFormation, reconcile, wiring::StartError};
use lambda_runtime::{Context, LambdaEvent};
use serde_json::{Value, json};

use crate::{environment::Environment, time::LONG};
use local_stack::world::{World, idle_check, mesh_tags};
use test_harness::recorder::Answer;

/// Handles one message, and asserts that it made no calls.
async fn handled_without_calls(environment: &Environment, event: &Value) -> BatchReport {
    environment.aws.forget();
    environment.consul.forget();
    let report = environment.handle(std::slice::from_ref(event)).await;
    assert!(environment.aws.requests().is_empty(), "{event}: {:?}", environment.aws.operations());
    assert!(environment.consul.requests().is_empty(), "{event}: {:?}", environment.consul.lines());
    report
}

/// A genuine event with one text replaced everywhere.
fn exchanged(event: &Value, from: &str, to: &str) -> Value {
    let text = event.to_string();
    assert!(text.contains(from), "{text}");
    serde_json::from_str(&text.replace(from, to)).unwrap()
}

async fn stopped(world: &World<'_>) -> Value {
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.event_as(&task, "STOPPED", "STOPPED", 9).await
}

#[tokio::test]
async fn events_of_foreign_clusters_make_no_calls() {
    let world = World::without_deployment("forged-elsewhere").await;
    let genuine = stopped(&world).await;
    let environment = Environment::start(&world, "auto").await;
    for (from, to) in [
        ("000000000000", "999999999999"),
        ("us-east-1", "eu-west-1"),
        ("arn:aws:", "arn:aws-cn:"),
        ("/forged-elsewhere", "/another-owners"),
    ] {
        let report = handled_without_calls(&environment, &exchanged(&genuine, from, to)).await;
        assert!(report.failures.is_empty(), "{to}: {report:?}");
    }
    for (field, value) in [("source", "aws.ec2"), ("source", "my.app"), ("detail-type", "ECS Service Action")] {
        let mut other = genuine.clone();
        other[field] = json!(value);
        let report = handled_without_calls(&environment, &other).await;
        assert!(report.failures.is_empty(), "{value}: {report:?}");
    }
}

#[tokio::test]
async fn invalid_messages_make_no_calls() {
    let world = World::without_deployment("forged-nonsense").await;
    let genuine = stopped(&world).await;
    let environment = Environment::start(&world, "auto").await;
    let with = |field: &str, value: Value| {
        let mut event = genuine.clone();
        event["detail"][field] = value;
        event
    };
    let text = |field: &str| genuine["detail"][field].as_str().unwrap().to_owned();
    for event in [
        // Inconsistent fields
        with("taskArn", json!(text("taskArn").replace("000000000000", "999999999999"))),
        with("taskArn", json!(text("taskArn").replace("/forged-nonsense/", "/another/"))),
        with("taskArn", json!(text("taskArn").replace("arn:aws:", "arn:aws-cn:"))),
        with("taskDefinitionArn", json!(text("taskDefinitionArn").replace("000000000000", "999999999999"))),
        // Invalid fields
        with("lastStatus", json!(["STOPPED"])),
        with("version", json!("9")),
        with("clusterArn", json!(["a"])),
        // Messages of other services
        json!({ "Type": "Notification", "TopicArn": "arn:aws:sns:us-east-1:0:t", "Message": genuine.to_string() }),
        json!({ "Records": [{ "eventSource": "aws:s3" }] }),
        json!([genuine]),
        json!(genuine.to_string()),
        Value::Null,
    ] {
        let report = handled_without_calls(&environment, &event).await;
        assert_eq!(report.failures.len(), 1, "{event}");
        assert!(report.failures[0].error.is_permanent(), "{event}: {report:?}");
    }
    // An unknown status is one of next year
    let event = with("lastStatus", json!("STOPPED\" or \"\" == \""));
    let report = handled_without_calls(&environment, &event).await;
    assert!(report.failures.is_empty(), "{report:?}");
}

#[tokio::test]
async fn a_stopped_task_with_an_invalid_tag_leaves_nothing() {
    let world = World::without_deployment("invalid-tag").await;
    let definition = world.definition("invalid-tag", &mesh_tags("Not Valid"), None).await;
    let task = world.run(&definition).await;
    world.register_instance(&world.service(), &task).await;
    let environment = Environment::start(&world, "auto").await;
    // Given a task that has no start because of the tag
    assert_eq!(environment.handle(&[world.event(&task).await]).await.faults.len(), 1);
    // When it is told to stop, and when it has stopped
    let report = environment.handle(&[world.event_as(&task, "RUNNING", "STOPPED", 4).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let is_drained = |check: &Value| check["CheckID"].as_str().unwrap().starts_with("_service_maintenance");
    assert!(world.checks_of(&task).await.iter().any(is_drained), "it is drained");
    let report = environment.handle(&[world.event_as(&task, "STOPPED", "STOPPED", 9).await]).await;
    // Then its entries are found by its ID
    assert!(report.failures.is_empty(), "{report:?}");
    assert_eq!(world.service_ids().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_forged_idle_check_deletes_nothing() {
    let world = World::without_deployment("forged-look").await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    let environment = Environment::start(&world, "auto").await;
    assert!(environment.handle(&[world.event(&task).await]).await.failures.is_empty());
    let pair = world.provisioned(&world.secret_name(&world.service())).await;
    environment.consul.forget();
    let [mut of_own_family, mut of_another] = [&world.service(), "another"].map(idle_check);
    for check in [&mut of_own_family, &mut of_another] {
        check["detail"]["family"] = json!(world.service());
    }
    let checks = [idle_check(&world.service()), idle_check("consul-client"), of_own_family, of_another];
    let report = environment.handle(&checks).await;
    assert!(report.failures.is_empty(), "{report:?}");
    assert!(environment.consul.lines().iter().all(|line| line.starts_with("GET ")), "{:?}", environment.consul.lines());
    assert!(world.is_valid(&pair.token).await);
}

#[tokio::test]
async fn a_forged_cluster_deletion_deletes_nothing() {
    let world = World::without_deployment("forged-deletion").await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    let settings = [("TOKEN_MODE", "auth-method"), ("BOOTSTRAP", "none")];
    let environment = Environment::scripted(&world, &settings, |_, _| Answer::Forward).await;
    let deletion = |cluster: &str| {
        json!({
            "source": "aws.ecs", "detail-type": "AWS API Call via CloudTrail",
            "detail": {
                "eventSource": "ecs.amazonaws.com", "eventName": "DeleteCluster",
                "responseElements": { "cluster": { "clusterArn": cluster } },
            },
        })
    };
    let own = reconcile(&environment, deletion(&world.cluster())).await;
    assert_eq!(own["outcome"], "done", "{own}");
    assert_eq!(world.service_ids().await.len(), 2, "{own}");
    assert!(environment.consul.lines().iter().all(|line| line.starts_with("GET ")), "{:?}", environment.consul.lines());
    // And the deletion of another account's cluster is ignored
    environment.consul.forget();
    let foreign = world.cluster().replace("000000000000", "999999999999");
    assert_eq!(reconcile(&environment, deletion(&foreign)).await["outcome"], "ignored");
    assert!(environment.consul.requests().is_empty());
}

async fn reconcile(environment: &Environment, payload: Value) -> Value {
    let mut context = Context::default();
    let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + LONG;
    context.deadline = u64::try_from(end.as_millis()).unwrap();
    let event = LambdaEvent::new(payload, context);
    let cloud_formation = AwsCloudFormation::new(&aws::sdk::of_function(|_| None));
    let answer = reconcile::reconcile(Ok::<_, StartError>(&environment.controller), &cloud_formation, event).await;
    answer.expect("an answer")
}
