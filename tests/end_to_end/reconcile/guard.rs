//! The guard protects the living, not the dead: what is gone is removed without `force`.

use serde_json::json;

use super::world;
use local_stack::wait::{SOON, eventually};

#[tokio::test]
async fn stopped_tasks_are_removed_however_many_they_are() {
    let world = world("guard-stopped").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    for number in 0..12 {
        let task = world.run(&definition).await;
        world.register_instance(&service, &task).await;
        if number > 0 {
            world.stop(&task).await;
        }
    }
    let summary = world.swept().await;
    assert_eq!(summary["deleted"]["services"], 22, "{summary}");
    assert_eq!(world.service_ids().await.len(), 2);
}

#[tokio::test]
async fn an_empty_listing_waits_for_a_second_look() {
    let world = world("guard-nothing").await;
    let forgotten = format!("arn:aws:ecs:us-east-1:000000000000:task/guard-nothing/{}", "0".repeat(32));
    world.register_instance(&world.service(), &forgotten).await;
    let summary = world.swept().await;
    assert_eq!((&summary["deleted"], summary["waiting"].as_array().unwrap().len()), (&json!({}), 2), "{summary}");
    // Then the message that the sweep sent itself arrives
    eventually("the second look", SOON, || async {
        let left = world.service_ids().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}
