//! Conformance tests: the same requests, through the same edges, to the simulated services and to real ones (Consul; MiniStack for
//! AWS). The answers have to be equal, except for generated indexes and times.
//!
//! The simulation differs on purpose: its answers may lag, fail and be lost, and the creation of a token has two steps between
//! which other calls are served, as measured on real servers. Where MiniStack differs from AWS, the simulation follows AWS's
//! documentation, and the test names the difference. Simulated Consul is compared with each of its dialects: what the edge makes of
//! their answers is equal.

mod acl;
mod aws;
mod catalog;
mod objects;

use std::fmt::Debug;

use consul::RetryPolicy;
use controller::{Edges, settings::Settings};
use ecs_mesh_controller::wiring;
use local_stack::world::World;

/// The production edges, with the management token.
async fn real(world: &World<'_>) -> Edges {
    let settings = Settings::read(|name| {
        Some(match name {
            "CONSUL_HTTP_ADDR" => world.consul.address.clone(),
            "CONSUL_HTTP_TOKEN" => world.consul.management_token.clone(),
            "ECS_CLUSTER_ARNS" => world.cluster(),
            "SECRET_NAME_PREFIX" => world.prefix.to_owned(),
            "QUEUE_URL" => world.deployed.queue_url.clone(),
            _ => return None,
        })
    });
    wiring::Clients::new(&settings.expect("settings"), &world.aws.sdk(), RetryPolicy::for_events())
        .await
        .expect("clients")
        .edges
}

/// A list of requests, each with its answer.
#[derive(Default)]
struct Exchange(Vec<String>);

impl Exchange {
    /// Adds an answer; of an error its kind, which the controller distinguishes.
    fn note<T: Debug, E: Debug>(&mut self, asked: &str, answer: Result<T, E>) {
        let answer = match answer {
            Ok(answer) => format!("{answer:?}"),
            Err(error) => format!("{error:?}").split(|c: char| !c.is_alphanumeric()).take(1).collect(),
        };
        self.0.push(format!("{asked}: {answer}"));
    }
}

/// Serialises the tests: they use the same names on shared services.
async fn turn() -> tokio::sync::MutexGuard<'static, ()> {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    TURN.lock().await
}

/// Asserts that the simulated and the real answers are equal.
fn assert_same(simulated: &Exchange, real: &Exchange) {
    assert!(!real.0.is_empty(), "no requests were made");
    for (simulated, real) in simulated.0.iter().zip(&real.0) {
        assert_eq!(simulated, real, "left: simulated, right: real");
    }
    assert_eq!(simulated.0.len(), real.0.len());
}
