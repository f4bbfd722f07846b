//! Tokens that somebody has deleted.

use local_stack::{
    wait::{SOON, eventually},
    world::task_id,
};
use serde_json::json;
use test_harness::ecs_agent::{DataplaneService, Release};

use super::{last_line, why, world};

#[tokio::test]
async fn a_revoked_login_token_is_found_and_who_deleted_it_is_said() {
    let world = world("why-login-token").await;
    let mut service = DataplaneService::of(&world, Release::V0_9);
    service.config["consulLogin"] = json!({ "enabled": true, "method": world.name });
    let tasks = service.create_ecs_service(&world, 2, &json!([])).await;
    for task in &tasks {
        task.settle().await;
    }
    assert_eq!(last_line(&world, tasks[0].id()).await, ("healthy".to_owned(), Some(0)));
    // When somebody deletes the token of one
    tasks[0].log_out().await;
    let (line, code) = last_line(&world, tasks[0].id()).await;
    let expected = "Consul has none of its login tokens any more, so that its proxy gets no new endpoints, and nobody is known to have \
                    deleted it: the controller's log since ";
    assert!(line.starts_with(expected) && line.ends_with("(with LogLevel=info it would): replace the task"), "{line}");
    assert_eq!(code, Some(1));
    assert_eq!(last_line(&world, tasks[1].id()).await.0, "healthy");
}

#[tokio::test]
async fn a_revoked_token_of_a_service_is_found() {
    let world = world("why-service-token").await;
    let service = world.service();
    let task = world.start_task(&world.mesh_definition(&service).await).await;
    let pair = world.provisioned(&world.secret_name(&service)).await;
    world.settled().await;
    world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    let id = task_id(&task);
    let (line, code) = last_line(&world, id).await;
    let expected = format!(
        "Consul does not have the token of the service {service} any more, which its tasks read from \
         why-{service} and why-consul-client-token, and nobody is known to have deleted it"
    );
    assert!(line.starts_with(&expected), "{line}");
    assert_eq!(code, Some(1));
    // And the timeline has its creation
    eventually("the creation of the token in the timeline", SOON, || async {
        let said = why(&world, &service, &[]).await;
        let created = format!("created the token {} of the service {service}", pair.accessor_id);
        if said.out.contains(&created) { Ok(()) } else { Err(said.out) }
    })
    .await;
}
