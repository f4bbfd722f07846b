//! One schedule: who goes on next, decided by the seed, until all is quiet and everything can be checked.

use std::{sync::Arc, sync::Mutex, time::Duration};

use ecs_mesh_controller::controller::{SweepOrder, SweepOutcome};

use super::{
    board::{Fate, Fault, Service, Stage},
    environment::{Environment, Outcome},
    world::World,
    world::note,
};

/// How long no call takes longer than, in milliseconds.
const LONGEST_CALL: u64 = 25_000;
/// Whoever is not quiet after so many steps never will be.
const MOST_STEPS: usize = 20_000;

/// What may happen next.
#[derive(Debug, Clone, Copy)]
enum Action {
    Serve,
    Step,
    Receive,
    Sweep,
    Kill,
    Advance,
    Register,
    Outage,
    Recovery,
    Retire,
    Jump,
}

pub(crate) struct Schedule {
    pub(crate) stage: Arc<Stage>,
    environments: Vec<Environment>,
    /// How many environments there ever were.
    started: usize,
    kills: usize,
    sweeps: usize,
    outages: usize,
    registrations: usize,
    /// Time that has passed for the world, and not yet for the timers of invocations.
    owed: u64,
    steps: usize,
    guarded: bool,
    /// Whether everything is quiet, so that a sweep has no excuse.
    is_settled: bool,
}

impl Schedule {
    pub(crate) fn new(world: World) -> Self {
        let scenario = world.scenario.clone();
        Self {
            stage: Arc::new(Stage { world: Mutex::new(world), board: Mutex::default() }),
            environments: Vec::new(),
            started: 0,
            kills: scenario.kills,
            sweeps: scenario.sweeps,
            outages: scenario.outages,
            registrations: if scenario.ahead { scenario.services } else { 0 },
            owed: 0,
            steps: 0,
            guarded: false,
            is_settled: false,
        }
    }

    /// From the first task's start to the last check.
    pub(crate) async fn run(&mut self) {
        self.storm().await;
        self.calm_down();
        self.settle().await;
        let is_all_delivered =
            self.with(|world| world.scenario.lost == 0 && world.scenario.sweeps == 0 && world.sqs.dead.is_empty());
        if is_all_delivered {
            self.check(World::check_converged);
        }
        self.with(|world| world.scenario.lag = 0);
        self.sweep_calmly().await;
        self.check(World::check_converged);
        let (grace, waits) = self.with(|world| {
            let waits = world.consul.tokens.iter().any(|token| token.description.contains("unused-since"));
            (u64::from(world.scenario.grace) * 1_000, waits)
        });
        self.wait(grace + if waits { 3_700_000 } else { 0 }).await;
        self.sweep_calmly().await;
        self.wait(80_000).await;
        self.sweep_calmly().await;
        self.check(World::check_converged);
        self.check(World::check_idle);
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.with(|world| world.broken.is_some())
    }

    fn with<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        look(&mut self.stage.world.lock().unwrap())
    }

    fn check(&self, check: impl FnOnce(&mut World)) {
        if !self.is_broken() {
            self.with(check);
        }
    }

    /// Everything happens at once, until every task has lived, and a little longer.
    async fn storm(&mut self) {
        let mut longer = self.with(|world| world.random.usize(..150));
        while longer > 0 && !self.is_broken() {
            if self.with(|world| world.is_lived_out()) {
                longer -= 1;
            }
            let action = self.choose();
            self.act(action).await;
        }
    }

    fn choose(&mut self) -> Action {
        let (waits, oldest) = self.calls();
        let is_busy = self.environments.iter().any(|environment| environment.invocation.is_some());
        let busy = self.environments.iter().filter(|e| e.invocation.is_some() && !e.sweeps).count();
        let (kills, sweeps, outages, registrations) = (self.kills, self.sweeps, self.outages, self.registrations);
        let is_idle_environment = self.environments.iter().any(|environment| environment.invocation.is_none());
        self.with(|world| {
            let pace = world.scenario.pace;
            let mut actions = vec![(if is_busy { 1 } else { 3 }, Action::Advance)];
            if waits {
                actions.push((20, Action::Serve));
            }
            // Without faults no call takes long.
            if oldest + LONGEST_CALL < world.now || world.calm && waits {
                actions = vec![(1, Action::Serve)];
            }
            if !world.restless().is_empty() {
                actions.push((pace, Action::Step));
            }
            if world.sqs.is_visible(world.now) && busy < world.scenario.environments {
                actions.push((8, Action::Receive));
            }
            if !world.calm {
                let is_down = !world.down.is_empty();
                actions.extend((sweeps > 0).then_some((1, Action::Sweep)));
                actions.extend((kills > 0 && is_busy).then_some((1, Action::Kill)));
                actions.extend((registrations > 0).then_some((2, Action::Register)));
                actions.extend((outages > 0 && !is_down).then_some((1, Action::Outage)));
                actions.extend(is_down.then_some((2, Action::Recovery)));
                actions.extend((world.scenario.retires && is_idle_environment).then_some((1, Action::Retire)));
                actions.extend((world.scenario.skew > 0).then_some((1, Action::Jump)));
            }
            let total: u32 = actions.iter().map(|(weight, _)| *weight).sum();
            let mut at = world.random.u32(..total);
            let chosen = actions.iter().find(|(weight, _)| {
                let is_chosen = at < *weight;
                at = at.saturating_sub(*weight);
                is_chosen
            });
            chosen.map_or(Action::Advance, |(_, action)| *action)
        })
    }

    /// Whether calls wait, and since when the oldest one does.
    fn calls(&self) -> (bool, u64) {
        let board = self.stage.board.lock().unwrap();
        (!board.is_empty(), board.iter().map(|operation| operation.since).min().unwrap_or(u64::MAX / 2))
    }

    async fn act(&mut self, action: Action) {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.with(|world| world.broken("converges: the messages never end".to_owned()));
        }
        match action {
            Action::Serve => self.serve().await,
            Action::Step => self.with(|world| {
                let restless = world.restless();
                let index = restless[world.random.usize(..restless.len())];
                world.step(index);
            }),
            Action::Receive => self.receive(),
            Action::Sweep => {
                self.sweeps -= 1;
                self.start_sweep(false);
            }
            Action::Kill => self.kill_any(),
            Action::Advance => self.advance_somehow().await,
            Action::Register => {
                self.registrations -= 1;
                let number = self.registrations;
                self.with(|world| world.register_definition(number));
            }
            Action::Outage => self.break_down(),
            Action::Recovery => self.with(|world| {
                world.down.clear();
                world.note("all services are up again");
            }),
            Action::Retire => self.environments.retain(|environment| environment.invocation.is_some()),
            Action::Jump => self.jump(),
        }
        self.go_on();
    }

    /// Serves one call that waits, or hands over an answer.
    async fn serve(&mut self) {
        let took = {
            let mut board = self.stage.board.lock().unwrap();
            let mut world = self.stage.world.lock().unwrap();
            let now = world.now;
            let late = board.iter().position(|operation| operation.since + LONGEST_CALL < now);
            let index = late.unwrap_or_else(|| world.random.usize(..board.len()));
            let is_abandoned = board[index].is_abandoned();
            if !board[index].is_performed() && (!is_abandoned || world.random.bool()) {
                let fate = fate(&mut world, board[index].service);
                if is_abandoned {
                    world.note("a call takes effect although nobody waits for it any more:");
                }
                board[index].perform(&mut world, fate);
            }
            if is_abandoned || world.calm || world.random.u32(..5) > 0 {
                board.swap_remove(index).deliver();
            }
            if !world.calm && world.random.u32(..100) == 0 {
                world.random.u64(..8_000)
            } else {
                world.random.u64(1..40)
            }
        };
        self.advance(took).await;
    }

    fn receive(&mut self) {
        let messages = self.with(World::receive);
        if messages.is_empty() {
            return;
        }
        let idle = self.idle_environment(false);
        let now = self.with(|world| {
            let number = self.environments[idle].number;
            note!(world, "environment {number} receives {} messages", messages.len());
            if messages.iter().any(|message| message.body.contains("Service Idle Check")) {
                world.looking.insert(number);
            }
            for message in &messages {
                note!(world, "  message {} (receive {}): {}", message.id, message.receives, message.body);
            }
            world.now
        });
        self.environments[idle].handle(messages, now);
    }

    /// A warm environment, or a cold one.
    fn idle_environment(&mut self, sweeps: bool) -> usize {
        let is_idle = |environment: &Environment| environment.invocation.is_none() && environment.sweeps == sweeps;
        let warm: Vec<usize> = (0..self.environments.len()).filter(|n| is_idle(&self.environments[*n])).collect();
        let chosen = self.with(|world| {
            let is_warm = !warm.is_empty() && world.random.u32(..4) > 0;
            is_warm.then(|| warm[world.random.usize(..warm.len())])
        });
        chosen.unwrap_or_else(|| {
            let number = self.started;
            self.started += 1;
            self.with(|world| {
                let skew = world.scenario.skew;
                let skew = world.random.i64(-skew..=skew);
                world.skews.insert(number, skew);
                note!(world, "environment {number} starts, its clock off by {skew} ms");
            });
            self.environments.push(Environment::start(&self.stage, number, sweeps));
            self.environments.len() - 1
        })
    }

    fn start_sweep(&mut self, force: bool) {
        let idle = self.idle_environment(true);
        let number = self.environments[idle].number;
        let now = self.with(|world| {
            note!(world, "environment {number} sweeps");
            world.looking.insert(number);
            world.blind.insert(number, super::promises::Blind::default());
            let lost = world.scenario.lost_sweeps;
            if !world.calm && world.chance(lost) {
                world.note("it looks into the wrong region");
                world.lost.insert(number);
            }
            world.now
        });
        self.environments[idle].sweep(SweepOrder { force, ..SweepOrder::default() }, now);
    }

    fn kill_any(&mut self) {
        let busy: Vec<usize> =
            (0..self.environments.len()).filter(|n| self.environments[*n].invocation.is_some()).collect();
        self.kills -= 1;
        let index = busy[self.with(|world| world.random.usize(..busy.len()))];
        self.kill(index, "is killed");
    }

    fn kill(&mut self, index: usize, how: &str) {
        let environment = self.environments.remove(index);
        self.with(|world| {
            note!(world, "environment {} {how}", environment.number);
            world.deletions.retain(|deletion| deletion.environment != environment.number);
            world.blind.remove(&environment.number);
            world.looking.remove(&environment.number);
        });
    }

    fn break_down(&mut self) {
        self.outages -= 1;
        self.with(|world| {
            let service = [Service::Consul, Service::Consul, Service::Ecs, Service::Secrets, Service::Sqs];
            let service = service[world.random.usize(..service.len())];
            let is_credential = service == Service::Consul && world.random.bool();
            let fault = if is_credential { Fault::Credential } else { Fault::Unavailable };
            note!(world, "{service:?} is down: {fault:?}");
            world.down.insert(service, fault);
        });
    }

    fn jump(&mut self) {
        if self.environments.is_empty() {
            return;
        }
        let index = self.with(|world| world.random.usize(..self.environments.len()));
        let number = self.environments[index].number;
        self.with(|world| {
            let skew = world.scenario.skew;
            let skew = world.random.i64(-skew..=skew);
            world.skews.insert(number, skew);
            note!(world, "the clock of environment {number} jumps: off by {skew} ms");
        });
    }

    async fn advance_somehow(&mut self) {
        let is_busy = self.environments.iter().any(|environment| environment.invocation.is_some());
        let by = self.with(|world| {
            if is_busy {
                return world.random.u64(1..3_000);
            }
            let next = world.sqs.next_visible().filter(|at| *at > world.now);
            match next {
                Some(at) if world.calm || world.random.bool() => at - world.now,
                _ => world.random.u64(1..20_000),
            }
        });
        self.advance(by).await;
    }

    async fn advance(&mut self, by: u64) {
        let now = self.with(|world| {
            world.now += by;
            world.now
        });
        self.owed += by;
        let is_busy = self.environments.iter().any(|environment| environment.invocation.is_some());
        if !is_busy {
            self.owed = 0;
        } else if self.owed >= 200 {
            tokio::time::advance(Duration::from_millis(std::mem::take(&mut self.owed))).await;
        }
        let is_over = |environment: &Environment| {
            environment.invocation.as_ref().is_some_and(|invocation| invocation.ends_at <= now)
        };
        while let Some(index) = self.environments.iter().position(is_over) {
            self.kill(index, "has run out of time, and is killed");
        }
    }

    /// Lets every environment go on for which something has happened.
    fn go_on(&mut self) {
        for index in 0..self.environments.len() {
            let Some((outcome, messages)) = self.environments[index].go_on() else { continue };
            let number = self.environments[index].number;
            let mut world = self.stage.world.lock().unwrap();
            world.looking.remove(&number);
            match outcome {
                Outcome::Batch(report) => {
                    note!(world, "environment {number} is done: {:?}", report.failures);
                    world.check_batch(number, &messages, &report);
                }
                Outcome::Sweep(report) => {
                    note!(world, "environment {number} has swept: {:?} {:?}", report.outcome, report.problems);
                    world.check_sweep(number, &report);
                    world.blind.remove(&number);
                    world.lost.remove(&number);
                    self.guarded = report.outcome == SweepOutcome::GuardTripped;
                    if self.is_settled && report.outcome == SweepOutcome::Incomplete {
                        world.broken("converges: a sweep is incomplete although nothing is wrong".to_owned());
                    }
                }
            }
        }
    }

    fn calm_down(&mut self) {
        self.with(|world| {
            world.note("---- no more faults ----");
            world.calm = true;
            world.down.clear();
        });
    }

    fn is_quiet(&self) -> bool {
        let is_busy = self.environments.iter().any(|environment| environment.invocation.is_some());
        !is_busy && self.stage.board.lock().unwrap().is_empty() && self.with(|world| world.sqs.messages.is_empty())
    }

    /// Until every message is done or given up.
    async fn settle(&mut self) {
        while !self.is_quiet() && !self.is_broken() {
            let action = self.choose();
            self.act(action).await;
        }
    }

    async fn wait(&mut self, time: u64) {
        self.advance(time).await;
        self.settle().await;
    }

    /// A sweep, all that follows from it, and a person's word if the guard asks for it.
    async fn sweep_calmly(&mut self) {
        self.is_settled = true;
        for force in [false, true] {
            if self.is_broken() || (force && !self.guarded) {
                return;
            }
            self.start_sweep(force);
            self.go_on();
            self.settle().await;
        }
    }
}

fn fate(world: &mut World, service: Service) -> Fate {
    if world.calm {
        return Fate::Served;
    }
    if let Some(fault) = world.down.get(&service) {
        return Fate::Refused(*fault);
    }
    let (refused, lost, repeated) = (world.scenario.refused, world.scenario.answer_lost, world.scenario.repeated);
    if world.chance(refused) {
        // A follower that has not heard of the controller's token yet does not know it.
        let faults = [Fault::Throttled, Fault::Unavailable, Fault::Credential];
        let kinds = if service == Service::Consul { 3 } else { 2 };
        return Fate::Refused(faults[world.random.usize(..kinds)]);
    }
    if world.chance(lost) {
        return Fate::AnswerLost;
    }
    if service != Service::Ecs && world.chance(repeated) { Fate::Repeated } else { Fate::Served }
}
