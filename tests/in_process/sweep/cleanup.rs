//! A clean-up that was interrupted can be repeated, and ends in the same clean state.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use controller::CleanupReport;
use observe::Deadline;
use serde_json::json;

use super::{environment, forward};
use crate::{environment::Environment, time::LONG};
use local_stack::world::{Pair, World};
use test_harness::recorder::{Answer, RecordedRequest};

/// A service with its token, and the client agents' token.
async fn provisioned_service(world: &World<'_>) -> [Pair; 2] {
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    let event = world.event(&task).await;
    let environment = environment(world, forward, forward, &[], |edges| edges).await;
    assert!(environment.handle(&[event]).await.failures.is_empty());
    let secrets = [world.secret_name(&world.service()), format!("{}-consul-client-token", world.prefix)];
    [world.pair(&secrets[0]).await.unwrap(), world.pair(&secrets[1]).await.unwrap()]
}

async fn clean_up(environment: &Environment) -> CleanupReport {
    environment.controller.clean_up(Deadline::after(LONG)).await
}

async fn is_clean(world: &World<'_>, pairs: &[Pair; 2]) {
    for pair in pairs {
        assert!(!world.is_valid(&pair.token).await, "a token is left");
    }
    for secret in [world.secret_name(&world.service()), format!("{}-consul-client-token", world.prefix)] {
        assert_eq!(world.is_empty(&secret).await, Some(true), "{secret}");
    }
    let policies = world.consul.get("/v1/acl/policies").await.to_string();
    assert!(!policies.contains(&format!("\"{}-consul-client-policy", world.prefix)), "{policies}");
}

/// Cleans up while every request that matches `is_hit` is refused, and then again in another environment.
async fn interrupted(name: &'static str, is_hit: fn(&RecordedRequest) -> bool) {
    let world = World::without_deployment(name).await;
    let pairs = provisioned_service(&world).await;
    let was_hit = Arc::new(AtomicBool::new(false));
    let refuse = |body: String| {
        let was_hit = was_hit.clone();
        move |seen: &RecordedRequest, _: usize| {
            if is_hit(seen) {
                was_hit.store(true, Ordering::SeqCst);
                return Answer::status(if seen.operation().is_some() { 400 } else { 403 }, body.clone());
            }
            Answer::Forward
        }
    };
    let aws = refuse(json!({ "__type": "AccessDeniedException", "message": "no" }).to_string());
    let first = environment(&world, refuse("Permission denied".to_owned()), aws, &[], |edges| edges).await;
    assert!(!clean_up(&first).await.problems.is_empty(), "it was not interrupted");
    assert!(was_hit.load(Ordering::SeqCst));
    let second = environment(&world, forward, forward, &[], |edges| edges).await;
    let report = clean_up(&second).await;
    assert!(report.problems.is_empty(), "{report:?}");
    is_clean(&world, &pairs).await;
}

#[tokio::test]
async fn an_interrupted_clean_up_is_completed_by_the_next_one() {
    interrupted("bye-secret", |seen| seen.operation().as_deref() == Some("PutSecretValue")).await;
    interrupted("bye-token", |seen| seen.line().starts_with("DELETE /v1/acl/token")).await;
    interrupted("bye-policy", |seen| seen.line().starts_with("DELETE /v1/acl/policy")).await;
}
