//! `Mode=observe` beside the always-on controller of consul-ecs: a recorder between the functions and Consul sees no write, from
//! the start of tasks to the deletion of the stack.

use local_stack::{
    consul::{Consul, Token},
    deploy::delete,
    world::{Pair, World, observing_policy, task_id},
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
        let running = DataplaneTask::start(world, Release::V0_10).await;
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

/// Sweeps, and returns the summary.
async fn observed_by_a_sweep(world: &World<'_>) -> Value {
    let summary = world.sweep(&json!({})).await.unwrap();
    assert_eq!((&summary["mode"], &summary["outcome"]), (&json!("observe"), &json!("observed")), "{summary}");
    summary["clusters"][0].clone()
}

/// Deploys in mode `observe`, with requests to Consul that are recorded, and a token that may only read.
async fn deployed(consul: &'static Consul, recorder: &Recorder) -> World<'static> {
    let fixture = Fixture::get().await;
    let token = consul.token_with_rules(&format!("controller-{NAME}"), &observing_policy()).await;
    let further = [("Mode", "observe"), ("ConsulHttpAddr", recorder.url.as_str()), ("CleanupOnDelete", "true")];
    fixture.deployment_of_its_own(consul, NAME, &token.secret_id, &further).await
}

#[tokio::test]
async fn nothing_is_written_from_the_first_start_to_the_deletion_of_the_stack() {
    let stack = Fixture::get().await.stack;
    let consul = &stack.consul;
    let recorder = Recorder::before(&consul.address, |_, _| Answer::Forward).await;
    let world = deployed(consul, &recorder).await;
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
    // And the stack is deleted, with a clean-up
    delete(&stack.aws, NAME).await.unwrap();
    // Then Consul is only read, and nothing has changed
    assert!(recorder.requests().len() > 10, "{:?}", recorder.lines());
    assert_eq!(writes_in(&recorder), [""; 0]);
    assert_eq!(catalog(&world).await, before);
    services.assert_all_there(&world).await;
}
