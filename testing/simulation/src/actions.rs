//! The actions of a schedule: calls are served, environments start, are killed, and their clocks jump.

use controller::Delivery;
use observe::{SweepCause, SweepOrder};

use super::{
    calls::{CallOutcome, Fault, Service},
    choice::Action,
    environment::Environment,
    healing::SweepReads,
    queue::orders_sweep,
    scenario::Scenario,
    schedule::{MOST_STEPS, Schedule},
    world::World,
    world::note,
};

impl Schedule {
    pub(crate) async fn act(&mut self, action: Action) {
        // Tasks without a token read repeatedly: these steps do not count towards the limit.
        self.steps += usize::from(!matches!(action, Action::Read));
        if self.steps > MOST_STEPS {
            self.with(|world| world.broken("converges: the messages never end".to_owned()));
        }
        match action {
            Action::Serve => self.serve().await,
            Action::Step => self.with(|world| world.step_any(&world.ready_tasks())),
            Action::Receive => self.receive(),
            Action::Sweep => {
                self.left.sweeps -= 1;
                self.start_sweep(SweepOrder::default());
            }
            Action::Kill => self.kill_any(),
            Action::Advance => self.advance_randomly().await,
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
            Action::Jump => self.jump_clock(),
            Action::DeleteCluster => self.delete_cluster(),
            Action::ToggleHealth => self.spend(|left| &mut left.healing.flips, World::toggle_health),
            Action::LoseContainer => self.spend(|left| &mut left.healing.lost_containers, World::lose_container),
            Action::RestartSync => {
                self.spend(|left| &mut left.healing.sync_restarts, World::restart_any_health_sync);
            }
            Action::ChangeHost => self.spend(|left| &mut left.healing.host_changes, World::change_host),
            Action::Tick => self.with(World::tick),
            Action::StopRepaired => self.with(|world| world.step_any(&world.tasks_being_repaired())),
            Action::ChangeCatalog => {
                self.spend(|left| &mut left.healing.catalog_changes, World::change_catalog_by_hand);
            }
            Action::Read => self.with(World::read_any),
            Action::ChangeByHand => self.spend(|left| &mut left.manual_changes, World::change_by_hand),
        }
        self.poll_invocations();
    }

    /// One of the changes that are still to happen.
    fn spend(&mut self, count: fn(&mut Scenario) -> &mut usize, change: fn(&mut World)) {
        *count(&mut self.left) -= 1;
        self.with(change);
    }

    /// Serves one pending call, or delivers its answer.
    pub(crate) async fn serve(&mut self) {
        let took = {
            let mut pending = self.shared.pending.lock().unwrap();
            let mut world = self.shared.world.lock().unwrap();
            let late = pending.iter().position(|call| call.is_late(&world));
            let index = late.unwrap_or_else(|| {
                let free = |index: &usize| !pending[*index].is_stuck(&world);
                let free: Vec<usize> = (0..pending.len()).filter(free).collect();
                free[world.random.usize(..free.len())]
            });
            let is_abandoned = pending[index].is_abandoned();
            let is_write = matches!(pending[index].service, Service::Consul | Service::Secrets);
            world.possible_leftovers += usize::from(is_abandoned && is_write);
            if !pending[index].is_performed() && (!is_abandoned || world.random.bool()) {
                let outcome = outcome(&mut world, pending[index].service);
                world.possible_leftovers += usize::from(!matches!(outcome, CallOutcome::Served) && is_write);
                if is_abandoned {
                    world.note("a call takes effect after its caller has ended:");
                }
                pending[index].perform(&mut world, outcome);
            }
            if is_abandoned || world.fault_free || world.random.u32(..5) > 0 {
                let mut call = pending.swap_remove(index);
                if !is_abandoned && world.repeats_late() {
                    world.possible_leftovers += usize::from(is_write);
                    let repeated = call.deliver_and_repeat(&mut world);
                    pending.push(repeated);
                } else {
                    call.deliver();
                }
            }
            if !world.fault_free && world.random.u32(..100) == 0 {
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
            world.sweep_reads.remove(&number);
            if messages.iter().any(|message| orders_sweep(&message.body)) {
                world.sweep_reads.insert(number, SweepReads::from(world.now));
            }
            let asks = ["Service Idle Check", "Second Look"];
            let is_check =
                |message: &Delivery| asks.iter().any(|it| message.body.contains(it)) || orders_sweep(&message.body);
            if messages.iter().any(is_check) {
                world.checking_idle.insert(number);
            }
            for message in &messages {
                note!(world, "  message {} (receive {}): {}", message.id, message.receives, message.body);
            }
            world.now
        });
        self.environments[idle].handle(messages, now);
    }

    /// An idle environment: a warm one, or a new one.
    pub(crate) fn idle_environment(&mut self, sweeps: bool) -> usize {
        let is_idle = |environment: &Environment| environment.invocation.is_none() && environment.sweeps == sweeps;
        let warm: Vec<usize> = (0..self.environments.len()).filter(|n| is_idle(&self.environments[*n])).collect();
        let chosen = self.with(|world| {
            let is_warm = !warm.is_empty() && world.random.u32(..4) > 0;
            is_warm.then(|| warm[world.random.usize(..warm.len())])
        });
        chosen.unwrap_or_else(|| {
            let number = self.started;
            self.started += 1;
            self.with(|world| world.skew_clock(number, "starts"));
            self.environments.push(Environment::start(&self.shared, number, sweeps));
            self.environments.len() - 1
        })
    }

    pub(crate) fn start_sweep(&mut self, order: SweepOrder) {
        let idle = self.idle_environment(true);
        self.start_sweep_in(idle, order);
    }

    /// Starts a sweep in this environment.
    pub(crate) fn start_sweep_in(&mut self, idle: usize, order: SweepOrder) {
        let number = self.environments[idle].number;
        let now = self.with(|world| {
            note!(world, "environment {number} sweeps");
            world.checking_idle.insert(number);
            let began = world.now;
            world.sweep_reads.insert(number, SweepReads::from(began));
            let wrong_region_sweeps = world.scenario.wrong_region_sweeps;
            if !world.fault_free && world.chance(wrong_region_sweeps) {
                world.note("it reads the wrong region");
                world.in_wrong_region.insert(number);
            }
            world.now
        });
        self.environments[idle].sweep(order, now);
    }

    /// Deletes the last cluster; the event starts a sweep, unless it is lost.
    fn delete_cluster(&mut self) {
        let (deleted, is_delivered) = self.with(|world| {
            let deleted = world.delete_cluster();
            let lost = world.scenario.lost;
            (deleted, !world.chance(lost))
        });
        if is_delivered {
            let clusters = vec![deleted.clone()];
            self.start_sweep(SweepOrder {
                clusters,
                cause: SweepCause::ClusterDeleted(deleted),
                ..SweepOrder::default()
            });
        }
    }

    pub(crate) fn clean_up(&mut self) {
        let idle = self.idle_environment(true);
        let number = self.environments[idle].number;
        let now = self.with(|world| {
            note!(world, "environment {number} cleans up");
            world.is_cleaned_up = true;
            world.now
        });
        self.environments[idle].clean_up(now);
    }

    pub(crate) fn kill_any(&mut self) {
        let busy: Vec<usize> =
            (0..self.environments.len()).filter(|n| self.environments[*n].invocation.is_some()).collect();
        self.left.kills -= 1;
        let index = busy[self.with(|world| world.random.usize(..busy.len()))];
        self.kill(index, "is killed");
    }

    pub(crate) fn kill(&mut self, index: usize, how: &str) {
        let environment = self.environments.remove(index);
        self.with(|world| {
            note!(world, "environment {} {how}", environment.number);
            world.possible_leftovers += 1;
            world.sweep_reads.remove(&environment.number);
            world.checking_idle.remove(&environment.number);
            world.in_wrong_region.remove(&environment.number);
        });
    }

    fn break_down(&mut self) {
        self.left.outages -= 1;
        self.with(|world| {
            let service = [
                Service::Consul,
                Service::Consul,
                Service::Ec2,
                Service::Ecs,
                Service::Iam,
                Service::Secrets,
                Service::Sqs,
            ];
            let service = service[world.random.usize(..service.len())];
            let is_credential = service == Service::Consul && world.random.bool();
            let fault = if is_credential { Fault::Credential } else { Fault::Unavailable };
            note!(world, "{service:?} is down: {fault:?}");
            world.down.insert(service, fault);
        });
    }

    fn jump_clock(&mut self) {
        if self.environments.is_empty() {
            return;
        }
        let index = self.with(|world| world.random.usize(..self.environments.len()));
        let number = self.environments[index].number;
        self.with(|world| world.skew_clock(number, "jumps in time"));
    }
}

/// Draws the outcome of a call.
fn outcome(world: &mut World, service: Service) -> CallOutcome {
    if world.fault_free {
        return CallOutcome::Served;
    }
    if let Some(fault) = world.down.get(&service) {
        return CallOutcome::Refused(*fault);
    }
    let (refused, lost, repeated) = (world.scenario.refused, world.scenario.answer_lost, world.scenario.repeated);
    if world.chance(refused) {
        // A follower to which the controller's token has not been replicated yet rejects it.
        let faults = [Fault::Throttled, Fault::Unavailable, Fault::Credential];
        let kinds = if matches!(service, Service::Consul | Service::Ec2 | Service::Secrets) { 3 } else { 2 };
        return CallOutcome::Refused(faults[world.random.usize(..kinds)]);
    }
    if world.chance(lost) {
        return CallOutcome::AnswerLost;
    }
    if ![Service::Ec2, Service::Ecs, Service::Iam].contains(&service) && world.chance(repeated) {
        CallOutcome::Repeated
    } else {
        CallOutcome::Served
    }
}
