//! Instances of tasks that no longer exist: a snapshot brings back those of tasks that have stopped, and a task registers made-up
//! ones. ECS describes the tasks of the first service as STOPPED, and does not know the others.

use consul::Grant;
use mesh::{
    arn::{ClusterArn, TaskArn},
    consul_ecs::{SERVICE_METHOD, instance_id},
    quota::ENTRIES_OF_ONE,
    task::DescribedTask,
};
use mesh_examples::described;

use super::{
    admission::login_description,
    catalog::Instance,
    consul::granted,
    ecs::{Kind, definition_arn},
    world::{World, note},
};

/// The services of tasks that are gone, and how many tasks of each come back: the first far above the guard's share, the second
/// too few for it, the third made up by tasks that have logged in with the IDs of others.
const STOPPED: (&str, u128) = ("stopped-long-ago", 12);
const FORGOTTEN: (&str, u128) = ("forgotten", 3);
const MADE_UP: (&str, u128) = ("made-up", 12);
/// A service that makes up more tasks than a sweep asks ECS about.
const FLOOD: &str = "flood";
const FLOOD_SIZE: u128 = 1_030;

/// Where the numbers of the tasks begin.
const FIRST: u128 = 1 << 32;

impl World {
    /// Brings the instances into the catalog.
    pub(crate) fn bring_back_departed(&mut self) {
        if !self.scenario.departed {
            return;
        }
        note!(self, "instances of tasks that are gone come back, and made-up ones");
        match self.random.u32(..80) {
            0 => self.flood(FLOOD_SIZE),
            1 => self.flood_one_task(usize::try_from(FLOOD_SIZE).unwrap()),
            _ => {}
        }
        let node = self.clusters[0].clone();
        self.consul.nodes.insert(node.to_string());
        for (first, (name, count)) in [STOPPED, FORGOTTEN, MADE_UP].iter().enumerate() {
            for number in 0..*count {
                let task = departed(&node, first, number);
                self.consul.index += 1;
                let (id, written) = (instance_id(name, task.id()), (self.consul.index, self.tenancy.clone()));
                self.consul.instances.push(Instance::new(node.as_str(), &id, name, &task, written));
            }
        }
        // As many made-up logins again have registered nothing.
        for number in 0..2 * MADE_UP.1 {
            let task = departed(&node, 2, number);
            let mut record = self.new_record(login_description(node.as_str(), task.id().as_str()), false);
            record.grants = granted(&Grant::ServiceIdentity(MADE_UP.0.parse().unwrap()));
            (record.auth_method, record.created) = (Some(SERVICE_METHOD.to_owned()), 0);
            self.consul.tokens.push(record);
        }
    }

    /// A service registers instances of so many tasks that it has made up.
    pub fn flood(&mut self, tasks: u128) {
        note!(self, "a service makes up {tasks} tasks");
        let node = self.clusters[0].clone();
        (0..tasks).for_each(|number| self.leave_instance(FLOOD, FLOOD, &departed(&node, 3, number)));
    }

    /// Contained: what one service has in Consul makes a sweep ask ECS about a share of it, and change a share. A second look is also
    /// about what the sweep before it has left.
    pub(crate) fn check_quota(&mut self, asked: &[TaskArn], deregistered: Option<&str>) {
        let is_flood = |task: &&TaskArn| number_of(task).is_some_and(|number| number / FIRST == 4);
        let (asked, caller) = (asked.iter().filter(is_flood).count(), self.caller);
        let sweep = self.sweep_reads.get_mut(&caller).filter(|_| self.checking_idle.contains(&caller));
        let Some(sweep) = sweep else { return };
        sweep.of_flood.0 += asked;
        sweep.of_flood.1 += usize::from(deregistered.is_some_and(|id| id.starts_with(FLOOD)));
        let (asked, changed) = sweep.of_flood;
        if asked > ENTRIES_OF_ONE || changed > ENTRIES_OF_ONE {
            self.broken(format!(
                "contained: of one service, a sweep asks about {asked} tasks and changes {changed} entries"
            ));
        }
    }

    /// Instances of a service are left whose tasks ECS does not know.
    pub fn leave_instances(&mut self, service: &str, count: u128) {
        let node = self.clusters[0].clone();
        (0..count).for_each(|number| self.leave_instance(service, service, &departed(&node, 4, number)));
    }

    /// A service registers so many instances of one task that has stopped.
    pub fn flood_one_task(&mut self, instances: usize) {
        let task = departed(&self.clusters[0].clone(), 0, 0);
        self.scenario.departed = true;
        (0..instances).for_each(|number| self.leave_instance(FLOOD, &format!("{FLOOD}-{number}"), &task));
    }

    fn leave_instance(&mut self, service: &str, id: &str, task: &TaskArn) {
        let node = self.clusters[0].to_string();
        self.consul.nodes.insert(node.clone());
        self.consul.index += 1;
        let written = (self.consul.index, self.tenancy.clone());
        self.consul.instances.push(Instance::new(&node, &instance_id(id, task.id()), service, task, written));
    }

    /// How many instances of a service there are.
    pub fn count_instances(&self, service: &str) -> usize {
        self.consul.instances.iter().filter(|instance| instance.name == service).count()
    }

    /// What ECS says of a task that stopped before the schedule began.
    pub(crate) fn describe_departed(&self, arn: &TaskArn) -> Option<DescribedTask> {
        let number = number_of(arn)?;
        let is_known = self.scenario.departed && number / FIRST == 1;
        is_known.then(|| DescribedTask {
            definition: Some(definition_arn(0, Kind::Plain, false)),
            ..described(arn.clone(), "STOPPED", "STOPPED")
        })
    }

    /// Whether made-up instances are left, which the guard holds back if the listing of ECS may be incomplete.
    pub(crate) fn has_made_up(&self) -> bool {
        self.has_departed(MADE_UP)
    }

    /// Converges: after a sweep and its second look, nothing of tasks that are gone is left, except the made-up instances of a
    /// service, which need a person if the listing of ECS may be incomplete. Never blind: then they stay without one.
    pub(crate) fn check_departed(&mut self, is_forced: bool, had_made_up: bool) {
        let cluster = self.clusters[0].clone();
        let may_be_incomplete = self.scenario.miscounts && self.counted(&cluster) > 0;
        if had_made_up && !is_forced && may_be_incomplete && !self.has_made_up() {
            let what = "never blind: all instances of a service were removed without force, although the listing may be incomplete";
            self.broken(what.to_owned());
        }
        let left = |world: &Self, of: (&str, u128)| world.has_departed(of).then(|| of.0.to_owned());
        let mut left: Vec<String> = [STOPPED, FORGOTTEN].iter().filter_map(|of| left(self, *of)).collect();
        if self.has_made_up() && (is_forced || !self.scenario.miscounts) {
            left.push(MADE_UP.0.to_owned());
        }
        if !left.is_empty() {
            self.broken(format!("converges: after a sweep, instances of tasks that are gone are left: {left:?}"));
        }
    }

    /// Converges: after some sweeps, nothing of a flood is left.
    pub(crate) fn check_flood(&mut self) {
        let left = self.count_instances(FLOOD);
        if left > 0 && !self.scenario.miscounts {
            self.broken(format!("converges: {left} instances of a flood are left"));
        }
    }

    fn has_departed(&self, (name, _): (&str, u128)) -> bool {
        self.consul.instances.iter().any(|instance| instance.name == name)
    }
}

fn number_of(task: &TaskArn) -> Option<u128> {
    u128::from_str_radix(task.id().as_str(), 16).ok()
}

fn departed(cluster: &ClusterArn, service: usize, number: u128) -> TaskArn {
    let id = format!("{:032x}", FIRST * (service as u128 + 1) + number);
    TaskArn::in_cluster(cluster, &id.parse().unwrap())
}
