//! The guard protects the living, not the dead: what is gone is removed without `force`.

use serde_json::json;

use super::world;
use local_stack::wait::{SOON, eventually};

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
