//! The simulated services without a schedule: every call is served at once, in the order in which it comes.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use controller::Edges;
use fastrand::Rng;
use mesh::rules::TokenMode;

use crate::{
    board::{Fate, Stage},
    environment::edges,
    scenario::{Limits, Scenario},
    world::World,
};

/// Nothing goes wrong, and nobody else is there.
const CALMEST: Limits = Limits {
    tasks: 1,
    services: 1,
    clusters: 1,
    environments: 1,
    sweeps: 0,
    kills: 0,
    faults: false,
    lag: false,
    hasty: false,
    strangers: false,
    ahead: false,
    disturbed: false,
    exceeded: None,
    extras: false,
};

/// A world in which nothing happens by itself, and the way to it.
pub(crate) struct Direct {
    pub(crate) stage: Arc<Stage>,
    pub(crate) edges: Edges,
}

impl Direct {
    /// One cluster, one service, no tasks yet.
    pub(crate) fn new() -> Self {
        let mut random = Rng::with_seed(1);
        let mut scenario = Scenario::draw(&mut random, &CALMEST);
        scenario.mode = TokenMode::SecretsManager;
        let stage = Arc::new(Stage { world: Mutex::new(World::new(scenario, random, false)), board: Mutex::default() });
        let edges = edges(&stage, 0);
        Self { stage, edges }
    }

    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.stage.world.lock().unwrap())
    }

    /// Runs to the end whatever calls the edges; each call meets the same fate.
    pub(crate) fn drive<T>(&self, fate: Fate, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return done;
            }
            let mut call = self.stage.board.lock().unwrap().remove(0);
            let mut world = self.stage.world.lock().unwrap();
            world.now += 1_000;
            call.perform(&mut world, fate);
            drop(world);
            call.deliver();
        }
    }
}
