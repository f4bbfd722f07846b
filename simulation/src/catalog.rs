//! Simulated Consul: the catalog, with the service instances of tasks on clusters' synthetic nodes and on client agents' nodes.

use consul::login_mark;
use mesh::{
    arn::{TaskArn, TaskId},
    catalog::{CatalogNode, CheckStatus, HealthCheck, ServiceInstance},
    tenancy::{Tenancy, TenancyName},
};

use super::{
    consul::Consul,
    dialect::Answer,
    world::note,
    world::{World, service_name},
};

/// The containers of a task, each with its check.
const APP: &str = "app";
const DATAPLANE: &str = "consul-dataplane";

/// A service instance.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) node: String,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) task: TaskArn,
    pub(crate) modify_index: u64,
    pub(crate) tenancy: Tenancy,
}

impl Instance {
    /// Whether a check belongs to the instance.
    fn has(&self, check: &HealthCheck) -> bool {
        check.node == self.node && check.service_id == self.id
    }

    fn seen(&self) -> ServiceInstance {
        ServiceInstance {
            node: self.node.clone(),
            id: self.id.clone(),
            name: self.name.clone(),
            task: self.task.id().clone(),
            task_arn: Some(self.task.clone()),
            modify_index: self.modify_index,
            tenancy: self.tenancy.clone(),
        }
    }
}

impl Consul {
    /// Whether the instance gets no traffic: one critical check suffices.
    pub(crate) fn is_critical(&self, instance: &Instance) -> bool {
        self.checks.iter().any(|check| instance.has(check) && check.status == CheckStatus::Critical)
    }

    /// Whether the instance is in maintenance mode.
    pub(crate) fn is_in_maintenance(&self, instance: &Instance) -> bool {
        let is_maintenance = |check: &&HealthCheck| check.id == format!("_service_maintenance:{}", instance.id);
        let mut checks = self.checks.iter().filter(|check| instance.has(check));
        checks.find(is_maintenance).is_some_and(|check| check.status == CheckStatus::Critical)
    }

    fn remove(&mut self, node: &str, id: &str) {
        self.instances.retain(|instance| !(instance.node == node && instance.id == id));
        self.checks.retain(|check| !(check.node == node && check.service_id == id));
    }

    /// Removes a node with its services and checks.
    pub(crate) fn remove_node(&mut self, node: &str) {
        self.nodes.remove(node);
        self.instances.retain(|instance| instance.node != node);
        self.checks.retain(|check| check.node != node);
        self.others.retain(|(on, _)| on != node);
    }

    /// A task deregisters its services, and may log out.
    pub(crate) fn forget_task(&mut self, task: &TaskId, logs_out: bool) {
        let own: Vec<Instance> = self.instances.iter().filter(|instance| instance.task.id() == task).cloned().collect();
        for instance in own {
            self.remove(&instance.node, &instance.id);
        }
        if logs_out {
            self.tokens.retain(|record| login_mark(&record.description).is_none_or(|mark| mark.task != *task));
        }
    }
}

impl World {
    /// The admin partitions (Enterprise).
    pub(crate) fn partitions(&self) -> Result<Vec<TenancyName>, Answer> {
        let partition = self.tenancy.partition().ok_or_else(|| self.scenario.dialect.no_partitions())?;
        Ok(vec![partition.clone()])
    }

    /// Registers the service and its sidecar proxy, with a check for each container, as `mesh-init` does.
    pub(crate) fn register(&mut self, index: usize) {
        let task = &self.ecs.tasks[index];
        let (arn, name) = (task.arn.clone(), service_name(task.service).to_string());
        let node = if task.has_agent { self.join(index) } else { task.cluster.as_str().to_owned() };
        self.consul.nodes.insert(node.clone());
        // `mesh-init` registers checks as critical; the first health sync sets them.
        let is_unsynced = self.scenario.syncs > 0 && self.random.bool();
        let status = if is_unsynced { CheckStatus::Critical } else { CheckStatus::Passing };
        for (suffix, containers) in [("", &[APP, DATAPLANE][..]), ("-sidecar-proxy", &[DATAPLANE])] {
            self.consul.index += 1;
            let (id, name) = (format!("{name}-{}{suffix}", arn.id()), format!("{name}{suffix}"));
            for container in containers {
                let check = check(&node, &id, &name, container, self.tenancy.clone());
                self.consul.checks.push(HealthCheck { status, ..check });
            }
            self.consul.instances.push(Instance {
                node: node.clone(),
                id,
                name,
                task: arn.clone(),
                modify_index: self.consul.index,
                tenancy: self.tenancy.clone(),
            });
        }
        note!(self, "task {index} registers its service on {node}");
    }

    pub(crate) fn instances_on(&self, node: &str, tenancy: &Tenancy, tasks: &[TaskId]) -> Vec<ServiceInstance> {
        let is_wanted = |instance: &&Instance| {
            instance.node == node && instance.tenancy == *tenancy && tasks.contains(instance.task.id())
        };
        self.consul.instances.iter().filter(is_wanted).map(Instance::seen).collect()
    }

    /// The instances of a service, on any node.
    pub(crate) fn instances_of(&self, service: &str, tenancy: &Tenancy, tasks: &[TaskId]) -> Vec<ServiceInstance> {
        let is_wanted = |instance: &&Instance| {
            instance.name == service && instance.tenancy == *tenancy && tasks.contains(instance.task.id())
        };
        self.consul.instances.iter().filter(is_wanted).map(Instance::seen).collect()
    }

    pub(crate) fn node(&self, name: &str, tenancy: &Tenancy) -> Option<CatalogNode> {
        if !self.consul.nodes.contains(name) || tenancy.partition() != self.tenancy.partition() {
            return None;
        }
        let on_it = self.consul.instances.iter().filter(|instance| instance.node == name);
        let instances: Vec<ServiceInstance> = on_it.map(Instance::seen).collect();
        let others = self.consul.others.iter().filter(|(node, _)| node == name).map(|(_, id)| id.clone());
        Some(CatalogNode { is_synthetic: name.starts_with("arn:"), instances, others: others.collect() })
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
            self.check_stopped(&instance.task, "its service was deregistered");
            self.consul.remove(&instance.node, &instance.id);
        }
        Ok(())
    }

    /// Deregisters a node with its services. Only ours: its cluster has to be deleted, and no other owner's service may be on it.
    pub(crate) fn deregister_node(&mut self, name: &str) {
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
        let tasks: Vec<TaskId> = on_it.map(|instance| instance.task.id().clone()).collect();
        for task in tasks {
            self.check_stopped(&task, "its node was removed from the catalog");
        }
    }

    pub(crate) fn checks_of(&self, instances: &[ServiceInstance]) -> Vec<HealthCheck> {
        let is_of = |check: &&HealthCheck| instances.iter().any(|i| i.node == check.node && i.id == check.service_id);
        self.consul.checks.iter().filter(is_of).cloned().collect()
    }

    pub(crate) fn node_checks(&self, node: &str) -> Vec<HealthCheck> {
        self.consul.checks.iter().filter(|check| check.node == node).cloned().collect()
    }

    pub(crate) fn deregister_check(&mut self, gone: &HealthCheck) {
        self.consul.checks.retain(|check| !(check.node == gone.node && check.id == gone.id));
        self.check_no_drain_undone();
    }

    /// Registers checks: all or none.
    pub(crate) fn set_checks(&mut self, checks: &[HealthCheck]) -> Result<(), Answer> {
        let is_known = |check: &HealthCheck| self.consul.instances.iter().any(|instance| instance.has(check));
        if let Some(stray) = checks.iter().find(|check| !is_known(check)) {
            return Err(self.scenario.dialect.unknown_service(stray));
        }
        for check in checks {
            let owner = self.consul.instances.iter().find(|instance| instance.has(check));
            if let Some(id) = owner.filter(|_| check.kind == "maintenance").map(|owner| owner.task.id().clone()) {
                self.check_told_to_stop(&id);
            }
            let is_same = |known: &&mut HealthCheck| known.node == check.node && known.id == check.id;
            match self.consul.checks.iter_mut().find(is_same) {
                Some(known) => *known = check.clone(),
                // The registration of an unknown check adds it.
                None => self.consul.checks.push(check.clone()),
            }
        }
        self.check_no_drain_undone();
        Ok(())
    }

    /// Converges: after a health sync, every check has the health that ECS reports.
    pub(crate) fn check_health(&mut self) {
        for (index, task) in self.ecs.tasks.iter().enumerate() {
            let is_synced = task.phase() == Some(mesh::phase::TaskPhase::Active) && !task.has_agent;
            let wanted = if task.is_unhealthy { CheckStatus::Critical } else { CheckStatus::Passing };
            let is_its = |check: &&HealthCheck| check.service_id.contains(task.arn.id().as_str());
            if is_synced && self.consul.checks.iter().filter(is_its).any(|check| check.status != wanted) {
                let how = format!("converges: the checks of task {index} are not {}", wanted.as_str());
                return self.broken(how);
            }
        }
    }
}

fn check(node: &str, service_id: &str, service_name: &str, container: &str, tenancy: Tenancy) -> HealthCheck {
    HealthCheck {
        node: node.to_owned(),
        id: format!("{service_id}-{container}"),
        name: "Consul ECS health check".to_owned(),
        kind: "consul-ecs-health-check".to_owned(),
        notes: String::new(),
        service_id: service_id.to_owned(),
        service_name: service_name.to_owned(),
        status: CheckStatus::Passing,
        output: String::new(),
        tenancy,
    }
}
