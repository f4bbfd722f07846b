//! Concurrent environments of the function: one token and one secret value, in any order of their calls.

use std::{collections::BTreeSet, sync::Arc};

use crate::{environment::Environment, time::LONG};
use aws::secrets::SecretsError;
use controller::ControllerError;
use futures::future::join_all;
use local_stack::{wait::eventually, world::World};
use observe::CallError;
use serde_json::Value;
use test_harness::{
    fleet::Fleet,
    proxy::{Dialect, Proxy},
    recorder::{Answer, Gate, Recorder},
};

/// How many environments handle the start of a task of one service at once.
const ENVIRONMENTS: usize = 20;
/// How many of them create the token before any creation has finished.
const CREATORS: usize = 3;

/// Handles an event until that succeeds, as with redeliveries of the queue: an attempt may find the secret changed repeatedly.
async fn handled(environment: &Environment, event: &Value) {
    eventually("an event to be handled", LONG, || async {
        let report = environment.handle(std::slice::from_ref(event)).await;
        match report.failures.first() {
            None => Ok(()),
            Some(failure) => match &*failure.error {
                changed @ ControllerError::Call(CallError::Secrets(SecretsError::Changed { .. })) => {
                    Err(changed.to_string())
                }
                error => panic!("{error}"),
            },
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_environments_create_one_token() {
    let world = World::without_deployment("rush").await;
    let definition = world.mesh_definition(&world.service()).await;
    // Given environments of which several create the service's token in Consul at once
    let gate = Gate::of(CREATORS);
    let mut environments = Vec::new();
    for _ in 0..ENVIRONMENTS {
        let (gate, service) = (Arc::clone(&gate), world.service());
        let environment = Environment::scripted(&world, &[], move |seen, _| {
            let creates = seen.line() == "PUT /v1/acl/token" && seen.body.contains(&service);
            if creates { Answer::ForwardThrough(Arc::clone(&gate)) } else { Answer::Forward }
        })
        .await;
        let task = world.run(&definition).await;
        environments.push((environment, world.event(&task).await));
    }
    join_all(environments.iter().map(|(environment, event)| handled(environment, event))).await;
    // Then all versions of the secret name one token, and every other concurrent writer has deleted its own token
    let secret = world.secret_name(&world.service());
    let pair = world.provisioned(&secret).await;
    assert_eq!(world.secret_tokens(&secret).await, BTreeSet::from([pair.token.clone()]));
    let creations = environments.iter().flat_map(|(environment, _)| environment.consul.requests());
    let creations =
        creations.filter(|seen| seen.line() == "PUT /v1/acl/token" && seen.body.contains(&world.service())).count();
    assert!(creations >= CREATORS, "{creations}");
    let tokens = world.tokens_about(&world.service()).await;
    assert_eq!(tokens.len(), 1, "{tokens:#?}");
    assert_eq!(tokens[0]["AccessorID"], pair.accessor_id);
}

/// The most concurrent requests to Consul of one environment.
const AT_ONCE: usize = 8;
/// The services that start, and the tasks that stop: each more than `AT_ONCE`.
const SERVICES: usize = 12;

#[tokio::test]
async fn a_batch_makes_eight_concurrent_calls() {
    let mut fleet = Fleet::of(World::without_deployment("eight-calls").await, "auto").await;
    fleet.logs_in = true;
    // Given services that start, and stopped tasks whose login tokens are left
    fleet.add_services(SERVICES).await;
    let mut events = Vec::new();
    for service in 0..SERVICES {
        fleet.start(service, 1).await;
        let [_, stopped] = fleet.stop(fleet.tasks.len() - 1).await;
        events.push(stopped);
        events.extend(fleet.start(service, 1).await);
    }
    // And a Consul that answers no write until the gate opens
    let gate = Gate::closed();
    let held = Arc::clone(&gate);
    let consul = Recorder::before(&fleet.world.consul.address, move |seen, _| match seen.method.as_str() {
        "GET" => Answer::Forward,
        _ => Answer::ForwardThrough(Arc::clone(&held)),
    })
    .await;
    let counted = Proxy::before(&consul.url, Dialect::Consul).await;
    let address: &'static str = counted.url.clone().leak();
    let environment = Environment::with(&fleet.world, consul, &[("CONSUL_HTTP_ADDR", address)], |edges| edges).await;
    // When one batch contains all of it
    let watch = async {
        eventually("as many writes as may be under way", LONG, || async {
            match gate.arrived() {
                AT_ONCE.. => Ok(()),
                arrived => Err(format!("{arrived} writes")),
            }
        })
        .await;
        gate.open();
    };
    let (report, ()) = tokio::join!(environment.handle(&events), watch);
    assert!(report.failures.is_empty(), "{report:?}");
    // Then eight requests were under way before the first answer, and never more, including reads
    assert_eq!(counted.stats.peak_under_way(), AT_ONCE);
}
