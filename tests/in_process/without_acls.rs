//! A Consul whose ACLs are off: services are cleared, and no token is asked for.

use local_stack::{consul::Consul, world::World};
use observe::{Deadline, SweepOrder};
use report::{ErrorLabel, SweepOutcome};
use serde_json::json;
use test_harness::{
    ecs_agent::{DataplaneTask, Release},
    recorder::{Answer, RecordedRequest},
};

use crate::{environment::Environment, sweep::swept, time::LONG};

/// The answers of a Consul without ACLs, before one with ACLs. Recorded from Consul 1.8.7.
fn without_acls(seen: &RecordedRequest, _: usize) -> Answer {
    let is_of_acl = ["/v1/acl/", "/v1/internal/acl/"].iter().any(|prefix| seen.uri.starts_with(prefix));
    if is_of_acl { Answer::status(401, "ACL support disabled") } else { Answer::Forward }
}

#[tokio::test]
async fn services_of_tasks_that_log_in_are_cleared() {
    let world = World::without_deployment("without-acls").await;
    world.register_raw(&json!({})).await;
    let environment = Environment::scripted(&world, &[], without_acls).await;
    let service = world.service();
    let task = world.run(&world.dataplane_definition(&service).await).await;
    // When such a task starts, registers and stops
    let mut failures = environment.handle(&[world.event(&task).await]).await.failures;
    world.register_instance(&service, &task).await;
    world.stop(&task).await;
    failures.extend(environment.handle(&[world.event(&task).await]).await.failures);
    // Then its services are gone
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(world.service_ids().await, [""; 0]);
    // And sweeps succeed, with a node for the cluster, and without logins
    let set_up = environment.controller.bootstrap(Deadline::after(LONG)).await;
    assert!(set_up.failures.is_empty() && set_up.skipped.len() > 5, "{set_up:?}");
    assert_eq!(environment.controller.preflight().await.map_err(|error| error.to_string()), Ok(()));
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    // And the check says that ACLs are off
    let checked = environment.controller.check(Deadline::after(LONG)).await;
    assert!(checked.acls_disabled && checked.token.is_none(), "{checked:?}");
}

#[tokio::test]
async fn task_that_reads_a_token_is_reported() {
    let world = World::without_deployment("acls-needed").await;
    let environment = Environment::scripted(&world, &[], without_acls).await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    let failures = environment.handle(&[world.event(&task).await]).await.failures;
    assert_eq!(failures.len(), 1);
    assert!(failures[0].error.to_string().contains("ACLs are off in Consul"), "{failures:?}");
    assert_eq!(failures[0].error.label(), ErrorLabel::ConsulAclsDisabled);
}

#[tokio::test]
async fn consul_too_old_for_logins_is_set_up_without_them() {
    let consul = Consul::start().await;
    let settings = [("TOKEN_MODE", "auto"), ("BOOTSTRAP", "dataplane")];
    let controller = crate::bootstrap::controller(&consul.address, &consul.management_token, &settings).await;
    let report = crate::bootstrap::bootstrap(&controller).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let methods = consul.get("/v1/acl/auth-methods").await;
    let has_logins = methods.as_array().is_some_and(|methods| !methods.is_empty());
    // The method and its four rules
    assert_eq!(report.skipped.len(), if has_logins { 0 } else { 5 }, "{report:?}");
}

#[tokio::test]
async fn a_running_task_is_repaired_without_proof_where_nothing_is_denied() {
    // Given a Consul without ACLs, or one that allows by default
    type Script = fn(&RecordedRequest, usize) -> Answer;
    let allowing: Script = |seen, _| match seen.uri.as_str() {
        "/v1/agent/self" => Answer::ok(
            r#"{"Config":{"Datacenter":"dc1"},"DebugConfig":{"ACLResolverSettings":{"ACLDefaultPolicy":"allow"}}}"#,
        ),
        _ => Answer::Forward,
    };
    for (name, script) in [("nothing-denied", without_acls as Script), ("allowed", allowing)] {
        let world = World::without_deployment(name).await;
        let task = DataplaneTask::start(&world, Release::V0_10).await;
        task.forget().await;
        task.log_out().await;
        let settings = [("TOKEN_MODE", "auth-method"), ("BOOTSTRAP", "none"), ("TIME_BOUNDS", "health-lag=0")];
        let environment = Environment::scripted(&world, &settings, script).await;
        let report = swept(&environment, &SweepOrder::default()).await;
        assert_eq!(report.clusters[0].repaired, 1, "{report:?}");
    }
}
