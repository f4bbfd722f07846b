//! Services.

use local_stack::{
    Stack,
    wait::{SOON, eventually},
    world::mesh_tags,
};
use serde_json::json;
use test_harness::{
    ecs_agent::{DataplaneService, Release, SYNCED},
    recorder::{Answer, Recorder},
};

use super::{last_line, token, why, why_at, world};

#[tokio::test]
async fn a_drained_service_says_by_whom() {
    let world = world("why-drained").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.settle().await;
    // As somebody drains it by hand
    let check = json!({
        "Node": world.cluster(), "CheckID": format!("_service_maintenance:{}", task.instance()),
        "Name": "Service Maintenance Mode", "Status": "critical", "Notes": "backup until noon", "ServiceID": task.instance(),
    });
    world.register_raw(&json!({ "Checks": [check] })).await;
    let (line, code) = last_line(&world, &world.service()).await;
    let by = "It is drained, and not by the controller: somebody put its instance into Consul's maintenance mode (backup until noon)";
    assert!(line.contains(by), "{line}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_service_is_told_with_the_stops_of_its_tasks() {
    let world = world("why-service").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.settle().await;
    task.report_stopped(SYNCED[0], 3).await;
    world.deliver(&[world.event(&task.arn).await]).await;
    world.settled().await;
    let service = world.service();
    let said = eventually("the deregistration in the timeline", SOON, || async {
        let said = why(&world, &service, &[]).await;
        let deregistered = format!("task {}: deregistered {}", task.id(), task.instance());
        if said.out.contains(&deregistered) { Ok(said) } else { Err(said.out) }
    })
    .await;
    let line = said.out.lines().last().unwrap();
    // ECS may have started another one already
    let expected = format!("{}: It stopped, because its essential container app exited with 3", task.id());
    assert!(line.contains(&expected), "{line}");
    assert_eq!(said.code, Some(1));
}

#[tokio::test]
async fn a_service_in_two_clusters_is_asked_for_its_cluster() {
    let (one, two) = (world("why-twice").await, world("why-healthy").await);
    let name = "why-in-both";
    for world in [&one, &two] {
        let mut service = DataplaneService::of(world, Release::V0_9);
        service.config["service"]["name"] = json!(name);
        (service.name, service.tags) = (name.to_owned(), mesh_tags(name));
        service.run(world).await;
    }
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let both = ["--cluster", one.name, "--cluster", two.name];
    let said = why_at(&aws.url, &one.consul.address, token().await, name, &both).await;
    assert_eq!(said.code, Some(2));
    let expected = "there are several services \"why-in-both\": why-in-both (cluster why-healthy), why-in-both (cluster why-twice); \
                    choose one by --cluster, ";
    assert!(said.errors.contains(expected), "{}", said.errors);
    assert_eq!(why(&one, name, &[]).await.code, Some(1), "it is starting");
}
