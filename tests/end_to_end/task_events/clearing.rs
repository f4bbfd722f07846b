//! Login tokens, services, sidecar proxies and checks of stopping and stopped tasks.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use local_stack::world;
use test_harness::jwt::JwtAuthMethod;

#[tokio::test]
async fn only_logins_and_services_of_the_stopped_task_are_deleted() {
    let world = Fixture::login("login-tokens").await;
    let other = Fixture::login("login-tokens-other").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let (stopping, staying) = (world.run(&definition).await, world.run(&definition).await);
    let method = JwtAuthMethod::create(world.consul, "login-tokens").await;
    let log_in =
        async |cluster: &str, task: &str| method.log_in_task(&service, cluster, world::task_id(task)).await.secret_id;
    let gone = [log_in(&world.cluster(), &stopping).await, log_in(&world.cluster(), &stopping).await];
    // The same task ID in another cluster, another task, and a login without a task's meta
    let kept = [
        log_in(&other.cluster(), &stopping).await,
        log_in(&world.cluster(), &staying).await,
        method.log_in(&service, &json!({ "consul.hashicorp.com/task-id": world::task_id(&stopping) })).await.secret_id,
    ];
    for task in [&stopping, &staying] {
        world.register_instance(&service, task).await;
    }
    assert_eq!(world.service_ids().await.len(), 4);
    world.stop_task(&stopping).await;
    world.settled().await;
    for token in gone {
        assert!(!world.is_valid(&token).await, "a login token of the stopped task is left");
    }
    for token in kept {
        assert!(world.is_valid(&token).await, "a login token of another owner was deleted");
    }
    assert_eq!(world.service_ids().await, world::instance_ids(&service, &staying));
    assert_eq!(world.checks_of(&stopping).await, Vec::<Value>::new());
    assert_eq!(world.checks_of(&staying).await.len(), 3);
}
