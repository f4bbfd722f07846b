//! Simulated Consul: the catalog, with instances of tasks on their clusters' synthetic nodes.

use ecs_mesh_controller::{
    consul::ConsulError,
    mesh::{
        arn::{TaskArn, TaskId},
        catalog::{CatalogNode, CheckStatus, CheckUpdate, HealthCheck, ServiceInstance},
        mark::LoginMark,
        tenancy::Tenancy,
    },
};

use super::{
    consul::{Consul, conflict},
    world::note,
    world::{World, service},
};

/// A registered service.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) node: String,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) task: TaskArn,
    pub(crate) modify_index: u64,
}

impl Instance {
    fn seen(&self) -> ServiceInstance {
        ServiceInstance {
            node: self.node.clone(),
            id: self.id.clone(),
            name: self.name.clone(),
            task: self.task.id().clone(),
            task_arn: Some(self.task.clone()),
            modify_index: self.modify_index,
            tenancy: Tenancy::Community,
        }
    }
}

impl Consul {
    fn remove(&mut self, node: &str, id: &str) {
        self.instances.retain(|instance| !(instance.node == node && instance.id == id));
        self.checks.retain(|check| !(check.node == node && check.service_id == id));
    }

    /// A task takes away what it has registered, and logs out.
    pub(crate) fn forget_task(&mut self, task: &TaskId, logs_out: bool) {
        let own: Vec<Instance> = self.instances.iter().filter(|instance| instance.task.id() == task).cloned().collect();
        for instance in own {
            self.remove(&instance.node, &instance.id);
        }
        if logs_out {
            self.tokens.retain(|record| LoginMark::parse(&record.description).is_none_or(|mark| mark.task != *task));
        }
    }
}

impl World {
    /// What `mesh-init` does: the service and its sidecar proxy, with a check each.
    pub(crate) fn register(&mut self, index: usize) {
        let task = &self.ecs.tasks[index];
        let (node, arn) = (task.cluster.as_str().to_owned(), task.arn.clone());
        let name = service(task.service).name.to_string();
        for suffix in ["", "-sidecar-proxy"] {
            self.consul.index += 1;
            let id = format!("{name}-{}{suffix}", arn.id());
            let name = format!("{name}{suffix}");
            self.consul.checks.push(HealthCheck {
                node: node.clone(),
                id: format!("{id}-consul-dataplane"),
                name: "Consul dataplane readiness".to_owned(),
                kind: "consul-ecs-health-check".to_owned(),
                notes: String::new(),
                service_id: id.clone(),
                service_name: name.clone(),
                status: CheckStatus::Passing,
                output: String::new(),
                definition: serde_json::Value::Null,
                tenancy: Tenancy::Community,
            });
            let modify_index = self.consul.index;
            self.consul.instances.push(Instance { node: node.clone(), id, name, task: arn.clone(), modify_index });
        }
        note!(self, "task {index} registers its service");
    }

    pub(crate) fn instances_on(&self, node: &str, tasks: &[TaskId]) -> Vec<ServiceInstance> {
        let is_wanted = |instance: &&Instance| instance.node == node && tasks.contains(instance.task.id());
        self.consul.instances.iter().filter(is_wanted).map(Instance::seen).collect()
    }

    pub(crate) fn node(&self, name: &str) -> CatalogNode {
        let on_it = self.consul.instances.iter().filter(|instance| instance.node == name);
        let instances: Vec<ServiceInstance> = on_it.map(Instance::seen).collect();
        let others = self.consul.others.iter().filter(|(node, _)| node == name).map(|(_, id)| id.clone());
        CatalogNode { is_synthetic: true, instances, others: others.collect() }
    }

    /// One transaction: all or nothing, and only what is still as it was seen.
    pub(crate) fn deregister(&mut self, seen: &[ServiceInstance]) -> Result<(), ConsulError> {
        let has_changed = |seen: &&ServiceInstance| {
            let known = self.consul.instances.iter().find(|known| known.node == seen.node && known.id == seen.id);
            known.is_some_and(|known| known.modify_index != seen.modify_index)
        };
        if seen.iter().any(|seen| has_changed(&seen)) {
            return Err(conflict("index is stale"));
        }
        for instance in seen {
            if self.consul.instances.iter().any(|known| known.node == instance.node && known.id == instance.id) {
                self.check_not_blind(Some(&instance.node));
                self.check_stopped(&instance.task, "its service was deregistered");
            }
            self.consul.remove(&instance.node, &instance.id);
        }
        Ok(())
    }

    pub(crate) fn checks_of(&self, instances: &[ServiceInstance]) -> Vec<HealthCheck> {
        let is_of = |check: &&HealthCheck| instances.iter().any(|i| i.node == check.node && i.id == check.service_id);
        self.consul.checks.iter().filter(is_of).cloned().collect()
    }

    pub(crate) fn set_checks(&mut self, updates: &[CheckUpdate]) -> Result<(), ConsulError> {
        for update in updates {
            let is_registered = |instance: &Instance| instance.id == update.check.service_id;
            if !self.consul.instances.iter().any(is_registered) {
                return Err(conflict("Missing service registration"));
            }
        }
        for update in updates {
            if let Some(task) = self.consul.instances.iter().find(|i| i.id == update.check.service_id) {
                let id = task.task.id().clone();
                self.check_told_to_stop(&id);
            }
            let known = self.consul.checks.iter_mut().find(|known| known.id == update.check.id);
            if let Some(known) = known {
                known.status = update.status;
                known.output.clone_from(&update.output);
            }
        }
        Ok(())
    }
}
