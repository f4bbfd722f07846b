//! The promises about drained instances: those of tasks that were told to stop, and of tasks whose proxy has stopped.

use mesh::{arn::TaskId, settings::RepairMode, task::TaskPhase};

use super::{catalog::Instance, ecs::Task, world::World};

impl World {
    /// Whether a task without its proxy has to be drained: only with `REPAIR=on`, and if ECS is told of its containers.
    pub(crate) fn is_drained_without_proxy(&self, task: &Task) -> bool {
        self.may_be_drained_without_proxy(task) && task.is_connected()
    }

    fn may_be_drained_without_proxy(&self, task: &Task) -> bool {
        self.scenario.healing.repair == RepairMode::On && task.has_lost_proxy()
    }

    /// Never the living: only a task that was told to stop is drained, one whose proxy has stopped, or one whose host is gone.
    pub(crate) fn check_may_drain(&mut self, id: &TaskId) {
        let may_be_drained = |task: &Task| task.arn.id() == id && self.may_be_drained_without_proxy(task);
        if !self.ecs.tasks.iter().any(may_be_drained) && !self.may_be_drained_with_host(id) {
            self.check_not_meant_to_run(id, "was drained");
        }
    }

    /// Never the living: what a task that is meant to run has is left to it.
    pub(crate) fn check_not_meant_to_run(&mut self, id: &TaskId, how: &str) {
        let is_active = |task: &Task| task.arn.id() == id && task.phase() == Some(TaskPhase::Active);
        if let Some(index) = self.ecs.tasks.iter().position(is_active) {
            self.broken(format!("never the living: task {index} is meant to run, and {how}"));
        }
    }

    /// Each instance of a task that was told to stop, or whose proxy has stopped, is in maintenance mode, from now on until it is
    /// deregistered.
    pub(crate) fn check_drained(&mut self, index: usize, is_swept: bool) {
        let id = self.ecs.tasks[index].arn.id();
        // On a client agent's node, the agent drains its services itself.
        let is_its = |instance: &&Instance| {
            let is_proven = is_swept || instance.unproven_since.is_none();
            instance.task == *id && instance.node.starts_with("arn:") && is_proven
        };
        let own: Vec<Instance> = self.consul.instances.iter().filter(is_its).cloned().collect();
        if !own.iter().all(|instance| self.consul.is_in_maintenance(instance)) {
            let why = if self.ecs.tasks[index].has_lost_proxy() { "has lost its proxy" } else { "was told to stop" };
            self.broken(format!("nothing lost: task {index} {why}, and its checks still pass"));
        }
        self.drained.extend(own.into_iter().map(|instance| (instance.seen.node, instance.seen.id)));
    }

    /// Nothing lost: a drained instance stays drained until it is deregistered, whichever checks are written.
    pub(crate) fn check_no_drain_undone(&mut self) {
        if self.drained.is_empty() {
            return;
        }
        let was_drained = |instance: &&Instance| {
            instance.unproven_since.is_none() && self.drained.contains(&(instance.node.clone(), instance.id.clone()))
        };
        let drained: Vec<&Instance> = self.consul.instances.iter().filter(was_drained).collect();
        if let Some(undone) = drained.into_iter().find(|instance| !self.consul.is_critical(instance)) {
            let how = format!("nothing lost: {} was drained, and its checks pass again", undone.id);
            self.broken(how);
        }
    }

    /// After a sweep, every task that was told to stop is drained, and every task whose proxy has stopped.
    pub(crate) fn check_all_drained(&mut self) {
        for index in 0..self.ecs.tasks.len() {
            let task = &self.ecs.tasks[index];
            if task.phase() == Some(TaskPhase::Stopping) || self.is_drained_without_proxy(task) {
                self.check_drained(index, true);
            }
        }
    }
}
