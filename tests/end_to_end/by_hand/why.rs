//! `ecs-mesh why`: each question that people ask, on the deployed stack with a real Consul. The last line names the cause.

use local_stack::{
    Stack,
    deploy::{Deployed, deploy},
    wait::{SOON, eventually},
    world::{World, mesh_tags},
};
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DATAPLANE, DataplaneService, DataplaneTask, MESH_INIT, Release, SYNCED},
    jwt::JwtAuthMethod,
    recorder::{Answer, Recorder},
};
use tokio::sync::OnceCell;

use super::{PAGE, Said, command, documented, permissions, said};
use crate::fixture::controller_token;

const STACK: &str = "why";

/// The clusters of the deployment: one for each test.
const CLUSTERS: [&str; 13] = [
    "why-healthy",
    "why-unhealthy",
    "why-mesh-init",
    "why-forgotten",
    "why-login-token",
    "why-service-token",
    "why-drained",
    "why-proxy",
    "why-guard",
    "why-lost",
    "why-service",
    "why-unread",
    "why-twice",
];

/// A cluster of the deployment.
async fn world(name: &'static str) -> World<'static> {
    static DEPLOYED: OnceCell<Deployed> = OnceCell::const_new();
    assert!(CLUSTERS.contains(&name), "{name} is not among the deployment's clusters");
    World::new(Stack::shared().await, DEPLOYED.get_or_init(deployed).await, STACK, name)
}

/// Deploys with the default `LogLevel`, `info`.
async fn deployed() -> Deployed {
    let stack = Stack::shared().await;
    for cluster in CLUSTERS {
        stack.aws.ecs().create_cluster().cluster_name(cluster).send().await.expect("CreateCluster");
    }
    let token = controller_token(&stack.consul, STACK).await;
    let secret = stack.aws.secrets().create_secret().name("why-controller").secret_string(token.secret_id);
    let secret = secret.send().await.expect("CreateSecret").arn.expect("an ARN");
    let parameters = [
        ("ConsulHttpAddr", stack.consul.address.as_str()),
        ("ConsulHttpTokenSecretArn", &secret),
        ("EcsClusterArns", &CLUSTERS.join(",")),
        ("SecretNamePrefix", STACK),
        ("Bootstrap", "none"),
        // Only events and the tests' own sweeps change anything.
        ("ReconcileRate", "rate(1 day)"),
    ];
    deploy(&stack.aws, STACK, &parameters).await
}

/// A token with the two policies of the page.
async fn token() -> &'static str {
    static TOKEN: OnceCell<String> = OnceCell::const_new();
    let create = || async {
        let blocks = PAGE.split("```hcl\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let policy: String = blocks.map(|(block, _)| block).collect();
        Stack::shared().await.consul.token_with_rules("why", &policy).await.secret_id
    };
    TOKEN.get_or_init(create).await
}

/// Asks `why` of something in a world's cluster.
async fn why(world: &World<'_>, subject: &str, further: &[&str]) -> Said {
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let arguments = [&["--cluster", world.name], further].concat();
    why_at(&aws.url, &world.consul.address, token().await, subject, &arguments).await
}

async fn why_at(aws: &str, consul: &str, token: &str, subject: &str, further: &[&str]) -> Said {
    let own = if further.contains(&"--stack") { &[][..] } else { &["--stack", STACK] };
    let arguments = [&["why", subject, "--secret-name-prefix", STACK], own, further].concat();
    said(command(aws, &arguments).env("CONSUL_HTTP_ADDR", consul).env("CONSUL_HTTP_TOKEN", token)).await
}

/// The last line of the answer, and the exit code.
async fn last_line(world: &World<'_>, subject: &str) -> (String, Option<i32>) {
    let said = why(world, subject, &[]).await;
    assert_eq!(said.errors, "", "{}", said.out);
    (said.out.lines().last().unwrap_or_default().to_owned(), said.code)
}

/// Waits until the last line begins like this: lines of the log come a moment after what they tell of.
async fn eventually_says(world: &World<'_>, subject: &str, expected: &str) {
    eventually(&format!("why to say {expected:?}"), SOON, || async {
        let (line, _) = last_line(world, subject).await;
        if line.contains(expected) { Ok(()) } else { Err(line) }
    })
    .await;
}

#[tokio::test]
async fn a_healthy_task_is_healthy() {
    let world = world("why-healthy").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.settle().await;
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let (consul, arguments) = (world.consul.address.as_str(), ["--cluster", world.name, "--output", "json"]);
    let said = why_at(&aws.url, consul, token().await, task.id(), &arguments).await;
    let document = said.json();
    assert_eq!((said.code, &document["conclusion"]), (Some(0), &json!("healthy")), "{document:#}{}", said.errors);
    let schema: Value = serde_json::from_str(include_str!("../../../docs/schema/why.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    assert_eq!(permissions(&aws.requests()), documented("why"));
    // The log is searched by a pattern
    let search = aws
        .requests()
        .into_iter()
        .find(|request| request.header("x-amz-target").is_some_and(|target| target.ends_with("FilterLogEvents")));
    let search: Value = serde_json::from_str(&search.expect("a search").body).unwrap();
    let pattern = format!(
        r#"{{ $.task_id = "*{id}*" || $.last_task = "*{id}" || $.outcome = "guard_tripped" }}"#,
        id = task.id()
    );
    assert_eq!(search["filterPattern"], pattern);
    // By its ARN, the cluster is known
    let by_arn = why_at(&aws.url, consul, token().await, &task.arn, &[]).await;
    assert_eq!((by_arn.code, by_arn.out.lines().last()), (Some(0), Some("healthy")), "{}", by_arn.errors);
    assert_eq!(last_line(&world, &world.service()).await, ("healthy".to_owned(), Some(0)));
}

#[tokio::test]
async fn a_task_that_never_became_healthy_names_its_container() {
    let world = world("why-unhealthy").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.mesh_init().await;
    task.report_health(DATAPLANE, "HEALTHY").await;
    task.report_health(SYNCED[0], "UNHEALTHY").await;
    let (line, code) = last_line(&world, task.id()).await;
    let expected = "It gets no traffic, because ECS reports its container app as UNHEALTHY: read the log of app, and check the command of \
                    its health check";
    assert!(line.starts_with(expected), "{line}");
    assert_eq!(code, Some(1));
    let (line, code) = last_line(&world, &world.service()).await;
    let expected = format!("Its only task, {}, has a fault: {expected}", task.id());
    assert!(line.starts_with(&expected), "{line}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_task_whose_mesh_init_failed_was_never_registered() {
    let world = world("why-mesh-init").await;
    let task = DataplaneService::of(&world, Release::V0_9).run(&world).await;
    task.report_stopped(MESH_INIT, 1).await;
    let (line, code) = last_line(&world, task.id()).await;
    let expected = "It was never registered in Consul, because its container consul-ecs-mesh-init exited with 1";
    assert!(line.starts_with(expected), "{line}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_task_that_ecs_has_forgotten_is_told_from_the_log() {
    let world = world("why-forgotten").await;
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
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
    // When somebody asks later
    eventually_says(&world, &forgotten, "Its container app was killed, because it used more memory than it may").await;
    let said = why(&world, &forgotten, &["--output", "json"]).await;
    let document = said.json();
    assert_eq!((said.code, &document["cause"]), (Some(1), &json!("out-of-memory")), "{document:#}");
    assert_eq!(document["subject"]["cluster"], world.cluster());
    let schema: Value = serde_json::from_str(include_str!("../../../docs/schema/why.schema.json")).unwrap();
    jsonschema::validate(&schema, &document).unwrap();
    // And a task that nobody knows is not one that ended
    let said = why(&world, &"0e".repeat(16), &[]).await;
    assert_eq!(said.code, Some(2));
    let searched = "(searched: cluster why-forgotten; the log of the stack why since ";
    assert!(said.out.lines().last().unwrap().contains(searched), "{}", said.out);
}

#[tokio::test]
async fn a_revoked_login_token_is_found_and_who_deleted_it_is_said() {
    let world = world("why-login-token").await;
    let method = JwtAuthMethod::create(world.consul, world.name).await;
    let mut service = DataplaneService::of(&world, Release::V0_9);
    service.config["consulLogin"] = json!({ "enabled": true, "method": world.name });
    let tasks = service.create_ecs_service(&world, 2, &json!([])).await;
    let mut tokens = Vec::new();
    for task in &tasks {
        task.settle().await;
        tokens.push(method.log_in_task(&world.service(), &world.cluster(), task.id()).await);
    }
    assert_eq!(last_line(&world, tasks[0].id()).await, ("healthy".to_owned(), Some(0)));
    // When somebody deletes the token of one
    world.consul.delete(&format!("/v1/acl/token/{}", tokens[0].accessor_id)).await;
    let (line, code) = last_line(&world, tasks[0].id()).await;
    let expected = "Consul has none of its login tokens any more, so that its proxy gets no new endpoints, and nobody is known to have \
                    deleted it: by its log since ";
    assert!(line.starts_with(expected) && line.ends_with("the controller has not: replace the task"), "{line}");
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
    let id = local_stack::world::task_id(&task);
    let (line, code) = last_line(&world, id).await;
    let expected = format!(
        "Consul does not have the token of the service {service} any more, which its tasks read from \
         why-consul-client-token and why-{service}, and nobody is known to have deleted it"
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

#[tokio::test]
async fn a_drained_service_says_by_whom() {
    let world = world("why-drained").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.settle().await;
    // As somebody drains it by hand
    let check = json!({
        "Node": world.cluster(), "CheckID": format!("_service_maintenance:{}", task.instance()),
        "Name": "Service Maintenance Mode", "Status": "critical", "Notes": "backup until noon", "ServiceID": task.instance(),
    });
    world.register_raw(&json!({ "Checks": [check] })).await;
    let (line, code) = last_line(&world, &world.service()).await;
    let by = "It is drained, and not by the controller: somebody put its instance into Consul's maintenance mode (backup until noon)";
    assert!(line.contains(by), "{line}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_dead_proxy_is_named_with_when_the_controller_drained_the_task() {
    let world = world("why-proxy").await;
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
    task.report_stopped(DATAPLANE, 139).await;
    world.deliver(&[world.event(&task.arn).await]).await;
    world.events_handled().await;
    eventually_says(&world, task.id(), "; the controller drained it at ").await;
    let (line, code) = last_line(&world, task.id()).await;
    let expected = "Its container consul-dataplane exited with 139 while the task goes on, so that nothing reaches it through the mesh";
    assert!(line.starts_with(expected), "{line}");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn a_guard_that_held_a_deletion_back_is_named() {
    let world = world("why-guard").await;
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
    // Given a cluster of which most instances would be deleted: their tasks stopped, and the events were lost
    let mut tasks = Vec::new();
    for _ in 0..11 {
        tasks.push(DataplaneTask::start(&world, Release::V0_9).await.0);
    }
    for stopped in &tasks {
        world.stop(&stopped.arn).await;
    }
    let summary = world.sweep(&json!({})).await.unwrap();
    assert_eq!(summary["outcome"], "guard_tripped", "{summary}");
    eventually_says(&world, tasks[0].id(), "because a guard held deletions back at ").await;
    let (line, code) = last_line(&world, tasks[0].id()).await;
    assert!(line.contains("ecs-mesh sweep --dry-run --cluster why-guard"), "{line}");
    assert_eq!(code, Some(1));
    assert_eq!(last_line(&world, task.id()).await.0, "healthy");
}

#[tokio::test]
async fn a_task_that_consul_has_lost_says_what_brings_it_back() {
    let world = world("why-lost").await;
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
    task.forget().await;
    let (line, code) = last_line(&world, task.id()).await;
    let expected = "Consul has lost it: it was registered, and is not any more; nobody is known to have deregistered it: the next sweep \
                    registers it again, or ecs-mesh sweep --cluster why-lost does so now";
    assert_eq!((line.as_str(), code), (expected, Some(1)));
    // When a sweep has done so, the timeline tells it
    world.swept().await;
    eventually("the repair in the timeline", SOON, || async {
        let said = why(&world, task.id(), &[]).await;
        if said.out.contains("controller  registered it again, because ") { Ok(()) } else { Err(said.out) }
    })
    .await;
}

#[tokio::test]
async fn a_service_is_told_with_the_stops_of_its_tasks() {
    let world = world("why-service").await;
    let task = DataplaneService::of(&world, Release::V0_9).run_by_ecs_service(&world, &json!([])).await;
    task.settle().await;
    task.report_stopped(SYNCED[0], 3).await;
    world.deliver(&[world.event(&task.arn).await]).await;
    world.settled().await;
    let service = world.service();
    let said = eventually("the deregistration in the timeline", SOON, || async {
        let said = why(&world, &service, &[]).await;
        let deregistered = format!("task {}: deregistered {}", task.id(), task.instance());
        if said.out.contains(&deregistered) { Ok(said) } else { Err(said.out) }
    })
    .await;
    let line = said.out.lines().last().unwrap();
    // ECS may have started another one already
    let expected = format!("{}: It stopped, because its essential container app exited with 3", task.id());
    assert!(line.contains(&expected), "{line}");
    assert_eq!(said.code, Some(1));
}

#[tokio::test]
async fn what_cannot_be_read_is_said_and_never_counts_as_absent() {
    let world = world("why-unread").await;
    let (task, _) = DataplaneTask::start(&world, Release::V0_9).await;
    task.forget().await;
    let stack = Stack::shared().await;
    let denied = Recorder::before_aws(&stack.aws, |request, _| {
        let is_search = request.header("x-amz-target").is_some_and(|target| target.ends_with("FilterLogEvents"));
        let refusal = r#"{"__type":"AccessDeniedException","message":"not authorized"}"#;
        if is_search { Answer::Reply(400, Vec::new(), refusal.to_owned()) } else { Answer::Forward }
    })
    .await;
    let arguments = ["--cluster", world.name];
    let consul = world.consul.address.as_str();
    // Without permission to read the log
    let said = why_at(&denied.url, consul, token().await, task.id(), &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("error: the controller's history could not be read: log group "), "{}", said.errors);
    let line = said.out.lines().last().unwrap();
    let unknown = "who deregistered it is not known, because the controller's log could not be read";
    assert!(line.contains(unknown), "{line}");
    // Without Consul, and with a token that may not list tokens
    let open = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;
    let said = why_at(&open.url, "http://127.0.0.1:1", token().await, task.id(), &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("Consul could not be read at CONSUL_HTTP_ADDR"), "{}", said.errors);
    assert!(said.out.lines().last().unwrap().contains("Consul could not be read: ask again"), "{}", said.out);
    let policy = PAGE.split_once("```hcl\n").and_then(|(_, rest)| rest.split_once("```")).expect("a policy").0;
    let of_status = stack.consul.token_with_rules("why-unread", policy).await;
    let said = why_at(&open.url, consul, &of_status.secret_id, task.id(), &arguments).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("lacks acl = \"read\""), "{}", said.errors);
    // Without such a stack
    let said =
        why_at(&open.url, consul, token().await, task.id(), &[&arguments[..], &["--stack", "nowhere"]].concat()).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("resources of stack nowhere"), "{}", said.errors);
}

#[tokio::test]
async fn a_service_in_two_clusters_is_asked_for_its_cluster() {
    let (one, two) = (world("why-twice").await, world("why-healthy").await);
    let name = "why-in-both";
    for world in [&one, &two] {
        let mut service = DataplaneService::of(world, Release::V0_9);
        service.config["service"]["name"] = json!(name);
        (service.name, service.tags) = (name.to_owned(), mesh_tags(name));
        service.run(world).await;
    }
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let both = ["--cluster", one.name, "--cluster", two.name];
    let said = why_at(&aws.url, &one.consul.address, token().await, name, &both).await;
    assert_eq!(said.code, Some(2));
    let expected = "there is a service \"why-in-both\" in several clusters: why-healthy, why-twice; pass --cluster with one of them";
    assert!(said.errors.contains(expected), "{}", said.errors);
    assert_eq!(why(&one, name, &[]).await.code, Some(1), "it is starting");
}
