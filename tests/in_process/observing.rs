//! Mode `observe` with a token in Consul that may only read, against a real Consul and `MiniStack`: recorders see no write.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use local_stack::{
    consul::Consul,
    world::{World, idle_check, observing_policy, task_id},
};
use observe::{Deadline, SweepOrder};
use serde_json::Value;
use test_harness::{
    jwt::JwtAuthMethod,
    recorder::{Answer, Recorder},
};

use crate::{
    bootstrap,
    environment::{self, Environment, at, client, through},
    time::{Fixed, LONG},
};

/// Settings of both modes.
const AT_ONCE: [(&str, &str); 1] = [("REVOCATION_GRACE_SECONDS", "0")];

/// An environment in mode `observe`, this much later, whose token may only read.
async fn observing(world: &World<'_>, later: SignedDuration) -> Environment {
    let token = world.consul.token_with_rules(&format!("{}-{later}", world.name), &observing_policy()).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let client = Arc::new(client(&consul.url, &token.secret_id).accepting_hidden_secrets());
    let aws = environment::aws(|_, _| Answer::Forward).await;
    let clock = Arc::new(Fixed(Timestamp::now() + later));
    let edges = |edges| at(clock, through(client, edges));
    let settings = [AT_ONCE.as_slice(), &[("MODE", "observe")]].concat();
    Environment::between(world, consul, aws, &settings, edges).await
}

async fn acting(world: &World<'_>) -> Environment {
    Environment::scripted(world, &AT_ONCE, |_, _| Answer::Forward).await
}

async fn handle(environment: &Environment, event: &Value) {
    let report = environment.handle(std::slice::from_ref(event)).await;
    assert!(report.failures.is_empty(), "{report:?}");
}

/// Asserts that the environment has read, and has written nothing outside of the stack since the last time.
fn assert_only_reads(environment: &Environment) {
    let is_write = |line: &String| !line.starts_with("GET ") && line != "POST /v1/internal/acl/authorize";
    assert!(!environment.aws.requests().is_empty());
    assert_eq!(environment.consul.lines().into_iter().filter(is_write).collect::<Vec<_>>(), [""; 0]);
    let is_read = |operation: &String| ["Get", "List", "Describe"].iter().any(|start| operation.starts_with(start));
    let writes = environment.aws.operations().into_iter().filter(|operation| !is_read(operation));
    // An idle check that a stopped task leads to, and events that say `observe`
    let is_own = |operation: &String| ["SendMessageBatch", "PutEvents"].contains(&operation.as_str());
    assert_eq!(writes.filter(|operation| !is_own(operation)).collect::<Vec<_>>(), [""; 0]);
    environment.aws.forget();
    environment.consul.forget();
}

fn messages(environment: &Environment) -> usize {
    environment.aws.operations().iter().filter(|operation| *operation == "SendMessageBatch").count()
}

#[tokio::test]
async fn the_life_of_a_service_is_observed_without_a_write() {
    let world = World::without_deployment("observed").await;
    let (service, secret) = (world.service(), world.secret_name(&world.service()));
    let now = observing(&world, SignedDuration::ZERO).await;
    let later = observing(&world, SignedDuration::from_mins(50)).await;
    now.controller.preflight().await.expect("permissions to read");
    let bootstrapped = now.controller.bootstrap(Deadline::after(LONG)).await;
    assert!(bootstrapped.failures.is_empty() && !bootstrapped.created.is_empty(), "{bootstrapped:?}");

    // When a task starts that reads a token from Secrets Manager
    let task = world.run(&world.mesh_definition(&service).await).await;
    handle(&now, &world.event(&task).await).await;
    assert_only_reads(&now);
    assert_eq!(world.secret_text(&secret).await, None);
    // Also if the token is there already, whose secret ID Consul does not show to the observer
    let acting = acting(&world).await;
    handle(&acting, &world.event(&task).await).await;
    let pair = world.pair(&secret).await.expect("a token");
    let swept = later.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    assert!(swept.problems.is_empty(), "{swept:?}");
    assert_eq!(swept.clusters[0].created.len(), 0, "{swept:?}");
    assert_only_reads(&later);

    // When the task stops, its event and a sweep see what there is to remove
    world.register_instance(&service, &task).await;
    let method = JwtAuthMethod::create(world.consul, world.name).await;
    let login = method.log_in_task(&service, &world.cluster(), task_id(&task)).await;
    world.stop(&task).await;
    handle(&later, &world.event(&task).await).await;
    assert_eq!(messages(&later), 1, "an idle check");
    assert_only_reads(&later);
    // And the idle check would hide the token, and asks for no other check, which would find the same
    handle(&later, &idle_check(&service)).await;
    assert_eq!(messages(&later), 0);
    assert_only_reads(&later);
    let swept = later.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    let cluster = &swept.clusters[0];
    assert_eq!((cluster.hidden, &cluster.deleted["services"]), (1, &2), "{swept:?}");
    assert_eq!(cluster.deleted["loginTokens"], 1, "{swept:?}");
    assert_only_reads(&later);
    // And so does the clean-up at the deletion of the stack, once
    let cleaned_up = later.controller.clean_up(Deadline::after(LONG)).await;
    assert!(cleaned_up.problems.is_empty(), "{cleaned_up:?}");
    assert_eq!((cleaned_up.tokens, cleaned_up.services), (3, 2), "{cleaned_up:?}");
    assert_only_reads(&later);
    // Then all of it is there
    assert_eq!(world.pair(&secret).await.as_ref(), Some(&pair));
    assert!(world.is_valid(&pair.token).await && world.is_valid(&login.secret_id).await);
    assert_eq!(world.service_ids().await.len(), 2);
    // And a controller that acts removes it
    let swept = acting.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    assert_eq!(swept.outcome.as_str(), "done", "{swept:?}");
    assert!(!world.is_valid(&login.secret_id).await);
    assert_eq!(world.service_ids().await, [""; 0]);
}

#[tokio::test]
async fn a_token_that_consul_has_lost_is_reported_once_for_each_attempt() {
    let world = World::without_deployment("observed-loss").await;
    let (service, secret) = (world.service(), world.secret_name(&world.service()));
    let task = world.run(&world.mesh_definition(&service).await).await;
    handle(&acting(&world).await, &world.event(&task).await).await;
    // Given a hidden token that somebody has deleted in Consul, and a task that needs it
    let pair = world.pair(&secret).await.expect("a token");
    world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    let hidden = world.secret_text(&secret).await.unwrap().replace("\"token\"", "\"retiring\"");
    world.aws.secrets().put_secret_value().secret_id(&secret).secret_string(hidden).send().await.unwrap();
    let environment = observing(&world, SignedDuration::ZERO).await;
    // Then its attempt ends, although nothing is restored
    handle(&environment, &world.event(&task).await).await;
    assert_only_reads(&environment);
}

/// With the documented policy without one of its rules, the preflight names it.
#[tokio::test]
async fn every_rule_of_the_policy_is_checked() {
    let consul = Consul::start().await;
    let policy = observing_policy();
    let rules: Vec<&str> = policy.split("\n\n").collect();
    assert_eq!(rules.len(), 4, "{rules:?}");
    for (index, resource) in ["acl", "agent", "node", "service"].into_iter().enumerate() {
        let others: Vec<&str> =
            rules.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, rule)| *rule).collect();
        let token = consul.token_with_rules(resource, &others.join("\n\n")).await;
        let controller = bootstrap::controller(&consul.address, &token.secret_id, &[("MODE", "observe")]).await;
        let error = controller.preflight().await.unwrap_err().to_string();
        assert!(error.contains(&format!("lacks: {resource}")) && error.matches(';').count() == 1, "{error}");
    }
}
