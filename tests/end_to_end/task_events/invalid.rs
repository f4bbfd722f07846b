//! Invalid messages.

use serde_json::json;

use crate::fixture::Fixture;
use local_stack::wait::{SOON, eventually};

#[tokio::test]
async fn poison_messages_fail_alone() {
    let world = Fixture::tokens("poison").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let task = world.run(&definition).await;
    let good = world.event(&task).await;
    let bad_name = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/service-name", "value": "Not Legal" },
    ]);
    let lonely = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/partition", "value": "p" },
    ]);
    let bad_name = world.run(&world.definition(&format!("{}-bad-name", world.name), &bad_name, None).await).await;
    let lonely = world.run(&world.definition(&format!("{}-lonely-tag", world.name), &lonely, None).await).await;
    let mut no_status = good.clone();
    no_status["detail"]["lastStatus"] = json!(null);
    let mut no_arn = good.clone();
    no_arn["detail"].as_object_mut().unwrap().remove("taskArn");
    let bodies = [
        format!("{{\"this is not\": JSON, {}", world.name),
        no_status.to_string(),
        no_arn.to_string(),
        world.event(&bad_name).await.to_string(),
        world.event(&lonely).await.to_string(),
        good.to_string(),
    ];
    world.deliver_raw(&bodies).await;
    world.provisioned(&world.secret_name(&service)).await;
    // A message that cannot be parsed is not lost. A tag that only its author can correct keeps no alarm on.
    eventually("three messages in the dead-letter queue, and none in the other", SOON, || async {
        let dead = world.waiting(&world.deployed.failed_queue_url).await;
        let left = world.waiting(&world.deployed.queue_url).await;
        if dead.len() == 3 && left.is_empty() { Ok(()) } else { Err(format!("{dead:#?}\n{left:#?}")) }
    })
    .await;
}
