//! The promises about the repairs of running tasks.

use std::collections::{BTreeMap, BTreeSet};

use consul::ConsulError;
use mesh::{
    arn::TaskId,
    catalog::{CatalogNode, CheckStatus, HealthCheck},
    consul_ecs::Registration,
    settings::RepairMode,
    task::{DescribedTask, TaskPhase},
};

use super::{
    catalog::Instance,
    containers::{APP, Containers},
    ecs::{End, Task},
    health_sync::Release,
    world::World,
};

/// The clusters that a sweep could not read before it began to write, and what it was told about running tasks.
#[derive(Debug)]
pub(crate) struct SweepReads {
    /// When the sweep began.
    pub(crate) began: u64,
    pub(crate) clusters: BTreeSet<String>,
    pub(crate) has_decided: bool,
    pub(crate) repairs: RepairReads,
    /// How many tasks of the service that floods Consul it has asked ECS about, and how many entries it has changed.
    pub(crate) of_flood: (usize, usize),
}

impl From<u64> for SweepReads {
    fn from(began: u64) -> Self {
        Self { began, clusters: BTreeSet::new(), has_decided: false, repairs: RepairReads::default(), of_flood: (0, 0) }
    }
}

/// What a running sweep was told about running tasks, and what it has registered.
#[derive(Debug, Default)]
pub(crate) struct RepairReads {
    /// The IDs of the instances on each node that it has read.
    pub(crate) nodes: BTreeMap<String, BTreeSet<String>>,
    /// The checks of each node that it has read, with the time of the last read, and with its own corrections since.
    checks: BTreeMap<String, (u64, Vec<HealthCheck>)>,
    /// The tasks that ECS has described as meant to run since their node was read, with their containers.
    described: BTreeMap<TaskId, Containers>,
    /// The node, the ID and the `ModifyIndex` of what it has registered, with the time of the write.
    registered: Vec<(String, String, u64, u64)>,
}

impl RepairReads {
    /// The status of a check as it was read.
    fn status(&self, check: &HealthCheck) -> Option<CheckStatus> {
        let (_, checks) = self.checks.get(&check.node)?;
        checks.iter().find(|known| known.is_same_as(check)).map(|known| known.status)
    }

    /// Whether the correction of a check leaves no instance of its service in rotation, and there is one.
    fn takes_last_instance(&self, check: &HealthCheck) -> bool {
        let all = self.checks.values().flat_map(|(_, checks)| checks);
        let mut instances: BTreeMap<(&str, &str), bool> = BTreeMap::new();
        for known in all.filter(|known| known.service_name == check.service_name) {
            let passes = instances.entry((&known.node, &known.service_id)).or_insert(true);
            *passes &= known.status != CheckStatus::Critical;
        }
        let own = instances.remove(&(check.node.as_str(), check.service_id.as_str()));
        own == Some(true) && !instances.into_values().any(|passes| passes)
    }

    /// Records corrections.
    fn correct(&mut self, corrected: &[&HealthCheck]) {
        for known in self.checks.values_mut().flat_map(|(_, checks)| checks) {
            if let Some(check) = corrected.iter().find(|check| check.is_same_as(known)) {
                known.status = check.status;
            }
        }
    }
}

impl World {
    /// Records that a sweep has read a node, or could not read it. What ECS has said of its tasks is old from now on.
    pub(crate) fn was_node_read(
        &mut self,
        environment: usize,
        name: &str,
        read: Result<&Option<CatalogNode>, &ConsulError>,
    ) {
        let Some(sweep) = self.sweep_reads.get_mut(&environment) else { return };
        let on_it = self.ecs.tasks.iter().filter(|task| task.cluster.as_str() == name);
        for task in on_it {
            sweep.repairs.described.remove(task.arn.id());
        }
        match read {
            Ok(node) => {
                let instances = node.iter().flat_map(|node| &node.instances);
                let ids = instances.map(|instance| instance.id.clone()).collect();
                sweep.repairs.nodes.insert(name.to_owned(), ids);
            }
            Err(_) => drop(sweep.repairs.nodes.remove(name)),
        }
    }

    /// Records that a sweep has read the checks of a node.
    pub(crate) fn were_checks_read(&mut self, environment: usize, node: &str, at: u64, checks: &[HealthCheck]) {
        let Some(sweep) = self.sweep_reads.get_mut(&environment) else { return };
        sweep.repairs.checks.insert(node.to_owned(), (at, checks.to_vec()));
    }

    /// Records what ECS has said to a sweep about tasks.
    pub(crate) fn were_described(&mut self, environment: usize, tasks: &[DescribedTask]) {
        let Some(sweep) = self.sweep_reads.get_mut(&environment) else { return };
        for task in tasks {
            if task.phase == TaskPhase::Active {
                sweep.repairs.described.insert(task.arn.id().clone(), Containers::shown(task));
            } else {
                sweep.repairs.described.remove(task.arn.id());
            }
        }
    }

    /// Never blind: an instance is registered only if it was missing when its node was read, and if ECS has described its task as
    /// meant to run since then, with the statuses that this means.
    pub(crate) fn check_may_register(&mut self, environment: usize, new: &Registration) {
        let healing = &self.scenario.healing;
        let repairs = self.sweep_reads.get(&environment).map(|sweep| &sweep.repairs);
        let task: Option<TaskId> = new.meta.get("task-id").and_then(|id| id.parse().ok());
        let described = repairs.zip(task).and_then(|(repairs, task)| repairs.described.get(&task));
        let how = match (repairs.and_then(|repairs| repairs.nodes.get(&new.node)), described) {
            _ if healing.repair != RepairMode::On => "although REPAIR is not on",
            (None, _) => "although its node was not read",
            (Some(ids), _) if ids.contains(&new.id) => "although it was there when its node was read",
            (_, None) => "although ECS has not said again that its task is meant to run",
            (_, Some(containers)) => {
                let [app, proxy, _] = healing.statuses(*containers);
                let is_wrong =
                    |check: &HealthCheck| check.status != if check.id.ends_with("-app") { app } else { proxy };
                match new.checks.iter().find(|check| is_wrong(check)) {
                    Some(_) => "with another status than in ECS",
                    None => return,
                }
            }
        };
        self.broken(format!("never blind: {} is registered {how}", new.id));
    }

    /// A status is corrected only if it has contradicted ECS for as long as `health-lag`: `health-sync` may just have written it.
    /// That of a task whose `health-sync` has stopped is corrected at once. No passing check is lowered because ECS does not tell the
    /// health of its container, and no service loses its last passing instance.
    pub(crate) fn check_may_correct(&mut self, environment: usize, checks: &[HealthCheck]) {
        let Some(sweep) = self.sweep_reads.get(&environment) else { return };
        let lag = self.scenario.healing.health_lag * 1_000;
        let task_of = |check: &HealthCheck| {
            let is_its = |task: &&Task| check.service_id.contains(&task.arn.id().to_string());
            self.ecs.tasks.iter().find(is_its)
        };
        let has_no_reporter = |check: &HealthCheck| task_of(check).is_some_and(|task| task.containers().has_lost_sync);
        let is_lowered = |check: &&HealthCheck| {
            check.status == CheckStatus::Critical && sweep.repairs.status(check) == Some(CheckStatus::Passing)
        };
        let is_blind = |check: &&HealthCheck| {
            let is_lost = |task: &Task| task.containers().has_lost_proxy && !check.id.ends_with(&format!("-{APP}"));
            task_of(check).is_some_and(|task| task.hides_health && !is_lost(task))
        };
        let is_early = |check: &&HealthCheck| {
            let read = sweep.repairs.checks.get(&check.node);
            let read = read.filter(|(_, checks)| checks.iter().any(|known| known.id == check.id));
            let written_at = self.consul.health_synced.get(&check.id);
            // A write that is later than the look is a race that the next sweep ends.
            let is_recent =
                |((at, _), written_at): (&(u64, _), &u64)| written_at <= at && at - written_at + 1_000 < lag;
            read.zip(written_at).is_some_and(is_recent) && !has_no_reporter(check)
        };
        let own: Vec<&HealthCheck> = checks.iter().filter(|check| check.kind != "maintenance").collect();
        let lowered: Vec<&HealthCheck> = own.iter().copied().filter(|check| is_lowered(check)).collect();
        let early = own.iter().find(|check| is_early(check));
        let blind = lowered.iter().find(|check| is_blind(check));
        let how = match (early, blind) {
            _ if !own.is_empty() && self.scenario.healing.repair != RepairMode::On => {
                Some("although REPAIR is not on".to_owned())
            }
            (Some(check), _) => Some(format!("too early: health-sync has just written {}", check.id)),
            (None, Some(check)) => Some(format!("although ECS does not tell the health behind {}", check.id)),
            (None, None) => None,
        };
        let Some(sweep) = self.sweep_reads.get_mut(&environment) else { return };
        let last =
            lowered.iter().find(|check| sweep.repairs.takes_last_instance(check)).map(|check| &check.service_name);
        sweep.repairs.correct(&own);
        if let Some(how) = how {
            self.broken(format!("never blind: checks are corrected {how}"));
        } else if let Some(service) = last {
            self.broken(format!("never the living: the last passing instance of {service} is taken out of rotation"));
        }
    }

    /// Whether the running sweep has registered an instance of the task.
    pub(crate) fn is_just_registered(&self, task: &TaskId) -> bool {
        let registered = self.sweep_reads.get(&self.caller).into_iter().flat_map(|sweep| &sweep.repairs.registered);
        registered.into_iter().any(|(_, id, ..)| id.contains(task.as_str()))
    }

    /// ECS does not describe a task to the sweep that has registered it: the next sweep decides.
    pub(crate) fn leave_to_the_next_sweep(&mut self, task: &TaskId) {
        if let Some(sweep) = self.sweep_reads.get_mut(&self.caller) {
            sweep.repairs.registered.retain(|(_, id, ..)| !id.contains(task.as_str()));
        }
    }

    /// Records that a sweep has registered an instance.
    pub(crate) fn was_registered(&mut self, environment: usize, sweep_began: Option<u64>, new: &Registration) {
        let (now, index) = (self.now, self.consul.index);
        if let Some(sweep) = self.sweep_reads.get_mut(&environment).filter(|sweep| Some(sweep.began) == sweep_began) {
            sweep.repairs.registered.push((new.node.clone(), new.id.clone(), index, now));
        }
    }

    /// Never the stopped: nothing is left that a sweep has registered for a task that had been told to stop by then.
    pub(crate) fn check_registered(&mut self, repairs: &RepairReads) {
        for (node, id, index, at) in &repairs.registered {
            let mut instances = self.consul.instances.iter();
            let is_it = |it: &&Instance| it.node == *node && it.id == *id && it.modify_index == *index;
            let Some(instance) = instances.find(is_it) else { continue };
            let task = self.ecs.tasks.iter().find(|task| *task.arn.id() == instance.task);
            if task.and_then(Task::ends_at).is_some_and(|end| end + self.scenario.lag <= *at) {
                self.broken(format!("never the stopped: {id} was registered, and its task had been told to stop"));
            }
        }
    }

    /// Whether an instance of a running task is missing, because a person has changed the catalog.
    pub(crate) fn is_task_forgotten(&self) -> bool {
        let is_missing = |task: &Task| {
            let is_its = |instance: &&Instance| instance.task == *task.arn.id();
            task.runs_in_mesh() && self.consul.instances.iter().filter(is_its).count() < 2
        };
        self.manual_changes.is_catalog_changed && self.ecs.tasks.iter().any(is_missing)
    }

    /// The tasks that are to stop some time, and that a sweep is about to register.
    pub(crate) fn tasks_being_repaired(&self) -> Vec<usize> {
        let is_repaired = |index: &usize| {
            let task = &self.ecs.tasks[*index];
            let is_found_missing = |sweep: &SweepReads| {
                let ids = sweep.repairs.nodes.get(task.cluster.as_str());
                let is_missing = ids.is_some_and(|ids| !ids.iter().any(|id| id.ends_with(task.arn.id().as_str())));
                is_missing && sweep.repairs.described.contains_key(task.arn.id())
            };
            task.end == End::Stops && task.runs_in_mesh() && self.sweep_reads.values().any(is_found_missing)
        };
        (0..self.ecs.tasks.len()).filter(is_repaired).collect()
    }

    /// Converges: after a sweep, also one that has tripped the guard, every running task is registered with all its checks, and
    /// each has the status that ECS means.
    pub(crate) fn check_healed(&mut self) {
        if self.scenario.healing.repair != RepairMode::On {
            return;
        }
        for index in 0..self.ecs.tasks.len() {
            if !self.ecs.tasks[index].runs_in_mesh() || !self.ecs.tasks[index].is_connected() {
                continue;
            }
            for registration in self.registrations(index) {
                let is_it = |it: &Instance| it.node == registration.node && it.id == registration.id;
                if !self.consul.instances.iter().any(is_it) {
                    return self
                        .broken(format!("converges: task {index} runs, and {} is not registered", registration.id));
                }
                if let Some(check) = registration.checks.iter().find(|check| self.consul.check(check).is_none()) {
                    return self.broken(format!("converges: task {index} runs, and has no check {}", check.id));
                }
            }
        }
        self.check_health();
    }

    /// Converges: after a sweep that repairs, every check of a running task has the health that ECS reports,
    /// as the task's release means it.
    fn check_health(&mut self) {
        for index in 0..self.ecs.tasks.len() {
            let task = &self.ecs.tasks[index];
            // `health-sync` takes the last health status of a proxy that has stopped for its health. The sweep says which instance it
            // has kept in rotation.
            let is_kept = self.kept_in_rotation.contains(task.arn.id().as_str());
            if !task.runs_in_mesh()
                || !task.is_connected()
                || task.hides_health
                || is_kept
                || self.misreads_lost_proxy(task)
            {
                continue;
            }
            let wanted = self.scenario.healing.statuses(task.containers());
            // Whether the app's health counts for the proxy's checks is then not known.
            let judged =
                if self.scenario.healing.release == Release::Unknown && task.containers().is_unhealthy { 1 } else { 3 };
            let checks = self.registrations(index).into_iter().flat_map(|registration| registration.checks);
            for (check, wanted) in checks.zip(wanted).take(judged) {
                if self.consul.check(&check).is_some_and(|known| known.status != wanted) {
                    return self.broken(format!(
                        "converges: check {} of task {index} is not {}",
                        check.id,
                        wanted.as_str()
                    ));
                }
            }
        }
    }
}
