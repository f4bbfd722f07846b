//! The simulated services without a schedule: calls are served at once, in order.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use controller::Edges;
use fastrand::Rng;
use mesh::settings::TokenMode;

use crate::{
    calls::{CallOutcome, Shared},
    dialect::Dialect,
    environment::edges,
    scenario::{Limits, Scenario},
    world::World,
};

/// One task, without faults, lag or anything of other owners.
const MINIMAL: Limits = Limits {
    tasks: 1,
    services: 1,
    clusters: 1,
    environments: 1,
    sweeps: 0,
    kills: 0,
    faults: false,
    lag: false,
    races: false,
    foreign_tokens: false,
    pre_provisioned: false,
    manual_changes: false,
    exceeded: None,
    extras: false,
    observes: false,
};

/// A world without a schedule, and the edges that reach it.
pub(crate) struct Direct {
    pub(crate) shared: Arc<Shared>,
    pub(crate) edges: Edges,
}

impl Direct {
    /// One cluster and one service; its task has not started. Consul answers in the dialect.
    pub(crate) fn new(dialect: Dialect) -> Self {
        let mut random = Rng::with_seed(1);
        let mut scenario = Scenario::draw(&mut random, &MINIMAL);
        (scenario.mode, scenario.dialect) = (TokenMode::SecretsManager, dialect);
        let shared =
            Arc::new(Shared { world: Mutex::new(World::new(scenario, random, false)), pending: Mutex::default() });
        let edges = edges(&shared, 0);
        Self { shared, edges }
    }

    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.shared.world.lock().unwrap())
    }

    /// Runs work to its end, with the same outcome for each of its calls.
    pub(crate) fn drive<T>(&self, outcome: CallOutcome, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return done;
            }
            let mut call = self.shared.pending.lock().unwrap().remove(0);
            let mut world = self.shared.world.lock().unwrap();
            world.now += 1_000;
            call.perform(&mut world, outcome);
            drop(world);
            call.deliver();
        }
    }
}
