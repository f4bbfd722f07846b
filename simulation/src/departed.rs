//! Instances of tasks that no longer exist: a snapshot brings back those of tasks that have stopped, and a task registers made-up
//! ones. ECS describes the tasks of the first service as STOPPED, and does not know the others.

use consul::Grant;
use mesh::{
    arn::{ClusterArn, TaskArn},
    consul_ecs::SERVICE_METHOD,
    task::{DescribedTask, Placement, TaskEnd, TaskPhase},
};

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

/// Where the numbers of the tasks begin.
const FIRST: u128 = 1 << 32;

impl World {
    /// Brings the instances into the catalog.
    pub(crate) fn bring_back_departed(&mut self) {
        if !self.scenario.departed {
            return;
        }
        note!(self, "instances of tasks that are gone come back, and made-up ones");
        let node = self.clusters[0].clone();
        self.consul.nodes.insert(node.to_string());
        for (first, (name, count)) in [STOPPED, FORGOTTEN, MADE_UP].iter().enumerate() {
            for number in 0..*count {
                let task = departed(&node, first, number);
                self.consul.index += 1;
                let (id, written) = (format!("{name}-{}", task.id()), (self.consul.index, self.tenancy.clone()));
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

    /// What ECS says of a task that stopped before the schedule began.
    pub(crate) fn describe_departed(&self, arn: &TaskArn) -> Option<DescribedTask> {
        let number = u128::from_str_radix(arn.id().as_str(), 16).ok()?;
        let is_known = self.scenario.departed && number / FIRST == 1;
        is_known.then(|| DescribedTask {
            arn: arn.clone(),
            definition: definition_arn(0, Kind::Plain, false),
            phase: TaskPhase::Stopped,
            last_status: "STOPPED".to_owned(),
            tags: mesh::definition::Tags::default(),
            containers: Vec::new(),
            placement: Placement::default(),
            pull_started_at: None,
            stopping_at: None,
            end: TaskEnd::default(),
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

    fn has_departed(&self, (name, _): (&str, u128)) -> bool {
        self.consul.instances.iter().any(|instance| instance.name == name)
    }
}

fn departed(cluster: &ClusterArn, service: usize, number: u128) -> TaskArn {
    let id = format!("{:032x}", FIRST * (service as u128 + 1) + number);
    TaskArn::in_cluster(cluster, &id.parse().unwrap())
}
