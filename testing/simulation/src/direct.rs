//! The simulated services without a schedule: calls are served at once, and in order unless the world shuffles them. For tests, and for
//! the fuzzers.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
};

use controller::{Controller, Edges};
use fastrand::Rng;
use mesh::settings::{RepairMode, TokenMode};

use crate::{
    calls::{CallOutcome, Service, Shared},
    containers::Containers,
    dialect::Dialect,
    ecs::{End, Start},
    environment::edges,
    health_sync::Release,
    scenario::{Limits, Scenario},
    world::World,
};

/// A world without a schedule, and the edges that reach it.
pub struct Direct {
    pub(crate) shared: Arc<Shared>,
    pub edges: Edges,
}

impl Direct {
    /// One cluster and one service; its task has not started. Consul answers in the dialect.
    #[cfg(test)]
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self::drawn(|scenario| (scenario.mode, scenario.dialect) = (TokenMode::SecretsManager, dialect))
    }

    fn drawn(change: impl FnOnce(&mut Scenario)) -> Self {
        let mut random = Rng::with_seed(1);
        // One task, without faults, lag or anything of other owners
        let minimal = Limits { tasks: 1, services: 1, clusters: 1, environments: 1, ..Limits::default() };
        let mut scenario = Scenario::draw(&mut random, &minimal);
        change(&mut scenario);
        let shared =
            Arc::new(Shared { world: Mutex::new(World::new(scenario, random, false)), pending: Mutex::default() });
        let edges = edges(&shared, 0);
        Self { shared, edges }
    }

    /// The cluster `cluster-0` with two tasks, 0 and 1, of `service-0`: one runs, and one has stopped and left its services and
    /// login tokens. Consul also has tokens and a service of other owners.
    pub fn with_leftovers() -> Self {
        let direct = Self::drawn(|scenario| {
            (scenario.mode, scenario.tasks, scenario.foreign_tokens) = (TokenMode::Auto, 2, true);
        });
        direct.with(|world| {
            for (task, end) in world.ecs.tasks.iter_mut().zip([End::Runs, End::Stops]) {
                (task.start, task.end) = (Start::AnyTime, end);
                // Without `health-sync`, nothing deregisters a task that stops.
                task.containers.push((0, Containers { has_lost_sync: end == End::Stops, ..Containers::default() }));
            }
            run(world);
        });
        direct
    }

    /// The cluster `cluster-0` with so many tasks of `service-0`, which log in, run, and are healthy in ECS and in Consul. Consul also has
    /// tokens and a service of other owners. `change` alters the scenario.
    pub fn with_running(tasks: usize, change: impl FnOnce(&mut Scenario)) -> Self {
        let direct = Self::drawn(|scenario| {
            (scenario.mode, scenario.tasks, scenario.foreign_tokens) = (TokenMode::AuthMethod, tasks, true);
            // The older one has no such logins.
            scenario.dialect = Dialect::V1_21;
            scenario.healing.runs_health_sync = true;
            (scenario.healing.release, scenario.healing.repair) = (Release::V0_10, RepairMode::On);
            change(scenario);
        });
        direct.with(|world| {
            for task in &mut world.ecs.tasks {
                (task.start, task.end, task.hides_health) = (Start::AnyTime, End::Runs, false);
            }
            run(world);
            for index in 0..tasks {
                // The proxy has logged in, and now health-sync does.
                world.log_in(index);
                world.sync_task(index);
            }
            world.now += 600_000;
            world.sqs.messages.clear();
        });
        direct
    }

    /// A controller of the world.
    pub fn controller(&self) -> Controller {
        Controller::new(self.with(|world| world.scope.clone()), self.edges.clone())
    }

    /// Runs work to its end: serves its calls, and waits for its timers.
    ///
    /// # Panics
    /// If it reads, writes or publishes what it must not. What it believes about tasks is not judged: events may lie.
    pub async fn serve<T>(&self, work: impl Future<Output = T>) -> T {
        // What a sweep writes is judged by what it has read since.
        let others = self.with(|world| {
            world.sweep_reads.insert(0, world.now.into());
            world.consul.others.len()
        });
        let done = self.serve_with(CallOutcome::Served, work).await;
        self.with(|world| {
            let broken = world.broken.take().filter(|how| !how.starts_with("never the living"));
            assert_eq!(broken, None);
            let foreign = world.consul.tokens.iter().filter(|record| record.foreign).count();
            assert_eq!((foreign, world.consul.others.len()), (world.foreign_tokens, others), "objects of other owners");
            let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
            let is_ours = |name: &String| name.starts_with("consul-ecs-") && name.bytes().all(legal);
            assert!(world.secrets.held.keys().all(is_ours), "{:?}", world.secrets.held.keys());
        });
        done
    }

    /// Looks at the world, or changes it.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.shared.world.lock().unwrap())
    }

    /// Runs work that waits for nothing but its calls, with the same outcome for each of them.
    #[cfg(test)]
    pub(crate) fn drive<T>(&self, outcome: CallOutcome, work: impl Future<Output = T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match pin!(self.serve_with(outcome, work)).poll(&mut context) {
            Poll::Ready(done) => done,
            Poll::Pending => panic!("it waits for something else"),
        }
    }

    /// Runs work with the same outcome for each of its calls, unless a service is down.
    pub(crate) async fn serve_with<T>(&self, outcome: CallOutcome, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            loop {
                if let Poll::Ready(done) = work.as_mut().poll(context) {
                    return Poll::Ready(done);
                }
                let count = self.shared.pending.lock().unwrap().len();
                if count == 0 {
                    return Poll::Pending;
                }
                let next = self.with(|world| world.next_call(count));
                let mut call = self.shared.pending.lock().unwrap().remove(next);
                self.with(|world| {
                    world.now += 1_000;
                    world.consul_calls += usize::from(call.service == Service::Consul);
                    world.begin_outage();
                    let fault = world.down.get(&call.service).copied();
                    let fault = fault.or_else(|| world.denial(call.service));
                    call.perform(world, fault.map_or(outcome, CallOutcome::Refused));
                });
                call.deliver();
            }
        })
        .await
    }
}

/// Every task takes all of its steps.
fn run(world: &mut World) {
    while !world.have_all_tasks_ended() {
        world.now += 60_000;
        world.ready_tasks().into_iter().for_each(|index| world.step(index));
    }
}
