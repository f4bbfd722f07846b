//! Login tokens, services, sidecar proxies and checks of stopping and stopped tasks.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use local_stack::{
    wait::{SOON, eventually},
    world,
};
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
    let left = format!("{service}-{}", world::task_id(&staying));
    assert_eq!(world.service_ids().await, [left.clone(), format!("{left}-sidecar-proxy")]);
    assert_eq!(world.checks_of(&stopping).await, Vec::<Value>::new());
    assert_eq!(world.checks_of(&staying).await.len(), 3);
}

#[tokio::test]
async fn auth_method_mode_creates_nothing() {
    let world = Fixture::login("creates-nothing").await;
    let definition = world.mesh_definition(&world.service()).await;
    world.start_task(&definition).await;
    world.settled().await;
    assert_eq!(world.tokens_about(world.name).await, Vec::<Value>::new());
    assert_eq!(world.secret_text(&world.secret_name(&world.service())).await, None);
    // And the log says that the definition contradicts the mode
    eventually("the contradiction in the log", SOON, || async {
        let lines = world.aws.logs(&world.deployed.log_group).await;
        let is_it = |line: &&String| line.contains("contradiction") && line.contains(&definition.0);
        lines.iter().find(is_it).map(drop).ok_or_else(|| format!("{} lines without it", lines.len()))
    })
    .await;
}

#[tokio::test]
async fn a_stopping_task_gets_no_traffic() {
    let world = Fixture::login("told-to-stop").await;
    let definition = world.mesh_definition(&world.service()).await;
    let (stopping, staying) = (world.run(&definition).await, world.run(&definition).await);
    world.register_instance(&world.service(), &stopping).await;
    world.register_instance(&world.service(), &staying).await;
    let (before, of_staying) = (world.checks_of(&stopping).await, world.checks_of(&staying).await);
    world.deliver(&[world.event_as(&stopping, "RUNNING", "STOPPED", 9).await]).await;
    world.settled().await;
    // Neither the service nor its proxy gets traffic, as in an agent's maintenance mode
    let left = format!("{}-{}", world.service(), world::task_id(&staying));
    let proxies = format!("{}-sidecar-proxy", world.service());
    assert_eq!(world.passing(&proxies).await, [format!("{left}-sidecar-proxy")]);
    assert_eq!(world.passing(&world.service()).await, [left]);
    let (drains, after): (Vec<Value>, Vec<Value>) =
        world.checks_of(&stopping).await.into_iter().partition(|check| check["Type"] == "maintenance");
    assert_eq!(drains.len(), 2, "{drains:?}");
    // And no other check has changed
    assert_eq!((after, world.checks_of(&staying).await), (before, of_staying));
    assert_eq!(world.service_ids().await.len(), 4, "the task is still registered: it is not stopped yet");
}
