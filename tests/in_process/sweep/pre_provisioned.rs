//! Pre-provisioned tokens: how long they wait for their service's first task.

use jiff::{SignedDuration, Timestamp};
use observe::SweepOrder;
use serde_json::{Value, json};

use crate::{
    environment::Environment,
    sweep::{environment_at, swept},
};
use local_stack::world::{Definition, Pair, World};

async fn hours_later(world: &World<'_>, hours: i64) -> Environment {
    environment_at(world, Timestamp::now() + SignedDuration::from_hours(hours)).await
}

fn registered(definition: &Definition) -> Value {
    json!({
        "source": "aws.ecs", "detail-type": "AWS API Call via CloudTrail", "time": "2026-11-21T10:00:00Z",
        "detail": {
            "eventSource": "ecs.amazonaws.com", "eventName": "RegisterTaskDefinition",
            "responseElements": { "taskDefinition": { "taskDefinitionArn": definition.0 } },
        },
    })
}

async fn handled(environment: &Environment, event: Value) {
    let report = environment.handle(&[event]).await;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

/// A service whose task definition was just registered, and its pre-provisioned token.
async fn pre_provisioned(world: &World<'_>) -> (Definition, Pair) {
    let definition = world.mesh_definition(&world.service()).await;
    handled(&hours_later(world, 0).await, registered(&definition)).await;
    let pair = world.pair(&world.secret_name(&world.service())).await.expect("a pre-provisioned token");
    (definition, pair)
}

/// The time since which the token is unused, if it is marked as unused.
async fn unused_since(world: &World<'_>, pair: &Pair) -> Option<Timestamp> {
    let token = world.consul.get(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    let mut lines = token["Description"].as_str().unwrap().lines();
    lines.find_map(|line| line.strip_prefix("ecs-mesh-controller/unused-since: ")).map(|at| at.parse().unwrap())
}

#[tokio::test]
async fn a_new_registration_restarts_the_wait() {
    let world = World::without_deployment("registered-again").await;
    let (definition, pair) = pre_provisioned(&world).await;
    let first = unused_since(&world, &pair).await.expect("it waits");
    // Shortly afterwards, the mark is not renewed
    let soon = hours_later(&world, 1).await;
    handled(&soon, registered(&definition)).await;
    assert!(soon.consul.lines().iter().all(|line| line.starts_with("GET")), "{:?}", soon.consul.lines());
    assert_eq!(unused_since(&world, &pair).await, Some(first));
    // When the wait is nearly over, the mark is renewed
    handled(&hours_later(&world, 23).await, registered(&definition)).await;
    let anew = unused_since(&world, &pair).await.expect("it still waits");
    assert!(anew.duration_since(first) >= SignedDuration::from_hours(22), "{first} {anew}");
    swept(&hours_later(&world, 25).await, &SweepOrder::default()).await;
    assert!(world.is_valid(&pair.token).await);
    let report = swept(&hours_later(&world, 48).await, &SweepOrder::default()).await;
    assert_eq!(report.clusters[0].hidden, 1, "{report:?}");
}

#[tokio::test]
async fn a_stale_event_keeps_the_wait() {
    let world = World::without_deployment("redriven").await;
    let (definition, pair) = pre_provisioned(&world).await;
    let task = world.run(&definition).await;
    let mut old = world.event_as(&task, "PENDING", "RUNNING", 2).await;
    let long_ago = Timestamp::now() - SignedDuration::from_mins(20);
    old["time"] = json!(long_ago.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    world.stop(&task).await;
    let environment = hours_later(&world, 0).await;
    handled(&environment, old.clone()).await;
    assert!(unused_since(&world, &pair).await.is_some(), "it is still unused");
    swept(&environment, &SweepOrder::default()).await;
    assert!(world.is_valid(&pair.token).await);
    // The old event of a running task ends the wait
    old["detail"]["taskArn"] = json!(world.run(&definition).await);
    handled(&environment, old.clone()).await;
    assert_eq!(unused_since(&world, &pair).await, None);
    // And without the mark, an old event costs no call of ECS
    let cold = hours_later(&world, 0).await;
    handled(&cold, old).await;
    assert!(!cold.aws.operations().contains(&"DescribeTasks".to_owned()), "{:?}", cold.aws.operations());
}
