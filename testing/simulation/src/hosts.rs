//! The hosts of tasks: each task has its own. Agents lose contact with ECS without meaning, which an event reports. Some hosts are
//! gone: EC2 says so at once or only later, without an event, and ECS means their tasks to run. Hibernated hosts come back.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws::{
    ec2::{Ec2, Ec2Error},
    ecs::{ContainerInstances, EcsError},
};
use mesh::{
    arn::{ClusterArn, ContainerInstanceArn, TaskArn, TaskId},
    catalog::HealthCheck,
    host::{Ec2InstanceId, Ec2Instances},
    settings::RepairMode,
    task::TaskPhase,
};
use serde_json::json;

use super::{
    calls::{Connection, Fault, Service},
    dialect::Answer,
    ecs::Task,
    ecs_edge::{EcsEdge, failed},
    world::{World, note},
};

/// How long after its host has come back a drain may still be written, in milliseconds: an invocation takes no longer.
const LONGEST_INVOCATION: u64 = 300_000;

/// The host of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Host {
    /// Whether ECS has no contact with its agent.
    pub is_disconnected: bool,
    /// Whether EC2 has ended it.
    pub is_gone: bool,
    /// When it was gone last.
    pub gone_until: Option<u64>,
}

impl Task {
    /// Whether ECS is told what happens in it.
    pub(crate) fn is_connected(&self) -> bool {
        !self.host.is_disconnected
    }

    /// Whether its instances get requests that nothing answers, because its host is gone.
    fn is_on_gone_host(&self) -> bool {
        self.runs_in_mesh() && self.host.is_disconnected && self.host.is_gone
    }
}

/// The container instance and the EC2 instance of the task with this number.
fn names(cluster: &ClusterArn, index: usize) -> (ContainerInstanceArn, Ec2InstanceId) {
    let prefix = cluster.as_str().replace(":cluster/", ":container-instance/");
    (format!("{prefix}/{index:032x}").parse().unwrap(), format!("i-{index:017x}").parse().unwrap())
}

/// The container instance of a task.
pub(crate) fn container_instance(cluster: &ClusterArn, index: usize) -> ContainerInstanceArn {
    names(cluster, index).0
}

impl World {
    /// The tasks whose hosts may change.
    pub(crate) fn tasks_on_hosts(&self) -> Vec<usize> {
        (0..self.ecs.tasks.len()).filter(|index| self.ecs.tasks[*index].runs_in_mesh()).collect()
    }

    /// Something happens to the host of a random running task.
    pub(crate) fn change_host(&mut self) {
        let candidates = self.tasks_on_hosts();
        let index = candidates[self.random.usize(..candidates.len())];
        let before = self.ecs.tasks[index].host;
        let choice = self.random.u32(..3);
        let host = match (before.is_disconnected, before.is_gone) {
            // Its agent loses contact, with or without its host.
            (false, _) => Host { is_disconnected: true, is_gone: choice == 0, ..before },
            // EC2 ends it only now: no event tells that.
            (true, false) if choice == 0 => Host { is_gone: true, ..before },
            // The agent is back, perhaps with its hibernated host.
            (true, is_gone) => {
                let gone_until = if is_gone { Some(self.now) } else { before.gone_until };
                Host { is_disconnected: false, is_gone: false, gone_until }
            }
        };
        self.set_host(index, host);
    }

    /// The host of a task changes. An event says that its agent has lost contact.
    pub fn set_host(&mut self, index: usize, host: Host) {
        note!(self, "the host of task {index} is {host:?}");
        let before = std::mem::replace(&mut self.ecs.tasks[index].host, host);
        if before.is_disconnected || !host.is_disconnected {
            return;
        }
        let cluster = &self.ecs.tasks[index].cluster;
        let (container_instance, ec2_instance) = names(cluster, index);
        let body = json!({
            "source": "aws.ecs",
            "detail-type": "ECS Container Instance State Change",
            "time": self.time().to_string(),
            "detail": {
                "agentConnected": false,
                "clusterArn": cluster.as_str(),
                "containerInstanceArn": container_instance.as_str(),
                "ec2InstanceId": ec2_instance.as_str(),
            },
        });
        self.deliver(&body.to_string());
    }

    /// Whether the host of a task has been gone lately: a drain may be on its way.
    pub(crate) fn may_be_drained_with_host(&self, id: &TaskId) -> bool {
        let was_gone = |task: &Task| {
            let host = task.host;
            host.is_gone || host.gone_until.is_some_and(|at| at + LONGEST_INVOCATION > self.now)
        };
        let is_repaired = self.scenario.healing.repair == RepairMode::On;
        is_repaired && self.ecs.tasks.iter().any(|task| task.arn.id() == id && was_gone(task))
    }

    /// After a sweep, every task on a gone host is drained, unless no other instance of its service passes; and no task on a host
    /// that runs is.
    pub(crate) fn check_hosts(&mut self) {
        if self.scenario.healing.repair != RepairMode::On {
            return;
        }
        for index in 0..self.ecs.tasks.len() {
            let task = &self.ecs.tasks[index];
            // Without its proxy it stays drained until it ends.
            let runs = task.runs_in_mesh() && task.host == back(task.host) && !task.has_lost_proxy();
            let is_gone = task.is_on_gone_host();
            let own = self.consul.instances.iter().filter(|instance| instance.task == *task.arn.id());
            let own: Vec<_> = own.cloned().collect();
            let is_drained = |id: &str| {
                let mut checks = self.consul.checks.iter().filter(|check| check.service_id == id);
                checks.any(HealthCheck::drains_for_gone_host)
            };
            let left = own.iter().find(|instance| {
                is_gone
                    && !self.consul.is_in_maintenance(instance)
                    && !self.kept_in_rotation.contains(instance.id.as_str())
            });
            let drained = own.iter().find(|instance| runs && is_drained(&instance.id));
            if let Some(left) = left {
                let how = format!("converges: the host of task {index} is gone, and {} is not drained", left.id);
                return self.broken(how);
            }
            if let Some(drained) = drained {
                let how = format!("converges: the host of task {index} runs again, and {} is drained", drained.id);
                return self.broken(how);
            }
        }
    }

    /// One transaction of check-and-set deletions of checks. Nothing lost: only drains because of hosts that run again end.
    pub(crate) fn deregister_checks(&mut self, seen: &[HealthCheck]) -> Result<(), Answer> {
        self.scenario.dialect.check_operations(seen.len())?;
        let is_stale =
            |seen: &HealthCheck| self.consul.check(seen).is_none_or(|it| it.modify_index != seen.modify_index);
        if let Some(index) = seen.iter().position(is_stale) {
            return Err(Answer::stale_check(index, &seen[index]));
        }
        for check in seen {
            if !check.drains_for_gone_host() {
                self.broken(format!("only ours: the check {} was deregistered", check.id));
            }
            self.consul.checks.retain(|known| !known.is_same_as(check));
        }
        self.check_no_drain_undone();
        Ok(())
    }
}

/// A host that runs and is connected.
fn back(host: Host) -> Host {
    Host { is_disconnected: false, is_gone: false, ..host }
}

#[async_trait]
impl ContainerInstances for EcsEdge {
    async fn tasks_on(&self, cluster: &ClusterArn, host: &ContainerInstanceArn) -> Result<Vec<TaskArn>, EcsError> {
        let (of, asked) = (cluster.clone(), host.clone());
        let effect = move |world: &mut World| {
            world.check_exists(&of)?;
            let is_on = |(index, task): &(usize, &Task)| {
                task.cluster == of
                    && container_instance(&of, *index) == asked
                    && task.phase() == Some(TaskPhase::Active)
            };
            Ok(world.ecs.tasks.iter().enumerate().filter(is_on).map(|(_, task)| task.arn.clone()).collect())
        };
        self.connection.call(Service::Ecs, || format!("ListTasks on {host}"), effect, failed("tasks of a host")).await
    }

    async fn ec2_instances(
        &self,
        cluster: &ClusterArn,
        hosts: &[ContainerInstanceArn],
    ) -> Result<BTreeMap<ContainerInstanceArn, Ec2InstanceId>, EcsError> {
        let (of, asked) = (cluster.clone(), hosts.to_vec());
        let effect = move |world: &mut World| {
            world.check_exists(&of)?;
            let all = (0..world.ecs.tasks.len()).map(|index| names(&of, index));
            Ok(all.filter(|(arn, _)| asked.contains(arn)).collect())
        };
        let label = || "DescribeContainerInstances".to_owned();
        self.connection.call(Service::Ecs, label, effect, failed("container instances")).await
    }
}

/// EC2, as one environment reaches it.
pub(crate) struct Ec2Edge(pub(crate) Connection);

#[async_trait]
impl Ec2 for Ec2Edge {
    async fn instances(&self, ids: &[Ec2InstanceId]) -> Result<Ec2Instances, Ec2Error> {
        let asked = ids.to_vec();
        let effect = move |world: &mut World| {
            let mut instances = Ec2Instances::default();
            for (index, task) in world.ecs.tasks.iter().enumerate() {
                let (_, id) = names(&task.cluster, index);
                match task.host.is_gone {
                    _ if !asked.contains(&id) => false,
                    true => instances.gone.insert(id),
                    false => instances.running.insert(id),
                };
            }
            Ok(instances)
        };
        let failure = |fault| match fault {
            Fault::Credential => {
                Ec2Error::Refused { action: "DescribeInstances", reason: "UnauthorizedOperation".to_owned() }
            }
            fault => Ec2Error::Failed { action: "DescribeInstances", reason: format!("{fault:?}") },
        };
        self.0.call(Service::Ec2, || "DescribeInstances".to_owned(), effect, failure).await
    }
}
