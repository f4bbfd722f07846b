//! `ecs-mesh compare`: a stack in mode `observe`, and a rival, which is the test.

use local_stack::{
    Stack,
    wait::{SOON, eventually},
    world::{World, observing_policy},
};
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneService, DataplaneTask, Release},
    recorder::{Answer, Recorder},
};

use super::{PAGE, Said, command, documented, permissions, said};
use crate::fixture::Fixture;

const NAME: &str = "compared";

async fn compare(aws: &Recorder, world: &World<'_>, token: &str, further: &[&str]) -> Said {
    let arguments = [&["compare", "--stack", NAME, "--secret-name-prefix", NAME], further].concat();
    said(
        command(&aws.url, &arguments)
            .await
            .env("CONSUL_HTTP_ADDR", &world.consul.address)
            .env("CONSUL_HTTP_TOKEN", token),
    )
    .await
}

/// Sweeps until the report says this of the instances: planned, done by others, still to do. `MiniStack` may keep the last lines
/// of an invocation until the function's next one, so that one sweep is not enough.
async fn eventually_says(aws: &Recorder, world: &World<'_>, token: &str, expected: [usize; 3]) -> (Value, Option<i32>) {
    eventually(&format!("the comparison to be {expected:?}"), SOON, || async {
        world.sweep(&json!({})).await.unwrap();
        let said = compare(aws, world, token, &["--output", "json"]).await;
        let document = said.json();
        let kinds = document["kinds"].as_array().unwrap();
        let instances = kinds.iter().find(|kind| kind["kind"] == "instances-deregistered");
        let numbers = instances.map(|it| ["planned", "doneByOthers", "stillToDo"].map(|field| it[field].clone()));
        if numbers == Some(expected.map(Value::from)) {
            Ok((document, said.code))
        } else {
            Err(format!("{document:#}{}", said.errors))
        }
    })
    .await
}

#[tokio::test]
async fn what_a_rival_does_and_what_nobody_does_are_told_apart() {
    let stack = Stack::shared().await;
    let consul = &stack.consul;
    let fixture = Fixture::get().await;
    let controller = consul.token_with_rules("controller-compared", &observing_policy()).await;
    let observing = [("Mode", "observe")];
    let world = fixture.deployment_of_its_own(consul, NAME, &controller.secret_id, &observing).await;
    let blocks = PAGE.split("```hcl\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let policy: String = blocks.map(|(block, _)| block).collect();
    let token = consul.token_with_rules("compare", &policy).await.secret_id;
    let aws = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;

    // Given two tasks that have stopped, which the stack observes
    let one = DataplaneTask::start(&world, Release::V0_9).await;
    let other = DataplaneTask::start(&world, Release::V0_9).await;
    let running = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    running.settle().await;
    for task in [&one, &other] {
        task.log_out().await;
        world.stop_task(&task.arn).await;
    }
    world.settled().await;
    let (_, code) = eventually_says(&aws, &world, &token, [4, 0, 4]).await;
    assert_eq!(code, Some(1));

    // When the other controller removes the instances of one, and sweeps do not report them any more
    one.forget().await;
    let (document, code) = eventually_says(&aws, &world, &token, [4, 2, 2]).await;
    assert_eq!(code, Some(1));
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/reference/schema/compare.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    let left: Vec<&str> =
        document["stillToDo"].as_array().unwrap().iter().map(|it| it["subject"].as_str().unwrap()).collect();
    assert_eq!(left, [other.instance(), other.sidecar()]);
    let slowest = &document["kinds"][0]["slowest"];
    assert!(slowest["atLeastSeconds"].as_u64() <= slowest["atMostSeconds"].as_u64(), "{slowest}");
    assert_eq!(permissions(&aws.requests()), documented("compare"));
    let text = compare(&aws, &world, &token, &[]).await;
    let last = text.out.lines().last().unwrap();
    assert!(last.starts_with("This controller would have made 4 changes since "), "{}", text.out);
    assert!(last.ends_with("; 2 remain, which Mode=act would make"), "{}", text.out);

    // And when it removes the others too, nothing is left
    other.forget().await;
    let (document, code) = eventually_says(&aws, &world, &token, [4, 4, 0]).await;
    assert_eq!((code, &document["stillToDo"]), (Some(0), &json!([])), "{document:#}");
    assert_eq!(world.service_ids().await, [running.instance(), running.sidecar()]);
}
