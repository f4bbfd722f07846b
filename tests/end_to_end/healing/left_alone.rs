//! Running tasks that sweeps leave as they are: their proxy has stopped, a tag opts them out, or `Repair=off`.

use aws::iam::{AwsIam, IamRoles as _};
use local_stack::{
    wait::{SOON, eventually},
    world::mesh_tags,
};
use mesh::admission::RoleArn;
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DATAPLANE, DataplaneService, DataplaneTask, Release, SYNCED, catalog, deregister},
    recorder::{Answer, Recorder},
};

use super::{log_lines, one_of_each_release, swept_after, why_skipped, world};
use crate::fixture::{Fixture, controller_token};

/// The maintenance checks of a task: the instance that each drains, and its output.
async fn drained(task: &DataplaneTask<'_>) -> Vec<(String, String)> {
    let mut checks = task.world().checks_of(&task.arn).await;
    checks.retain(|check| check["CheckID"].as_str().unwrap().starts_with("_service_maintenance:"));
    assert!(checks.iter().all(|check| check["Status"] == "critical"), "{checks:?}");
    let text = |check: &Value, field: &str| check[field].as_str().unwrap().to_owned();
    let mut drained: Vec<_> = checks.iter().map(|it| (text(it, "ServiceID"), text(it, "Output"))).collect();
    drained.sort();
    drained
}

fn both(task: &DataplaneTask<'_>) -> Vec<(String, String)> {
    let output = "the container consul-dataplane has stopped in the running task";
    [task.instance(), task.sidecar()].map(|id| (id, output.to_owned())).into()
}

/// Asserts that the task stays drained, whatever its health-sync writes and however often sweeps run.
async fn assert_drained_for_good(task: &DataplaneTask<'_>) {
    let world = task.world();
    for health in ["UNHEALTHY", "HEALTHY"] {
        task.report_health(SYNCED[0], health).await;
        task.sync_health().await;
        world.swept().await;
        task.sync_health().await;
        assert_eq!(drained(task).await, both(task));
        assert!(!world.passing(&world.service()).await.contains(&task.instance()));
    }
}

#[tokio::test]
async fn the_event_of_a_dead_proxy_drains_its_task() {
    let world = world("proxy-event").await;
    let task = DataplaneTask::start(&world, Release::V0_9).await;
    let other = DataplaneTask::start(&world, Release::V0_9).await;
    // When another container has stopped, its event drains nothing
    task.report_stopped(SYNCED[1], 1).await;
    world.deliver(&[world.event(&task.arn).await]).await;
    world.events_handled().await;
    assert_eq!(drained(&task).await, []);
    // When the proxy has stopped, its event does
    task.report_stopped(DATAPLANE, 137).await;
    world.deliver(&[world.event(&task.arn).await]).await;
    eventually("the task to be drained", SOON, || async {
        let drained = drained(&task).await;
        if drained == both(&task) { Ok(()) } else { Err(format!("{drained:?}")) }
    })
    .await;
    // And the other task keeps its traffic
    assert_eq!(world.passing(&world.service()).await, [other.instance()]);
    assert_drained_for_good(&task).await;
    assert_eq!(drained(&other).await, []);
    // And sweeps report the task with the command that replaces it, and do not stop it
    let swept = world.swept().await;
    let why = why_skipped(&swept, &task).unwrap_or_default();
    let command = format!("aws ecs stop-task --region us-east-1 --cluster {} --task {}", world.name, task.id());
    assert!(why.contains("consul-dataplane has stopped") && why.ends_with(&command), "{swept}");
    assert_eq!(why_skipped(&swept, &other), None, "{swept}");
    assert!(!task.is_told_to_stop().await);
    let line = &log_lines(&task, "report_broken_task").await[0];
    assert_eq!((&line["outcome"], &line["service"]), (&json!("done"), &json!(world.service())), "{line}");
    // And if Consul forgets the task, it comes back without traffic
    let swept = swept_after(&world, async || deregister(&world, &json!({ "ServiceID": task.instance() })).await).await;
    assert_eq!(swept["repaired"], 1, "{swept}");
    assert_eq!(world.passing(&world.service()).await, [other.instance()]);
}

#[tokio::test]
async fn a_tag_of_a_task_its_definition_or_its_ecs_service_opts_out() {
    let world = world("opted-out").await;
    let off = ("ecs-mesh-controller/repair", "off");
    let tags = json!([{ "key": off.0, "value": off.1 }]);
    let named = |name: &str| {
        let mut service = DataplaneService::of(&world, Release::V0_10);
        service.name = format!("{}-{name}", world.name);
        service.config["service"]["name"] = json!(service.name);
        DataplaneService { tags: mesh_tags(&service.name), ..service }
    };
    // Given a task with the tag, one whose definition has it, one whose ECS service has it, and two without it
    let task = named("web").run_tagged(&world, &tags).await;
    let defined = named("defined").tagged(off.0, off.1).run(&world).await;
    let by_service = named("service").run_by_ecs_service(&world, &tags).await;
    let other = named("other").tagged(off.0, "on").run(&world).await;
    let of_other_service = named("untagged").run_by_ecs_service(&world, &json!([])).await;
    for task in [&task, &defined, &by_service, &other, &of_other_service] {
        task.settle().await;
    }
    let swept = swept_after(&world, async || deregister(&world, &json!({})).await).await;
    // Then only those without it are repaired
    assert_eq!(swept["repaired"], 2, "{swept}");
    assert_eq!(world.service_ids().await, super::services_of([&other, &of_other_service]));
    for task in [&task, &defined, &by_service] {
        assert!(why_skipped(&swept, task).unwrap().contains(off.0), "{swept}");
    }
}

/// The actions for a task that are planned, or waiting.
fn listed<'a>(kind: &str, swept: &'a Value, task: &DataplaneTask<'_>) -> Vec<&'a Value> {
    let listed = swept[kind].as_array().into_iter().flatten();
    listed.filter(|planned| planned["taskId"] == task.id()).collect()
}

/// Three tasks: a forgotten one, one with a missing check and one with a contradicting status.
fn assert_planned(swept: &Value, [gone, partly, contradicting]: [&DataplaneTask<'_>; 3]) {
    let expected = json!({
        "action": "repair", "taskId": gone.id(), "instances": [gone.instance(), gone.sidecar()], "checks": [],
    });
    assert_eq!(listed("planned", swept, gone), [&expected], "{swept}");
    let check = &partly.check_ids()[0];
    let expected = json!({ "action": "repair", "taskId": partly.id(), "instances": [], "checks": [check] });
    assert_eq!(listed("planned", swept, partly), [&expected], "{swept}");
    let checks = json!([{ "checkId": contradicting.check_ids()[0], "status": "passing" }]);
    let waits_for = "a recheck in the same sweep";
    let expected =
        json!({ "action": "correct_health", "taskId": contradicting.id(), "checks": checks, "waitsFor": waits_for });
    assert_eq!(listed("waiting", swept, contradicting), [&expected], "{swept}");
    assert_eq!(listed("planned", swept, contradicting), Vec::<&Value>::new(), "{swept}");
}

/// The writes to Consul.
fn writes_in(recorder: &Recorder) -> Vec<String> {
    recorder.lines().into_iter().filter(|line| !line.starts_with("GET ")).collect()
}

#[tokio::test]
async fn with_repair_off_sweeps_write_nothing_and_a_dry_run_plans() {
    // Given a deployment with Repair=off, whose requests to Consul are recorded
    let name = "repair-off";
    let fixture = Fixture::get().await;
    let consul = &fixture.stack.consul;
    let token = controller_token(consul, name).await;
    let recorder = Recorder::before(&consul.address, |_, _| Answer::Forward).await;
    let further = [("ConsulHttpAddr", recorder.url.as_str()), ("Repair", "off"), ("Bootstrap", "none")];
    let world = fixture.deployment_of_its_own(consul, name, &token.secret_id, &further).await;
    let tasks = one_of_each_release(&world).await;
    let tasks @ [gone, partly, contradicting] = [&tasks[0], &tasks[1], &tasks[2]];
    gone.forget().await;
    deregister(&world, &json!({ "CheckID": partly.check_ids()[0] })).await;
    contradicting.write_status(&contradicting.check_ids()[0], "critical").await;
    let damaged = catalog(&world).await;
    // When a sweep runs, and a dry run
    recorder.forget();
    let swept = world.swept().await;
    let planned = world.sweep(&json!({ "dryRun": true })).await.expect("a dry run");
    // Then they read, and write nothing
    assert!(recorder.requests().len() > 2, "{:?}", recorder.lines());
    assert_eq!(writes_in(&recorder), [""; 0]);
    assert_eq!(catalog(&world).await, damaged);
    // And only the dry run says what is missing
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(0), &json!(0)), "{swept}");
    assert!(swept.get("planned").is_none(), "{swept}");
    assert_planned(&planned["clusters"][0], tasks);
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
