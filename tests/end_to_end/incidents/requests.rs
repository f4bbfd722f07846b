//! Running tasks that get no requests: nothing permits them, a proxy has ended, or a host has.

use local_stack::{
    aws::Aws,
    http::Answer,
    wait::{SOON, eventually},
};
use reqwest::Method;
use serde_json::json;
use test_harness::ecs_agent::{DATAPLANE, DataplaneService, Release};

use super::{OnCall, world};

#[tokio::test]
async fn a_forgotten_intention() {
    let world = world("night-intention").await;
    let on_call = OnCall::of(&world).await;
    // Given two healthy services, and a proxy that leads from one to the other
    let [web, api] = ["web", "api"].map(|name| format!("{}-{name}", world.name));
    for name in [&web, &api] {
        let task = DataplaneService::named(name, Release::V0_10).run_by_ecs_service(&world, &json!([])).await;
        task.settle().await;
        if *name == web {
            task.register_upstreams(&json!([{ "DestinationName": api, "LocalBindPort": 1234 }])).await;
        }
    }
    on_call.walks_through("A forgotten intention").await;
    // With the intention, nothing stops the requests
    let intention = json!({ "SourceName": web, "DestinationName": api, "Action": "allow" });
    let token = &world.consul.management_token;
    let created = world.consul.call(Method::POST, "/v1/connect/intentions", token, Some(&intention)).await;
    assert_eq!(created.status, 200, "{:?}", created.body);
    on_call.is_done_with("A forgotten intention").await.unwrap();
}

#[tokio::test]
async fn a_proxy_out_of_memory() {
    let world = world("night-proxy").await;
    let on_call = OnCall::of(&world).await;
    // Given a service of two tasks, one of which has lost its proxy
    let service = DataplaneService::of(&world, Release::V0_10);
    let tasks = service.create_ecs_service(&world, 2, &json!([])).await;
    for task in &tasks {
        task.settle().await;
    }
    tasks[0].report_killed(DATAPLANE, "OutOfMemoryError: Container killed due to memory usage").await;
    world.deliver(&[world.event(&tasks[0].arn).await]).await;
    world.settled().await;
    eventually("the log to say who drained the task", SOON, || async {
        let said = on_call.types("ecs-mesh why web --cluster prod").await;
        if said.out.contains("The controller drained it at ") { Ok(()) } else { Err(said.out) }
    })
    .await;
    on_call.walks_through("A proxy out of memory").await;
    // Without the task, the other one is healthy
    world.stop_task(&tasks[0].arn).await;
    world.settled().await;
    on_call.is_done_with("A proxy out of memory").await.unwrap();
}

/// Calls EC2, and returns the ID of the first instance in the answer.
async fn ec2(aws: &Aws, parameters: &[(&str, &str)]) -> String {
    let request = aws.request(Method::GET, "/", "ec2").query(&[("Version", "2016-11-15")]).query(parameters);
    let answer = Answer::to(request).await.and_then(Answer::success).expect("an answer of EC2");
    let xml = answer.as_str().expect("XML");
    let (_, rest) = xml.split_once("<instanceId>").unwrap_or_else(|| panic!("no instance: {xml}"));
    rest.split('<').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_host_that_is_gone() {
    let world = world("night-host").await;
    let on_call = OnCall::of(&world).await;
    let service = DataplaneService::of(&world, Release::V0_10);
    let tasks = service.create_ecs_service(&world, 3, &json!([])).await;
    for task in &tasks {
        task.settle().await;
    }
    let [task, ..] = tasks.as_slice() else { panic!("no task") };
    // Given a host that has been stopped, which ECS knows as a lost agent only
    let run = [("Action", "RunInstances"), ("ImageId", "ami-0123456789abcdef0"), ("MinCount", "1"), ("MaxCount", "1")];
    let instance = ec2(world.aws, &run).await;
    task.run_on(&instance).await;
    ec2(world.aws, &[("Action", "StopInstances"), ("InstanceId.1", &instance)]).await;
    task.lose_contact().await;
    // And the sweep has asked EC2
    world.swept().await;
    eventually("the log to say who drained the task", SOON, || async {
        let said = on_call.types("ecs-mesh why web --cluster prod").await;
        if said.out.contains("the controller put it into maintenance mode at ") { Ok(()) } else { Err(said.out) }
    })
    .await;
    on_call.walks_through("A host that is gone").await;
    // Another task takes its place
    world.stop_task(&task.arn).await;
    world.settled().await;
    on_call.is_done_with("A host that is gone").await.unwrap();
}
