//! The story of a task.

use serde_json::{Value, json};
use test_harness::ecs_agent::{DataplaneTask, MESH_INIT, Release};

use super::{eventually_because, why, world};

#[tokio::test]
async fn a_task_that_ecs_has_forgotten_is_told_from_the_log() {
    let world = world("why-forgotten").await;
    let task = DataplaneTask::start(&world, Release::V0_9).await;
    world.stop(&task.arn).await;
    // Given the end of a task that ECS does not know
    let forgotten = "f0".repeat(16);
    let mut event = world.event(&task.arn).await;
    event["detail"]["stopCode"] = json!("EssentialContainerExited");
    event["detail"]["stoppedReason"] = json!("Essential container in task exited");
    event["detail"]["containers"] = json!([
        { "name": MESH_INIT, "exitCode": 0 },
        { "name": "app", "exitCode": 137, "reason": "OutOfMemoryError: Container killed due to memory usage" },
    ]);
    world.deliver_raw(&[event.to_string().replace(task.id(), &forgotten)]).await;
    world.settled().await;
    // When an operator asks later
    let said = eventually_because(&world, &forgotten, "out-of-memory").await;
    let document = said.json();
    assert_eq!(said.code, Some(1), "{document:#}");
    assert_eq!(document["subject"]["cluster"], world.cluster());
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/schema/why.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    // And an unknown task does not count as ended
    let said = why(&world, &"0e".repeat(16), &[]).await;
    assert_eq!(said.code, Some(2));
    let searched = "(searched: cluster why-forgotten; the log of stack why since ";
    assert!(said.out.lines().last().unwrap().contains(searched), "{}", said.out);
}
