//! `Mode=observe` beside the always-on controller of consul-ecs: a recorder between the functions and Consul sees no write, from
//! the start of tasks to the deletion of the stack. Then `Mode=act` does what was observed, and back.

use std::collections::BTreeSet;

use local_stack::{
    consul::{Consul, Token},
    deploy::{delete, deploy},
    wait::{SOON, eventually},
    world::{Pair, World, documented_policy, observing_policy, task_id},
};
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneTask, Release, catalog},
    jwt::JwtAuthMethod,
    recorder::{Answer, Recorder},
};

use crate::fixture::Fixture;

const NAME: &str = "observed";

/// The writes to Consul.
fn writes_in(recorder: &Recorder) -> Vec<String> {
    let is_read = |line: &String| line.starts_with("GET ") || line == "POST /v1/internal/acl/authorize";
    recorder.lines().into_iter().filter(|line| !is_read(line)).collect()
}

/// The services of a cluster, as the always-on controller keeps them: one that reads its token, and one whose tasks log in.
struct Services<'a> {
    /// The service that reads its token.
    old: String,
    pair: Pair,
    /// A task of it that has stopped, with what it has left.
    login: Token,
    /// A running task of the other service.
    running: DataplaneTask<'a>,
}

impl<'a> Services<'a> {
    /// Starts and stops tasks, whose events are delivered.
    async fn started_and_stopped(world: &'a World<'a>) -> Self {
        let old = format!("{NAME}-old");
        let pair = world.consul_ecs_controller_token(&old).await;
        let task = world.start_task(&world.mesh_definition(&old).await).await;
        world.register_instance(&old, &task).await;
        let method = JwtAuthMethod::create(world.consul, NAME).await;
        let login = method.log_in_task(&old, &world.cluster(), task_id(&task)).await;
        let (running, _) = DataplaneTask::start(world, Release::V0_10).await;
        // A service of which no token exists yet
        world.start_task(&world.mesh_definition(&format!("{NAME}-new")).await).await;
        world.stop_task(&task).await;
        world.settled().await;
        Self { old, pair, login, running }
    }

    /// Asserts that everything is there that the controller would remove.
    async fn assert_all_there(&self, world: &World<'_>) {
        assert_eq!(world.pair(&world.secret_name(&self.old)).await.as_ref(), Some(&self.pair));
        assert!(world.is_valid(&self.pair.token).await && world.is_valid(&self.login.secret_id).await);
        assert_eq!(world.secret_text(&world.secret_name(&format!("{NAME}-new"))).await, None);
    }
}

/// The calls in the lines of the log that mode `observe` has not sent.
async fn observed_calls(world: &World<'_>) -> BTreeSet<String> {
    let mut calls = BTreeSet::new();
    for group in [&world.deployed.log_group, &world.deployed.reconcile_log_group] {
        let lines = world.aws.logs(group).await;
        let lines = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let observed = lines.filter(|line| line["action"] == "observe" && line["outcome"] == "observed");
        calls.extend(observed.map(|line| line["call"].as_str().unwrap().to_owned()));
    }
    calls
}

/// Sweeps, and returns the summary.
async fn observed_by_a_sweep(world: &World<'_>) -> Value {
    let summary = world.sweep(&json!({})).await.unwrap();
    assert_eq!((&summary["mode"], &summary["outcome"]), (&json!("observe"), &json!("observed")), "{summary}");
    summary["clusters"][0].clone()
}

/// Deploys in mode `observe`, with requests to Consul that are recorded, and a token that may only read.
async fn deployed(consul: &'static Consul, recorder: &Recorder) -> (World<'static>, Token) {
    let fixture = Fixture::get().await;
    let token = consul.token_with_rules(&format!("controller-{NAME}"), &observing_policy()).await;
    let further = [("Mode", "observe"), ("ConsulHttpAddr", recorder.url.as_str()), ("CleanupOnDelete", "true")];
    (fixture.deployment_of_its_own(consul, NAME, &token.secret_id, &further).await, token)
}

/// Lets the token do what the documented policy of mode `act` says.
async fn allow_writes(consul: &Consul, token: &Token) {
    let policy = json!({ "Name": format!("acting-{NAME}"), "Rules": documented_policy() });
    let policy = consul.put("/v1/acl/policy", &policy).await;
    let path = format!("/v1/acl/token/{}", token.accessor_id);
    let mut body = consul.get(&path).await;
    body["Policies"].as_array_mut().unwrap().push(json!({ "ID": policy["ID"] }));
    consul.put(&path, &body).await;
}

#[tokio::test]
async fn nothing_is_written_from_the_first_start_to_the_deletion_of_the_stack() {
    let stack = Fixture::get().await.stack;
    let consul = &stack.consul;
    let recorder = Recorder::before(&consul.address, |_, _| Answer::Forward).await;
    let (world, token) = deployed(consul, &recorder).await;
    // When tasks start and stop, one is forgotten, and sweeps run
    let services = Services::started_and_stopped(&world).await;
    services.running.forget().await;
    let before = catalog(&world).await;
    for _ in 0..2 {
        let swept = observed_by_a_sweep(&world).await;
        assert_eq!((&swept["repaired"], &swept["created"]["tokens"]), (&json!(1), &json!(2)), "{swept}");
        let deleted = json!({ "loginTokens": 1, "services": 2 });
        assert_eq!((&swept["deleted"], &swept["hidden"]), (&deleted, &json!(1)), "{swept}");
    }
    let checked = world.invoke_reconcile(&json!({ "check": true }), &[]).await.unwrap();
    assert_eq!((&checked["mode"], &checked["missingPermissions"]), (&json!("observe"), &json!([])), "{checked}");
    // Then Consul is only read, and nothing has changed
    assert!(recorder.requests().len() > 10, "{:?}", recorder.lines());
    assert_eq!(writes_in(&recorder), [""; 0]);
    assert_eq!(catalog(&world).await, before);
    services.assert_all_there(&world).await;
    // And the log has what was not sent
    let expected = [
        "PUT /v1/acl/token",
        "DELETE /v1/acl/token",
        "PUT /v1/catalog/register",
        "PUT /v1/txn",
        "secretsmanager:CreateSecret",
        "secretsmanager:PutSecretValue",
    ];
    eventually("the lines of what was observed", SOON, || async {
        let calls = observed_calls(&world).await;
        if expected.iter().all(|call| calls.contains(*call)) { Ok(()) } else { Err(format!("{calls:?}")) }
    })
    .await;

    // When the mode becomes act, which takes a token that may write, the update does all of it
    allow_writes(consul, &token).await;
    deploy(&stack.aws, NAME, &[("Mode", "act")]).await;
    assert_eq!(world.service_ids().await, [services.running.instance(), services.running.sidecar()]);
    assert!(!world.is_valid(&services.login.secret_id).await);
    world.provisioned(&world.secret_name(&format!("{NAME}-new"))).await;
    world.emptied(&world.secret_name(&services.old)).await;
    world.revoked(&services.pair).await;
    world.settled().await;

    // And when it becomes observe again, nothing more is written, also at the deletion of the stack
    deploy(&stack.aws, NAME, &[("Mode", "observe")]).await;
    services.running.forget().await;
    recorder.forget();
    let before = catalog(&world).await;
    assert_eq!(observed_by_a_sweep(&world).await["repaired"], 1);
    delete(&stack.aws, NAME).await.unwrap();
    assert!(recorder.requests().len() > 2, "{:?}", recorder.lines());
    assert_eq!(writes_in(&recorder), [""; 0]);
    assert_eq!(catalog(&world).await, before);
    let pair = world.pair(&world.secret_name(&format!("{NAME}-new"))).await.expect("a token");
    assert!(world.is_valid(&pair.token).await);
}
