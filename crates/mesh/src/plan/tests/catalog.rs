//! Generators of entries in Consul's catalog: services, checks, agents and nodes.

use proptest::{collection::vec, prelude::*, sample::Index};

use super::{world::any_tenancy, *};
use crate::{
    consul_ecs::{instance_id, sidecar_of},
    examples::check,
};

prop_compose! {
    /// A service or its sidecar on the synthetic node of a configured cluster, or of an unknown one.
    pub(super) fn any_instance()(
        cluster_name in prop::sample::select(vec!["prod", "prod", "test", "test", "other"]),
        number in 0u8..8,
        is_sidecar in any::<bool>(),
        tenancy in any_tenancy(),
    ) -> ServiceInstance {
        let service = instance(cluster_name, number);
        let id = if is_sidecar { sidecar_of(&service.id) } else { service.id };
        ServiceInstance { id, tenancy, ..instance(cluster_name, number) }
    }
}

/// A container's check, or a maintenance check.
pub(super) fn check_of(instance: &ServiceInstance, status: CheckStatus, drain: Option<DrainReason>) -> HealthCheck {
    match drain {
        Some(reason) => HealthCheck { status, ..HealthCheck::maintenance(instance, reason) },
        None => check(instance, "app", status),
    }
}

pub(super) fn any_drain() -> impl Strategy<Value = Option<DrainReason>> {
    use DrainReason::{HostGone, ProxyStopped, Stopping};
    let reasons = vec![Stopping, ProxyStopped, HostGone, HostGone, HostGone];
    proptest::option::weighted(0.7, prop::sample::select(reasons))
}

/// An agent before the tasks that it hosts are chosen.
#[derive(Debug, Clone)]
pub(super) struct Host {
    status: AgentStatus,
    /// Whether it hosts only services of stopped tasks.
    hosts_only_stopped: bool,
    hosted: Vec<(Index, ArnFormat)>,
    is_synthetic: bool,
    hosts_others: bool,
}

/// The task ARN in the metadata of a service.
#[derive(Debug, Clone, Copy)]
enum ArnFormat {
    Present,
    Old,
    OfAnotherAccount,
    OfAnotherTask,
    Absent,
}

prop_compose! {
    pub(super) fn any_agent()(
        status in prop_oneof![3 => Just(AgentStatus::Alive), 3 => Just(AgentStatus::Failed), 1 => Just(AgentStatus::Left)],
        hosts_only_stopped in any::<bool>(),
        hosted in vec((any::<Index>(), any_arn_format()), 1..4),
        is_synthetic in prop::bool::weighted(0.1),
        hosts_others in prop::bool::weighted(0.2),
    ) -> Host {
        Host { status, hosts_only_stopped, hosted, is_synthetic, hosts_others }
    }
}

fn any_arn_format() -> impl Strategy<Value = ArnFormat> {
    use ArnFormat::{Absent, OfAnotherAccount, OfAnotherTask, Old, Present};
    prop_oneof![4 => Just(Present), 1 => prop::sample::select(vec![Old, OfAnotherAccount, OfAnotherTask, Absent])]
}

impl Host {
    pub(super) fn host(&self, number: u8, tasks: &[MeshTask]) -> ClientAgent {
        let is_guest = |task: &&MeshTask| !self.hosts_only_stopped || task.phase == TaskPhase::Stopped;
        let guests: Vec<MeshTask> = tasks.iter().filter(is_guest).cloned().collect();
        let hosted = self.hosted.iter().filter(|_| !guests.is_empty());
        let mut agent = agent(self.status, &[]);
        agent.member.name = format!("ip-10-0-0-{number}");
        agent.node = CatalogNode {
            name: agent.member.name.clone(),
            is_synthetic: self.is_synthetic,
            instances: hosted.map(|(i, shape)| hosted_service(&agent.member.name, i.get(&guests), *shape)).collect(),
            others: self.hosts_others.then(other_service).into_iter().collect(),
        };
        agent
    }
}

fn hosted_service(node: &str, task: &MeshTask, shape: ArnFormat) -> ServiceInstance {
    let id = task.arn.id();
    let arn = match shape {
        ArnFormat::Present => Some(task.arn.to_string()),
        ArnFormat::Old => Some(format!("arn:aws:ecs:us-east-1:123456789012:task/{id}")),
        ArnFormat::OfAnotherAccount => Some(task.arn.as_str().replace("123456789012", "999999999999")),
        ArnFormat::OfAnotherTask => Some(task.arn.as_str().replace(id.as_str(), task_id(7).as_str())),
        ArnFormat::Absent => None,
    };
    ServiceInstance {
        node: node.to_owned(),
        id: instance_id("web", id),
        task: id.clone(),
        task_arn: arn.map(|arn| arn.parse().unwrap()),
        ..instance("prod", 0)
    }
}

prop_compose! {
    pub(super) fn any_leftover()(
        cluster_name in prop::sample::select(vec!["prod", "test"]),
        is_synthetic in prop::bool::weighted(0.9),
        hosts_others in prop::bool::weighted(0.2),
        tenancy in any_tenancy(),
    ) -> LeftoverNode {
        let mut leftover = leftover(cluster_name, &[]);
        leftover.node.is_synthetic = is_synthetic;
        leftover.node.others.extend(hosts_others.then(other_service));
        LeftoverNode { tenancy, ..leftover }
    }
}

/// Adds the observed services to the node.
pub(super) fn with_services(mut leftover: LeftoverNode, instances: &[ServiceInstance]) -> LeftoverNode {
    let is_on_it = |i: &&ServiceInstance| i.node == leftover.cluster.as_str() && i.tenancy == leftover.tenancy;
    leftover.node.instances = instances.iter().filter(is_on_it).cloned().collect();
    leftover
}
