//! Attacks: who may call `ecs:RunTask` cannot make the controller register a task as a service that this Consul has not let it
//! log in as.

use aws::iam::{AwsIam, IamRoles as _};
use local_stack::world::World;
use mesh::admission::RoleArn;
use serde_json::{Value, json};
use test_harness::ecs_agent::{DataplaneService, DataplaneTask, MESH_INIT, Release};

use super::{why_skipped, world};

/// A running, healthy task whose container `mesh-init` has exited with 0, and has neither logged in nor registered anything.
async fn claiming<'a>(service: &DataplaneService, world: &'a World<'a>) -> DataplaneTask<'a> {
    let task = service.run(world).await;
    task.report_stopped(MESH_INIT, 0).await;
    task.report_all_healthy().await;
    task
}

async fn assert_not_registered(task: &DataplaneTask<'_>, reason: &str) {
    let swept = task.world().swept().await;
    assert_eq!(swept["repaired"], 0, "{swept}");
    assert!(why_skipped(&swept, task).is_some_and(|why| why.contains(reason)), "{swept}");
    assert!(!task.world().service_ids().await.contains(&task.instance()), "{}", task.instance());
}

#[tokio::test]
async fn a_task_that_only_claims_a_service_is_not_registered() {
    let world = &world("impostor").await;
    // Given a service with a task that is in the mesh
    let service = DataplaneService::of(world, Release::V0_10);
    let member = service.run(world).await;
    let _health_sync = member.settle().await;
    // When another task's configuration names that service
    let impostor = claiming(&service, world).await;
    assert_not_registered(&impostor, "no login token").await;
    // Also if it has logged in as what its own identity is
    impostor.log_in("team-a").await;
    assert_not_registered(&impostor, "that of team-a").await;
    // Then the true member keeps its place
    assert!(world.service_ids().await.contains(&member.instance()));
}

#[tokio::test]
async fn a_token_that_was_not_created_by_a_login_proves_nothing() {
    let world = &world("misdescribed").await;
    let service = DataplaneService::of(world, Release::V0_10);
    let task = claiming(&service, world).await;
    // Given a token with the identity of the service, whose description is that of a login of the task
    let meta = json!({ "consul.hashicorp.com/cluster": world.cluster(), "consul.hashicorp.com/task-id": task.id() });
    let body: Value = json!({
        "Description": format!("token created via login: {meta}"),
        "ServiceIdentities": [{ "ServiceName": service.name }],
    });
    world.consul.put("/v1/acl/token", &body).await;
    assert_not_registered(&task, "no login token").await;
}

#[tokio::test]
async fn a_task_of_another_consul_in_the_same_cluster_is_not_registered() {
    let world = &world("two-consuls").await;
    // Given a service with a task that has logged in here
    let mut service = DataplaneService::of(world, Release::V0_10);
    let member = service.run(world).await;
    let _health_sync = member.settle().await;
    // And a task of the same service, which has logged in at another Consul
    service.config["consulLogin"] = json!({ "enabled": true });
    service.config["consulServers"]["hosts"] = json!("consul.other.internal");
    service.task_role = Some("arn:aws:iam::000000000000:role/consul-ecs/two-consuls".to_owned());
    let elsewhere = claiming(&service, world).await;
    // Then a sweep leaves it to that Consul
    assert_not_registered(&elsewhere, "no login token").await;
    assert_not_registered(&elsewhere, "its consulServers.hosts is not known to be the Consul of this controller").await;
    assert!(world.service_ids().await.contains(&member.instance()));
}

#[tokio::test]
async fn a_role_of_iam_is_read_with_its_tags() {
    let world = world("iam-role").await;
    let client = aws_sdk_iam::Client::new(&world.aws.sdk());
    let (key, value) = ("consul.hashicorp.com.service-name", "orders");
    let tag = aws_sdk_iam::types::Tag::builder().key(key).value(value).build().expect("a tag");
    let create = client.create_role().path("/consul-ecs/").role_name("iam-role-orders").tags(tag);
    let trust = json!({ "Version": "2012-10-17", "Statement": [] }).to_string();
    let created = create.assume_role_policy_document(trust).send().await.expect("CreateRole").role.expect("a role");
    // When the controller's client reads it
    let iam = AwsIam::new(&world.aws.sdk());
    let arn: RoleArn = created.arn().parse().expect("an ARN");
    let read = iam.role(&arn).await.expect("GetRole").expect("the role");
    // Then it has its ARN with the path, its tags and its age
    assert_eq!((&read.arn, read.tags.get(key).map(String::as_str)), (&arn, Some(value)));
    assert_eq!(read.created_at.as_second(), created.create_date().secs());
    // And one that does not exist is none
    let missing: RoleArn = created.arn().replace("orders", "nothing").parse().expect("an ARN");
    assert_eq!(iam.role(&missing).await.expect("GetRole"), None);
}
