//! `Repair`: with `report` and `off`, and in a dry run, nothing is written.

use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneTask, catalog, deregister},
    recorder::{Answer, Recorder},
};

use super::{one_of_each_release, swept_after, world};
use crate::fixture::{Fixture, controller_token};

/// The actions for a task that are planned, or waiting.
fn listed<'a>(kind: &str, swept: &'a Value, task: &DataplaneTask<'_>) -> Vec<&'a Value> {
    let listed = swept[kind].as_array().into_iter().flatten();
    listed.filter(|planned| planned["taskId"] == task.id()).collect()
}

/// Three tasks: a forgotten one, one with a missing check and one with a wrong status.
fn assert_planned(swept: &Value, [gone, partly, wrong]: [&DataplaneTask<'_>; 3]) {
    let expected = json!({
        "action": "repair", "taskId": gone.id(), "instances": [gone.instance(), gone.sidecar()], "checks": [],
    });
    assert_eq!(listed("planned", swept, gone), [&expected], "{swept}");
    let check = &partly.check_ids()[0];
    let expected = json!({ "action": "repair", "taskId": partly.id(), "instances": [], "checks": [check] });
    assert_eq!(listed("planned", swept, partly), [&expected], "{swept}");
    let checks = json!([{ "checkId": wrong.check_ids()[0], "status": "passing" }]);
    let waits_for = "a second look of the same sweep";
    let expected = json!({ "action": "correct_health", "taskId": wrong.id(), "checks": checks, "waitsFor": waits_for });
    assert_eq!(listed("waiting", swept, wrong), [&expected], "{swept}");
    assert_eq!(listed("planned", swept, wrong), Vec::<&Value>::new(), "{swept}");
}

async fn damage([gone, partly, wrong]: [&DataplaneTask<'_>; 3]) {
    let world = gone.world();
    gone.forget().await;
    deregister(world, &json!({ "CheckID": partly.check_ids()[0] })).await;
    wrong.write_status(&wrong.check_ids()[0], "critical").await;
}

#[tokio::test]
async fn a_dry_run_plans_repairs_and_writes_nothing() {
    let world = world("planned-only").await;
    let tasks = one_of_each_release(&world).await;
    let tasks = [&tasks[0].0, &tasks[1].0, &tasks[2].0];
    let healthy = catalog(&world).await;
    damage(tasks).await;
    let damaged = catalog(&world).await;
    let summary = world.sweep(&json!({ "dryRun": true })).await.expect("a dry run");
    assert_planned(&summary["clusters"][0], tasks);
    assert_eq!(catalog(&world).await, damaged);
    // And a sweep does it
    let swept = swept_after(&world, async || damage(tasks).await).await;
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(2), &json!(1)), "{swept}");
    assert_eq!(catalog(&world).await, healthy);
}

/// The writes to Consul.
fn writes_in(recorder: &Recorder) -> Vec<String> {
    recorder.lines().into_iter().filter(|line| !line.starts_with("GET ")).collect()
}

/// A deployment with this value of `Repair`, whose requests to Consul are recorded: what its sweep says of damaged tasks.
async fn swept_in_mode(mode: &'static str, name: &'static str) {
    let fixture = Fixture::get().await;
    let consul = &fixture.stack.consul;
    let token = controller_token(consul, name).await;
    let recorder = Recorder::before(&consul.address, |_, _| Answer::Forward).await;
    let further = [("ConsulHttpAddr", recorder.url.as_str()), ("Repair", mode), ("Bootstrap", "none")];
    let world = fixture.deployment_of_its_own(consul, name, &token.secret_id, &further).await;
    let tasks = one_of_each_release(&world).await;
    let tasks = [&tasks[0].0, &tasks[1].0, &tasks[2].0];
    damage(tasks).await;
    let damaged = catalog(&world).await;
    // When sweeps run
    recorder.forget();
    for _ in 0..2 {
        let swept = world.swept().await;
        assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(0), &json!(0)), "{swept}");
        match mode {
            "report" => assert_planned(&swept, tasks),
            _ => assert!(swept.get("planned").is_none(), "{swept}"),
        }
    }
    // Then they read, and write nothing
    assert!(recorder.requests().len() > 2, "{:?}", recorder.lines());
    assert_eq!(writes_in(&recorder), [""; 0]);
    assert_eq!(catalog(&world).await, damaged);
    // Also if the node is gone
    deregister(&world, &json!({})).await;
    recorder.forget();
    world.swept().await;
    assert_eq!(writes_in(&recorder), [""; 0]);
}

#[tokio::test]
async fn with_report_sweeps_only_tell_what_they_would_do() {
    swept_in_mode("report", "repair-report").await;
}

#[tokio::test]
async fn with_off_sweeps_compare_nothing() {
    swept_in_mode("off", "repair-off").await;
}
