//! One execution environment of a function: a controller with its caches, and the invocation under way.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use async_trait::async_trait;
use aws::events::{EventPublisher, EventsError};
use controller::{BatchReport, CleanupReport, Controller, Delivery, Edges, Entropy, Writes};
use jiff::Timestamp;
use observe::{Clock, Deadline, Reads, SweepOrder};
use report::{Event, SweepReport};
use secrecy::SecretString;
use uuid::Uuid;

use super::{
    admission::IamEdge,
    calls::{Connection, Shared},
    consul_edge::ConsulEdge,
    ecs_edge::EcsEdge,
    hosts::Ec2Edge,
    queue::QueueEdge,
    secrets::SecretsEdge,
    world::note,
};

/// The functions' timeouts, as in the template, in milliseconds.
const EVENTS_TIMEOUT: u64 = 60_000;
const SWEEP_TIMEOUT: u64 = 300_000;

/// The result of an invocation.
pub(crate) enum Outcome {
    Batch(BatchReport),
    Sweep(SweepReport),
    Cleanup(CleanupReport),
}

/// An invocation under way.
pub(crate) struct Invocation {
    future: Pin<Box<dyn Future<Output = Outcome>>>,
    is_woken: Arc<Woken>,
    pub(crate) messages: Vec<Delivery>,
    pub(crate) ends_at: u64,
}

pub(crate) struct Environment {
    pub(crate) number: usize,
    /// Whether it is an environment of `reconcile`, which sweeps and cleans up.
    pub(crate) sweeps: bool,
    controller: Arc<Controller>,
    /// The factor by which its timers are slower than the wall clock.
    slow: u64,
    pub(crate) invocation: Option<Invocation>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

struct SimulatedClock(Connection);

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        self.0.shared.world.lock().unwrap().time_of(self.0.environment)
    }
}

struct SimulatedEntropy(Connection);

impl Entropy for SimulatedEntropy {
    fn secret(&self) -> SecretString {
        SecretString::from(self.0.shared.world.lock().unwrap().new_secret())
    }

    fn uuid(&self) -> Uuid {
        Uuid::from_u128(self.0.shared.world.lock().unwrap().random.u128(..))
    }

    fn below(&self, limit: usize) -> usize {
        self.0.shared.world.lock().unwrap().random.usize(..limit)
    }
}

/// The event bus: its events only have to leak nothing.
struct SimulatedBus(Connection);

#[async_trait]
impl EventPublisher for SimulatedBus {
    async fn publish(&self, events: &[Event]) -> Result<(), EventsError> {
        let mut world = self.0.shared.world.lock().unwrap();
        for event in events {
            world.check_no_leak(&event.detail());
            note!(world, "{}: {}", event.detail_type(), event.detail());
        }
        Ok(())
    }
}

/// The edges of one environment's controller.
pub(crate) fn edges(shared: &Arc<Shared>, number: usize) -> Edges {
    let connection = Connection { shared: Arc::clone(shared), environment: number };
    let dialect = shared.world.lock().unwrap().scenario.dialect;
    let consul = Arc::new(ConsulEdge { connection: connection.clone(), dialect });
    let secrets = Arc::new(SecretsEdge(connection.clone()));
    let reads = Reads {
        consul: Arc::clone(&consul) as _,
        ecs: Arc::new(EcsEdge { connection: connection.clone(), definitions: Mutex::new(BTreeMap::new()) }),
        ec2: Arc::new(Ec2Edge(connection.clone())),
        iam: Arc::new(IamEdge(connection.clone())),
        secrets: Arc::clone(&secrets) as _,
        clock: Arc::new(SimulatedClock(connection.clone())),
    };
    Edges {
        reads,
        writes: Writes { consul, secrets },
        events: Arc::new(SimulatedBus(connection.clone())),
        queue: Arc::new(QueueEdge(connection.clone())),
        entropy: Arc::new(SimulatedEntropy(connection)),
    }
}

impl Environment {
    /// Starts an environment with empty caches.
    pub(crate) fn start(shared: &Arc<Shared>, number: usize, sweeps: bool) -> Self {
        let (scope, slow) = {
            let world = shared.world.lock().unwrap();
            (world.scope.clone(), world.scenario.slow_timers)
        };
        let controller = Controller::new(scope, edges(shared, number));
        Self { number, sweeps, controller: Arc::new(controller), slow, invocation: None }
    }

    pub(crate) fn handle(&mut self, messages: Vec<Delivery>, now: u64) {
        let (controller, batch) = (Arc::clone(&self.controller), messages.clone());
        let deadline = Deadline::after(Duration::from_millis(EVENTS_TIMEOUT));
        let work = async move { Outcome::Batch(controller.handle(&batch, deadline).await) };
        self.begin(Box::pin(work), messages, now + self.slow * EVENTS_TIMEOUT);
    }

    pub(crate) fn sweep(&mut self, order: SweepOrder, now: u64) {
        let controller = Arc::clone(&self.controller);
        let deadline = Deadline::after(Duration::from_millis(SWEEP_TIMEOUT));
        let work = async move { Outcome::Sweep(controller.sweep(&order, deadline).await) };
        self.begin(Box::pin(work), Vec::new(), now + self.slow * SWEEP_TIMEOUT);
    }

    pub(crate) fn clean_up(&mut self, now: u64) {
        let controller = Arc::clone(&self.controller);
        let deadline = Deadline::after(Duration::from_millis(SWEEP_TIMEOUT));
        let work = async move { Outcome::Cleanup(controller.clean_up(deadline).await) };
        self.begin(Box::pin(work), Vec::new(), now + self.slow * SWEEP_TIMEOUT);
    }

    fn begin(&mut self, future: Pin<Box<dyn Future<Output = Outcome>>>, messages: Vec<Delivery>, ends_at: u64) {
        let is_woken = Arc::new(Woken(AtomicBool::new(true)));
        self.invocation = Some(Invocation { future, is_woken, messages, ends_at });
    }

    /// Polls the invocation if it was woken; its result once it has ended.
    pub(crate) fn poll(&mut self) -> Option<(Outcome, Vec<Delivery>)> {
        let invocation = self.invocation.as_mut()?;
        while invocation.is_woken.0.swap(false, SeqCst) {
            let waker = Waker::from(Arc::clone(&invocation.is_woken));
            if let Poll::Ready(outcome) = invocation.future.as_mut().poll(&mut Context::from_waker(&waker)) {
                let messages = std::mem::take(&mut invocation.messages);
                self.invocation = None;
                return Some((outcome, messages));
            }
        }
        None
    }
}
