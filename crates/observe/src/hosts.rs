//! Hosts that are gone. ECS sends no stop of their tasks for a long time: it has only lost contact with an agent, as it does
//! several times an hour without meaning. EC2 decides.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use mesh::{
    arn::{ClusterArn, ContainerInstanceArn, TaskArn},
    catalog::HealthCheck,
    definition::Classification,
    host::{Ec2InstanceId, Ec2Instances, Host, LostHost},
    member::MemberTask,
    plan::{Action, Planned},
    settings::RepairMode,
    task::{DescribedTask, MeshTask, TaskPhase},
    tenancy::Tenancy,
};

use crate::{
    clock::Deadline,
    concurrency::concurrently,
    error::{CallError, Reach},
    observer::Observer,
    problem::Problem,
    world::World,
};

impl Observer {
    /// What EC2 says of these instances; nothing is asked about none.
    pub async fn ec2_instances(
        &self,
        ids: BTreeSet<Ec2InstanceId>,
        deadline: Deadline,
    ) -> Result<Ec2Instances, CallError> {
        if ids.is_empty() {
            return Ok(Ec2Instances::default());
        }
        deadline.run(self.ec2.instances(&Vec::from_iter(ids))).await
    }

    /// The tasks of the mesh on a host that is gone, which ECS means to run.
    pub async fn tasks_on(&self, host: &LostHost, deadline: Deadline) -> Result<Vec<MeshTask>, CallError> {
        let arns = deadline.run(self.ecs.tasks_on(&host.cluster, &host.container_instance)).await?;
        let described = deadline.run(self.describe_all(&host.cluster, &arns)).await?;
        let arns = described.iter().filter_map(|task| task.definition.as_ref());
        let definitions = self.definitions(arns, deadline).await;
        let tenancy = self.scope.tenancy_of(&host.cluster);
        let mut tasks = Vec::new();
        // Both have to say that the host is gone: an event may be old.
        let is_lost = |task: &&Arc<DescribedTask>| task.phase == TaskPhase::Active && task.placement.is_disconnected;
        for task in described.iter().filter(is_lost) {
            let identity = match definitions.classify_task(task, &task.tags, tenancy, self.scope.tokens()) {
                Ok(Classification::Member(identity)) => identity,
                Ok(_) => continue,
                // The sweep reports it; the other tasks of the host are drained.
                Err(error) if error.reach() == Reach::Thing => continue,
                Err(error) => return Err(error),
            };
            let task = self.mesh_task(&host.cluster, task, Some(identity), &definitions);
            // Without an identity, it only has entries: it needs no token any more.
            tasks.push(MeshTask { identity: None, host: Host::Gone, ..task });
        }
        Ok(tasks)
    }

    /// All checks of the nodes of planned drains.
    pub async fn checks_beside(&self, planned: &[Planned], deadline: Deadline) -> Result<Vec<HealthCheck>, CallError> {
        let instances = planned.iter().filter_map(|planned| match &planned.action {
            Action::MarkCritical(instance, _) => Some((instance.node.clone(), instance.tenancy.home())),
            _ => None,
        });
        let nodes: BTreeSet<(String, Tenancy)> = instances.collect();
        let mut checks = Vec::new();
        for (node, tenancy) in nodes {
            checks.extend(deadline.run(self.consul.node_checks(&node, &tenancy)).await?);
        }
        Ok(checks)
    }

    /// Asks ECS and EC2 about the hosts of tasks that ECS has lost contact with, and of tasks that are drained because of their
    /// host. Other tasks cost no call. A failure leaves the hosts unknown.
    pub(crate) async fn read_hosts(&self, deadline: Deadline, world: &mut World) {
        let doubtful = self.doubtful_hosts(world);
        let reads = doubtful.into_iter().map(|(cluster, hosts)| async move {
            let hosts = Vec::from_iter(hosts);
            let read = deadline.run(self.ecs.ec2_instances(&cluster, &hosts)).await;
            (cluster, read)
        });
        let mut ids: BTreeMap<ContainerInstanceArn, Ec2InstanceId> = BTreeMap::new();
        let mut asked = BTreeSet::new();
        for (cluster, read) in concurrently(reads).await {
            ids.extend(Problem::record(read, Some(&cluster), &mut world.problems).into_iter().flatten());
            asked.insert(cluster);
        }
        let instances = match self.ec2_instances(ids.values().cloned().collect(), deadline).await {
            Ok(instances) => instances,
            Err(error) => {
                let problem = |cluster: &ClusterArn| Problem::new(Some(cluster), error.clone());
                world.problems.extend(asked.iter().map(problem));
                return;
            }
        };
        let host = |task: &DescribedTask| {
            let id = ids.get(task.placement.container_instance.as_ref()?)?;
            Some(instances.host(id, task.placement.is_disconnected))
        };
        let hosts = world.running.iter().filter_map(|running| Some((running.task.arn.clone(), host(&running.task)?)));
        let hosts: BTreeMap<TaskArn, Host> = hosts.collect();
        for task in &mut world.observed.tasks {
            task.host = hosts.get(&task.arn).copied().unwrap_or_default();
        }
    }

    /// The container instances to ask about.
    fn doubtful_hosts(&self, world: &World) -> BTreeMap<ClusterArn, BTreeSet<ContainerInstanceArn>> {
        let mut hosts: BTreeMap<ClusterArn, BTreeSet<ContainerInstanceArn>> = BTreeMap::new();
        if self.scope.repair != RepairMode::On {
            return hosts;
        }
        let drained: BTreeSet<&str> = world
            .observed
            .checks
            .iter()
            .filter(|check| check.drains_for_gone_host())
            .map(|check| check.service_id.as_str())
            .collect();
        let drained_tasks: BTreeSet<_> = world
            .observed
            .instances
            .iter()
            .filter(|instance| drained.contains(instance.id.as_str()))
            .map(|instance| &instance.task)
            .collect();
        let is_doubtful = |running: &&MemberTask| {
            running.task.placement.is_disconnected || drained_tasks.contains(running.task.arn.id())
        };
        for running in world.running.iter().filter(is_doubtful) {
            if let Some(host) = &running.task.placement.container_instance {
                hosts.entry(running.cluster.clone()).or_default().insert(host.clone());
            }
        }
        hosts
    }
}
