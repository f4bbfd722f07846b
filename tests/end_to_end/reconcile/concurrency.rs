//! Concurrent sweeps and events.

use serde_json::json;

use super::world;

#[tokio::test]
async fn concurrent_sweeps_and_events_converge() {
    let world = world("side-by-side").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let mut events = Vec::new();
    for number in 0..9 {
        let task = world.run(&definition).await;
        world.register_instance(&service, &task).await;
        if number % 3 == 0 {
            world.stop(&task).await;
        }
        events.push(world.event(&task).await);
    }
    let order = json!({ "clusters": [world.cluster()], "force": true });
    let (one, two, ()) = tokio::join!(
        world.aws.invoke(&world.deployed.reconcile, &order),
        world.aws.invoke(&world.deployed.reconcile, &order),
        world.deliver(&events),
    );
    // A sweep with too many conflicts may be incomplete, and has no other error
    for error in [one, two].into_iter().filter_map(Result::err) {
        assert_eq!(error["errorType"], "incomplete", "{error}");
    }
    world.events_handled().await;
    world.swept().await;
    assert_eq!(world.service_ids().await.len(), 12);
    world.provisioned(&world.secret_name(&service)).await;
    let tokens = world.tokens_about(&format!("Token for {service} service")).await;
    assert_eq!(tokens.len(), 1, "{tokens:?}");
}
