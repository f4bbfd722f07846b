//! Simulated Consul: the catalog, with the service instances of tasks on clusters' synthetic nodes and on client agents' nodes.

use std::ops::Deref;

use mesh::{
    arn::{TaskArn, TaskId},
    catalog::{CatalogNode, CheckStatus, HealthCheck, OtherService, ServiceInstance},
    consul_ecs::Registration,
    tenancy::Tenancy,
};

use super::{
    consul::Consul,
    dialect::Answer,
    world::{World, note},
};

/// A service instance.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// As it is read.
    pub(crate) seen: ServiceInstance,
    /// When a sweep has registered it, or a person has changed it: the task may have stopped before. No later sweep is complete.
    pub(crate) unproven_since: Option<u64>,
}

impl Deref for Instance {
    type Target = ServiceInstance;

    fn deref(&self) -> &ServiceInstance {
        &self.seen
    }
}

impl Instance {
    /// An instance of a task, with its `ModifyIndex` and its tenancy.
    pub(crate) fn new(
        node: &str,
        id: &str,
        name: &str,
        task: &TaskArn,
        (modify_index, tenancy): (u64, Tenancy),
    ) -> Self {
        let seen = ServiceInstance { modify_index, tenancy, ..mesh_examples::instance(node, id, name, task) };
        Self { seen, unproven_since: None }
    }

    /// Whether a check belongs to the instance.
    pub(crate) fn has(&self, check: &HealthCheck) -> bool {
        check.node == self.node && check.service_id == self.id
    }
}

impl Consul {
    /// Whether the instance gets no traffic: one critical check suffices.
    pub(crate) fn is_critical(&self, instance: &Instance) -> bool {
        self.checks.iter().any(|check| instance.has(check) && check.status == CheckStatus::Critical)
    }

    /// Whether the instance is in maintenance mode.
    pub(crate) fn is_in_maintenance(&self, instance: &Instance) -> bool {
        let ids = ["service", "host"].map(|of| format!("_{of}_maintenance:{}", instance.id));
        let mut checks = self.checks.iter().filter(|check| instance.has(check) && ids.contains(&check.id));
        checks.any(|check| check.status == CheckStatus::Critical)
    }

    fn remove_instance(&mut self, node: &str, id: &str) {
        self.instances.retain(|instance| !(instance.node == node && instance.id == id));
    }

    /// Adds or replaces a check. A write that changes nothing leaves its `ModifyIndex`.
    fn write_check(&mut self, check: &HealthCheck) {
        let written = HealthCheck { modify_index: self.index + 1, ..check.clone() };
        match self.checks.iter_mut().find(|known| known.node == check.node && known.id == check.id) {
            Some(known) if HealthCheck { modify_index: known.modify_index, ..written.clone() } == *known => return,
            Some(known) => *known = written,
            None => self.checks.push(written),
        }
        self.index += 1;
    }

    /// The check with the ID of this one.
    pub(crate) fn check(&self, check: &HealthCheck) -> Option<&HealthCheck> {
        self.checks.iter().find(|known| known.is_same_as(check))
    }

    /// Records which of these checks a `health-sync` has changed, whose write began at this index.
    pub(crate) fn note_health_sync(&mut self, checks: &[HealthCheck], before: u64, now: u64) {
        for check in checks {
            if self.check(check).is_some_and(|known| known.modify_index > before) {
                self.health_synced.insert(check.id.clone(), now);
            }
        }
    }

    /// Adds or replaces an instance with its checks, in one write.
    fn write_registration(&mut self, new: &Registration, task: &TaskArn, unproven_since: Option<u64>) {
        self.nodes.insert(new.node.clone());
        self.remove_instance(&new.node, &new.id);
        for check in &new.checks {
            self.write_check(check);
        }
        self.index += 1;
        let written = (self.index, new.tenancy.clone());
        let instance = Instance::new(&new.node, &new.id, &new.name, task, written);
        self.instances.push(Instance { unproven_since, ..instance });
    }

    /// Deregisters a service with its checks.
    pub fn remove(&mut self, node: &str, id: &str) {
        self.remove_instance(node, id);
        self.checks.retain(|check| !(check.node == node && check.service_id == id));
    }

    /// Removes a node with its services and checks.
    pub fn remove_node(&mut self, node: &str) {
        self.nodes.remove(node);
        self.instances.retain(|instance| instance.node != node);
        self.checks.retain(|check| check.node != node);
        self.others.retain(|(on, _)| on != node);
    }

    /// A task deregisters its services, and may log out.
    pub fn forget_task(&mut self, task: &TaskId, logs_out: bool) {
        let own: Vec<Instance> = self.instances.iter().filter(|instance| instance.task == *task).cloned().collect();
        for instance in own {
            self.remove(&instance.node, &instance.id);
        }
        if logs_out {
            self.log_out(task);
        }
    }

    /// Deletes the login tokens of a task.
    pub fn log_out(&mut self, task: &TaskId) {
        self.tokens.retain(|record| record.description.login().is_none_or(|mark| mark.task != *task));
    }
}

impl World {
    /// A task registers its service and its sidecar proxy, if this Consul lets it: `mesh-init` on the cluster's node, with critical checks, which
    /// `health-sync` then updates; a client agent on its own, with checks that pass.
    pub(crate) fn register(&mut self, index: usize) {
        if !self.ecs.tasks[index].standing.is_admitted() {
            return;
        }
        let mut registrations = self.registrations(index);
        let arn = self.ecs.tasks[index].arn.clone();
        if self.ecs.tasks[index].has_agent {
            let node = self.join(index);
            for registration in &mut registrations {
                registration.node.clone_from(&node);
                for check in &mut registration.checks {
                    (check.node, check.status) = (node.clone(), CheckStatus::Passing);
                }
            }
        }
        for registration in &registrations {
            self.consul.write_registration(registration, &arn, None);
        }
        note!(self, "task {index} registers its service on {}", registrations[0].node);
    }

    /// The instances of these tasks on a node, if it exists.
    pub(crate) fn instances_on(&self, node: &str, tenancy: &Tenancy, tasks: &[TaskId]) -> Option<Vec<ServiceInstance>> {
        self.consul.nodes.iter().find(|name| name.eq_ignore_ascii_case(node))?;
        let is_wanted = |instance: &&Instance| {
            instance.node.eq_ignore_ascii_case(node) && instance.tenancy == *tenancy && tasks.contains(&instance.task)
        };
        Some(self.consul.instances.iter().filter(is_wanted).map(|instance| instance.seen.clone()).collect())
    }

    /// The instances of a service, on any node.
    pub(crate) fn instances_of(&self, service: &str, tenancy: &Tenancy, tasks: &[TaskId]) -> Vec<ServiceInstance> {
        let is_wanted = |instance: &&Instance| {
            instance.name == service && instance.tenancy == *tenancy && tasks.contains(&instance.task)
        };
        self.consul.instances.iter().filter(is_wanted).map(|instance| instance.seen.clone()).collect()
    }

    pub(crate) fn node(&self, name: &str, tenancy: &Tenancy) -> Option<CatalogNode> {
        // Consul ignores the case of a node's name.
        let name = self.consul.nodes.iter().find(|node| node.eq_ignore_ascii_case(name))?;
        if tenancy.partition() != self.tenancy.partition() {
            return None;
        }
        let on_it = self.consul.instances.iter().filter(|instance| instance.node == *name);
        let instances: Vec<ServiceInstance> = on_it.map(|instance| instance.seen.clone()).collect();
        let others = self.consul.others.iter().filter(|(node, _)| node == name);
        let others = others.map(|(_, id)| OtherService {
            id: id.clone(),
            name: id.clone(),
            kind: String::new(),
            tenancy: tenancy.clone(),
        });
        Some(CatalogNode {
            name: name.clone(),
            is_synthetic: name.starts_with("arn:"),
            instances,
            others: others.collect(),
        })
    }

    pub(crate) fn synthetic_nodes(&self) -> Vec<String> {
        self.consul.nodes.iter().filter(|name| name.starts_with("arn:")).cloned().collect()
    }

    /// One transaction of check-and-set deletions: all or nothing.
    pub(crate) fn deregister(&mut self, seen: &[ServiceInstance]) -> Result<(), Answer> {
        self.scenario.dialect.check_operations(seen.len())?;
        let has_changed = |(_, seen): &(usize, &ServiceInstance)| {
            let known = self.consul.instances.iter().find(|known| known.node == seen.node && known.id == seen.id);
            known.is_none_or(|known| known.modify_index != seen.modify_index)
        };
        let stale: Vec<(usize, &ServiceInstance)> = seen.iter().enumerate().filter(has_changed).collect();
        if !stale.is_empty() {
            return Err(Answer::stale(&stale));
        }
        for instance in seen {
            self.check_not_blind(Some(&instance.node));
            self.check_not_of_namesake(&instance.node);
            self.check_stopped(&instance.task, "its service was deregistered");
            self.check_quota(&[], Some(&instance.id));
            self.consul.remove(&instance.node, &instance.id);
        }
        Ok(())
    }

    /// A sweep registers an instance of a task with its checks.
    pub(crate) fn register_again(&mut self, registration: &Registration) {
        let task = registration.meta["task-arn"].parse().unwrap();
        self.consul.write_registration(registration, &task, Some(self.now));
        self.check_no_drain_undone();
    }

    /// Deregisters a service instance, whether or not it has changed.
    pub(crate) fn deregister_service(&mut self, node: &str, id: &str) {
        let known = self.consul.instances.iter().find(|known| known.node == node && known.id == id);
        let Some((task, is_unproven)) = known.map(|it| (it.task.clone(), it.unproven_since.is_some())) else {
            return;
        };
        if is_unproven {
            self.check_not_meant_to_run(&task, "the service that a sweep has registered was deregistered");
        } else {
            self.check_stopped(&task, "its service was deregistered");
        }
        self.consul.remove(node, id);
    }

    /// Deregisters a node with its services. Only ours: its cluster has to be deleted, and no other owner's service may be on it.
    pub(crate) fn deregister_node(&mut self, name: &str) {
        self.check_not_of_namesake(name);
        if !self.consul.nodes.contains(name) {
            return;
        }
        self.check_not_blind(Some(name));
        self.check_node_is_free(name);
        if !self.is_cleaned_up && !self.ecs.deleted.iter().any(|(cluster, _)| cluster.as_str() == name) {
            self.broken(format!("only ours: node {name} was deregistered, and its cluster exists"));
        }
        self.consul.remove_node(name);
    }

    /// Only ours: all services of a node that is removed have to belong to stopped tasks.
    pub(crate) fn check_node_is_free(&mut self, name: &str) {
        if self.consul.others.iter().any(|(node, _)| node == name) {
            self.broken(format!("only ours: node {name} was removed with another owner's service"));
        }
        let on_it = self.consul.instances.iter().filter(|instance| instance.node == name);
        let tasks: Vec<TaskId> = on_it.map(|instance| instance.task.clone()).collect();
        for task in tasks {
            self.check_stopped(&task, "its node was removed from the catalog");
        }
    }

    pub(crate) fn checks_of(&self, node: &str, tasks: &[TaskId]) -> Vec<HealthCheck> {
        let is_of = |check: &&HealthCheck| tasks.iter().any(|task| check.service_id.contains(task.as_str()));
        self.consul.checks.iter().filter(|check| check.node == node).filter(is_of).cloned().collect()
    }

    pub(crate) fn node_checks(&self, node: &str) -> Vec<HealthCheck> {
        self.consul.checks.iter().filter(|check| check.node == node).cloned().collect()
    }

    /// Registers checks: all or none.
    pub(crate) fn set_checks(&mut self, checks: &[HealthCheck]) -> Result<(), Answer> {
        let is_known = |check: &HealthCheck| self.consul.instances.iter().any(|instance| instance.has(check));
        if let Some(stray) = checks.iter().find(|check| !is_known(check)) {
            return Err(self.scenario.dialect.unknown_service(stray));
        }
        for check in checks {
            let owner = self.consul.instances.iter().find(|instance| instance.has(check));
            if let Some(id) = owner.filter(|_| check.kind == "maintenance").map(|owner| owner.task.clone()) {
                self.check_may_drain(&id);
            }
            self.consul.write_check(check);
        }
        self.check_no_drain_undone();
        Ok(())
    }
}
