//! Tasks that cannot start: their image, their role or their secret is wrong.

use std::time::Duration;

use jiff::Timestamp;
use local_stack::{aws::ACCOUNT, world::World};
use mesh::consul_ecs::SERVICE_NAME_ENTITY_TAG;
use serde_json::json;
use test_harness::{
    aws_iam::{Session, create_role, is_supported},
    ecs_agent::{DataplaneService, DataplaneTask, MESH_INIT, Release},
};

use super::{OnCall, world};

#[tokio::test]
async fn a_mistyped_image_tag() {
    let world = world("night-image").await;
    let on_call = OnCall::of(&world).await;
    // Given a service whose task could not pull its image, as ECS reports it
    let task = DataplaneService::of(&world, Release::V0_10).run_by_ecs_service(&world, &json!([])).await;
    let reason = "CannotPullContainerError: pull image manifest has been retried 1 time(s): failed to resolve ref \
                  docker.io/example/app:1: docker.io/example/app:1: not found";
    let next = task.fail_to_start(reason).await;
    on_call.walks_through("A mistyped image tag").await;
    // With the right image, the next task starts
    next.start_containers().await;
    next.settle().await;
    on_call.is_done_with("A mistyped image tag").await.unwrap();
}

/// Sets the tag of a role that names its service, or removes it.
async fn tag_role(world: &World<'_>, role: &str, service: Option<&str>) {
    let iam = aws_sdk_iam::Client::new(&world.aws.sdk());
    match service {
        Some(service) => {
            let tag = aws_sdk_iam::types::Tag::builder().key(SERVICE_NAME_ENTITY_TAG).value(service).build();
            iam.tag_role().role_name(role).tags(tag.expect("a tag")).send().await.expect("TagRole");
        }
        None => {
            drop(iam.untag_role().role_name(role).tag_keys(SERVICE_NAME_ENTITY_TAG).send().await.expect("UntagRole"));
        }
    }
}

/// An auth method of this name, as the controller sets up the one of services, with AWS at `MiniStack`.
async fn create_method(world: &World<'_>, name: &str) {
    let config = json!({
        "BoundIAMPrincipalARNs": [format!("arn:aws:iam::{ACCOUNT}:role/consul-ecs/*")],
        "EnableIAMEntityDetails": true,
        "IAMEntityTags": [SERVICE_NAME_ENTITY_TAG],
        "STSEndpoint": world.aws.endpoint,
        "IAMEndpoint": world.aws.endpoint,
    });
    world.consul.put("/v1/acl/auth-method", &json!({ "Name": name, "Type": "aws-iam", "Config": config })).await;
    let service = format!("${{entity_tags.{SERVICE_NAME_ENTITY_TAG}}}");
    let binding = json!({ "AuthMethod": name, "BindType": "service", "BindName": service });
    world.consul.put("/v1/acl/binding-rule", &binding).await;
}

/// A login with a role, as its task makes it. `Err` is the refusal. `None` if this Consul has no auth methods of type `aws-iam`.
async fn log_in(task: &DataplaneTask<'_>, method: &str, role: &str) -> Option<Result<(), String>> {
    let World { aws, consul, .. } = task.world();
    if !is_supported() {
        return None;
    }
    let meta = json!({ "consul.hashicorp.com/task-id": task.id() });
    Some(Session::of(aws, role, task.id()).await.log_in_at(method, consul, &meta).await.map(|_| ()))
}

#[tokio::test]
async fn a_task_role_without_its_tag() {
    let world = world("night-role").await;
    let (on_call, service, method) = (OnCall::of(&world).await, world.service(), "night-role");
    if is_supported() {
        create_method(&world, method).await;
    }
    // Given a role without its tag, so that Consul refuses the login of its task
    let role = create_role(world.aws, &service).await;
    tag_role(&world, &service, None).await;
    let mut defined =
        DataplaneService { task_role: Some(role.clone()), ..DataplaneService::of(&world, Release::V0_10) };
    defined.config["consulLogin"] = json!({ "enabled": true, "method": method });
    let task = defined.run_by_ecs_service(&world, &json!([])).await;
    assert!(log_in(&task, method, &role).await.is_none_or(|login| login.is_err()));
    // And mesh-init has tried for a while, and logs what Consul answers by gRPC
    task.set_created(Timestamp::now() - Duration::from_mins(20)).await;
    let refused = "[ERROR] connection error: error=\"rpc error: code = Internal desc = failed to create token\"";
    task.write_log(MESH_INIT, &[refused]).await;
    on_call.walks_through("A task role without its tag").await;
    // With the tag, the task logs in
    tag_role(&world, &service, Some(&service)).await;
    assert!(log_in(&task, method, &role).await.is_none_or(|login| login.is_ok()));
    task.settle().await;
    on_call.is_done_with("A task role without its tag").await.unwrap();
}

#[tokio::test]
async fn an_emptied_secret() {
    let world = world("night-secret").await;
    let (on_call, service) = (OnCall::of(&world).await, world.service());
    // Given a service of consul-ecs 0.2 to 0.4, with its token in the controller's secret
    let definition = world.mesh_definition(&service).await;
    let body = json!({
        "cluster": world.name, "serviceName": service, "taskDefinition": definition.0, "desiredCount": 1,
        "launchType": "FARGATE", "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
    });
    world.ecs_call("CreateService", &body).await;
    let listed = world.ecs_call("ListTasks", &json!({ "cluster": world.name, "serviceName": service })).await;
    let task = DataplaneTask::new(&world, Release::V0_8, &service, listed["taskArns"][0].as_str().unwrap());
    world.deliver(&[world.event(&task.arn).await]).await;
    let secret = world.secret_name(&service);
    let lost = world.provisioned(&secret).await;
    // And it has been emptied, so that its next task does not start, as ECS reports it
    let put = world.aws.secrets().put_secret_value().secret_id(&secret).secret_string(json!({}).to_string());
    put.send().await.expect("PutSecretValue");
    let reason = "ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval failed: \
                  unable to retrieve secret from asm: service call has been retried 1 time(s): retrieved secret from Secrets \
                  Manager did not contain json key token";
    let next = task.fail_to_start(reason).await;
    on_call.walks_through("An emptied secret").await;
    // After a sweep, the secret has a token again, and the next task starts
    let swept = on_call.types("ecs-mesh sweep --cluster prod --yes").await;
    assert_eq!(swept.code, Some(0), "{}{}", swept.out, swept.errors);
    assert_ne!(world.provisioned(&secret).await, lost);
    next.start_containers().await;
    world.register_instance(&service, &next.arn).await;
    on_call.is_done_with("An emptied secret").await.unwrap();
}
