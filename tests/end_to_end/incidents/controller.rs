//! The controller itself: nothing reads its queue, or it manages other clusters than it was meant to.

use local_stack::{
    Stack,
    deploy::{deploy, set_reading},
    world::World,
};
use serde_json::json;
use test_harness::ecs_agent::{DataplaneService, DataplaneTask, Release};

use super::{OnCall, deployment};

/// A healthy service, and an instance of a task that stopped so long ago that ECS no longer knows it. Its event is in the queue.
async fn with_a_stopped_task<'a>(world: &'a World<'a>) -> DataplaneTask<'a> {
    let task = DataplaneService::of(world, Release::V0_10).run_by_ecs_service(world, &json!([])).await;
    task.settle().await;
    let stopped = DataplaneTask::start(world, Release::V0_10).await;
    world.stop_task(&stopped.arn).await;
    stopped.set_hidden(true).await;
    stopped
}

#[tokio::test]
async fn a_blocked_queue() {
    let Stack { aws, consul } = Stack::shared().await;
    let world = deployment(consul, "incidents-queue", "night-queue", &[("Bootstrap", "none")]).await;
    let on_call = OnCall::of(&world).await;
    // Given a function that does not read its queue
    set_reading(aws, &world.deployed.function_name, false).await;
    with_a_stopped_task(&world).await;
    on_call.walks_through("A blocked queue").await;
    // When it does, the event is handled
    set_reading(aws, &world.deployed.function_name, true).await;
    world.settled().await;
    assert_eq!(world.service_ids().await.len(), 2);
    on_call.is_done_with("A blocked queue").await.unwrap();
}

#[tokio::test]
async fn a_wrong_cluster_pattern() {
    let consul = &Stack::shared().await.consul;
    // Given a controller of prod-*, for the cluster prod
    let parameters = [("Bootstrap", "none"), ("EcsClusterArns", "night-pattern-*")];
    let world = deployment(consul, "incidents-pattern", "night-pattern", &parameters).await;
    let on_call = OnCall::of(&world).await;
    let stopped = with_a_stopped_task(&world).await;
    world.settled().await;
    assert!(world.service_ids().await.contains(&stopped.instance()));
    on_call.walks_through("A wrong cluster pattern").await;
    // With the right pattern, a sweep deregisters it
    deploy(world.aws, world.prefix, &[("EcsClusterArns", "night-pattern*")]).await;
    world.swept().await;
    on_call.is_done_with("A wrong cluster pattern").await.unwrap();
}
