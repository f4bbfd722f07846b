//! What the guard holds back: in a Consul with login tokens, while ECS counts more tasks than it lists.

use super::*;

/// A task that ECS does not know, with its number.
fn unknown_task(world: &World<'_>, number: u8) -> String {
    format!("arn:aws:ecs:us-east-1:000000000000:task/{}/{number:032x}", world.name)
}

/// A task that ECS does not know has registered `service`, and logged in.
async fn leave_behind(world: &World<'_>, method: &JwtAuthMethod<'_>, service: &str, number: u8) -> String {
    let task = unknown_task(world, number);
    world.register_instance(service, &task).await;
    method.log_in_task(service, &world.cluster(), task_id(&task)).await.secret_id
}

/// ECS counts this many tasks in each cluster.
fn counting(tasks: usize, world: &World<'_>) -> impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static {
    let cluster = json!({ "clusterArn": world.cluster(), "status": "ACTIVE", "runningTasksCount": tasks });
    let answer = json!({ "clusters": [cluster] }).to_string();
    move |seen, _| match seen.operation().as_deref() {
        Some("DescribeClusters") => Answer::ok(answer.clone()),
        _ => Answer::Forward,
    }
}

#[tokio::test]
async fn a_large_share_trips_the_guard() {
    let world = World::without_deployment("guard-share").await;
    let method = JwtAuthMethod::create(world.consul, "guard-share").await;
    // Given a service with many tasks that ECS does not know, and another one with one
    let (flood, other) = (format!("{}-flood", world.name), format!("{}-other", world.name));
    let mut tokens = Vec::new();
    for number in 0..12 {
        tokens.push(leave_behind(&world, &method, &flood, number).await);
    }
    let gone = leave_behind(&world, &method, &other, 99).await;
    // When ECS counts a task that it does not list
    let incomplete = environment(&world, forward, counting(1, &world), &[], an_hour_later).await;
    let report = swept(&incomplete, &SweepOrder::default()).await;
    // Then the first service is held back, and the other one is removed
    assert_eq!(report.outcome, SweepOutcome::GuardTripped, "{report:?}");
    let (cluster, why) = (&report.clusters[0], report.clusters[0].guard.as_deref().unwrap());
    assert!(why.contains(&format!("12 of 12 tasks of service {flood}, more than MaxDeletePercent (30 %)")), "{why}");
    assert!(why.contains("counts 1 running and pending tasks in the cluster, and lists 0"), "{why}");
    assert_eq!(cluster.blocked.len(), 36, "each task has an instance, a proxy and a token: {report:?}");
    assert!(world.is_valid(&tokens[0]).await && !world.is_valid(&gone).await);
    assert!(world.service_ids().await.iter().all(|id| id.starts_with(&flood)));
    assert_eq!(world.service_ids().await.len(), 24);
    // And with `force` it is removed
    let report = swept(&incomplete, &SweepOrder { force: true, ..SweepOrder::default() }).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    assert_eq!(world.service_ids().await, Vec::<String>::new());
}
