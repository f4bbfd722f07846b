//! All that was read of a path.

use std::collections::BTreeSet;

use jiff::Timestamp;
use mesh::{
    arn::TaskId,
    identity::MeshService,
    member::MemberTask,
    task::TaskPhase,
    tenancy::{Tenancy, TenancyName},
};
use observe::{
    Border, CallError, ChainTarget, ConnectProxy, ConsulError, DestinationReading, Ec2Error, InspectedCluster,
    Inspection, InspectionError, MeshReading, NetworkReading, Origin, ProxyOutput, ServiceAt, SourceReading,
    TargetsReading,
};
use serde_json::Value;

use super::report::{PathEnd, PathLine, Place};
use crate::{
    doctor::{quoted, word},
    status::{Leftover, OnNode, TaskVerdict, lost_token, verdict},
    tokens::Tokens,
    unread::unread,
};

/// A method and a path, with which routes and permissions for requests are decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: String,
    pub path: String,
}

/// What was read of a path from one service to another.
#[derive(Debug, Clone, Copy)]
pub struct PathEvidence<'a> {
    pub observed: &'a Inspection,
    /// The tokens in Consul; `None` if they could not be read, or ACLs are off.
    pub tokens: Option<&'a Tokens>,
    pub mesh: &'a MeshReading,
    pub source: &'a SourceReading,
    pub destination: &'a DestinationReading,
    pub network: &'a NetworkReading,
    /// The targets of the destination's target groups.
    pub targets: &'a TargetsReading,
    pub request: Option<&'a HttpRequest>,
    /// What a proxy of either service says of itself.
    pub proxy_output: Option<&'a ProxyOutput>,
    /// The only task that is asked about, of the service that calls.
    pub from_task: Option<&'a TaskId>,
    pub now: Timestamp,
}

/// A task of a service, and what `status` says of it.
pub(super) struct ServiceTask<'a> {
    pub(super) member: &'a MemberTask,
    pub(super) verdict: TaskVerdict,
    /// Whether its proxy has not stopped.
    pub(super) has_proxy: bool,
    /// Which token Consul lacks of it.
    pub(super) lost_token: Option<String>,
}

impl<'a> PathEvidence<'a> {
    pub(super) fn origin(&self) -> Origin<'a> {
        Origin { source: self.source, mesh: self.mesh }
    }

    /// The border before a target, if it is in another place.
    pub(super) fn border(&self, target: &ChainTarget) -> Option<Border> {
        let chain = self.destination.chain.as_ref().ok()?;
        self.origin().border(&self.destination.service, chain, target)
    }

    /// The clusters in which a service may have tasks: none if it is another datacenter's or a peer's.
    fn own_clusters(&self, service: &ServiceAt) -> &'a [InspectedCluster] {
        let is_own = service.datacenter.is_none() && service.peer.is_none();
        if is_own { self.observed.clusters.as_slice() } else { &[] }
    }

    /// The tasks of a service that have not stopped, in the clusters that were read.
    pub(super) fn members_of(&self, service: &ServiceAt) -> impl Iterator<Item = &'a MemberTask> {
        let tasks = self.own_clusters(service).iter().flat_map(|cluster| &cluster.tasks);
        tasks.filter(move |member| is_living_of(member, service))
    }

    /// The same, with what `status` says of them: for this, it indexes what Consul has of their clusters.
    pub(super) fn tasks_of(&self, service: &ServiceAt) -> Vec<ServiceTask<'a>> {
        let mut tasks = Vec::new();
        for cluster in self.own_clusters(service) {
            let mut members = cluster.tasks.iter().filter(|member| is_living_of(member, service)).peekable();
            if members.peek().is_none() {
                continue;
            }
            let on_node = cluster.catalog.as_ref().map(OnNode::new);
            let tokens = self.tokens.map(|tokens| tokens.of_cluster(cluster));
            tasks.extend(members.map(|member| ServiceTask {
                member,
                verdict: verdict(member, cluster, on_node.as_ref(), tokens.as_ref(), self.now),
                has_proxy: member.broken(None, self.now).is_none(),
                lost_token: lost_token(member, cluster, tokens.as_ref(), self.now),
            }));
        }
        tasks
    }

    /// The tasks of a service that ECS does not run any more, and whose instances are still in Consul.
    pub(super) fn leftovers_of(&self, service: &ServiceAt) -> BTreeSet<TaskId> {
        let read = self.own_clusters(service).iter().filter_map(|it| Some((it, OnNode::new(it.catalog.as_ref()?))));
        let all = read.flat_map(|(cluster, on_node)| on_node.leftovers(cluster, self.now));
        let is_its = |leftover: &Leftover| is_same_service(&leftover.service, service);
        all.filter(is_its).map(|leftover| leftover.task).collect()
    }

    /// The tasks of the caller that are asked about.
    pub(super) fn source_members(&self) -> impl Iterator<Item = &'a MemberTask> {
        let wanted = self.from_task;
        self.members_of(&self.source.service)
            .filter(move |member| wanted.is_none_or(|wanted| member.task.arn.id() == wanted))
    }

    /// The caller's task that registered a proxy.
    pub(super) fn member_of(&self, proxy: &ConnectProxy) -> Option<&'a MemberTask> {
        let id = proxy.task.as_ref()?;
        self.members_of(&self.source.service).find(|member| member.task.arn.id() == id)
    }

    /// The command that runs another one in the app of a task of the caller; `None` without such a task.
    pub(super) fn in_source_task(&self, command: &str) -> Option<String> {
        in_app_of(self.source_members().next()?, command)
    }

    /// The same in a task of the destination.
    pub(super) fn in_destination_task(&self, command: &str) -> Option<String> {
        let targets = self.targets();
        let member = targets.iter().find_map(|leg| self.members_of(&self.service_of(leg.target)).next());
        in_app_of(member?, command)
    }

    /// Whether there certainly is no destination of this name: in Consul, in ECS, or behind a config entry.
    pub(super) fn is_nowhere(&self) -> bool {
        let service = &self.destination.service;
        let is_unlisted = matches!(&self.destination.names, Some(Ok(names)) if !names.contains(&service.name));
        let is_plain = self.legs().iter().all(|leg| leg.target.service == service.name);
        is_unlisted && is_plain && self.is_all_read() && self.members_of(service).next().is_none()
    }

    /// Whether every cluster could be read, in ECS and in Consul.
    pub(super) fn is_all_read(&self) -> bool {
        let is_whole = |cluster: &InspectedCluster| cluster.catalog.is_some() && cluster.unsorted.is_empty();
        self.observed.problems.is_empty() && self.observed.clusters.iter().all(is_whole)
    }
}

/// The command that runs another one in the app of a task.
fn in_app_of(member: &MemberTask, command: &str) -> Option<String> {
    let (cluster, task) = (word(member.cluster.name()), member.task.arn.id());
    let (app, command) = (word(&member.definition.apps().next()?.name), quoted(command));
    Some(format!(
        "aws ecs execute-command --cluster {cluster} --task {task} --container {app} --interactive --command {command}"
    ))
}

/// Whether a task is a service's, and has not stopped.
fn is_living_of(member: &MemberTask, service: &ServiceAt) -> bool {
    matches!(member.task.phase, TaskPhase::Active | TaskPhase::Stopping)
        && is_same_service(&member.identity.service, service)
}

fn is_same_service(identity: &MeshService, service: &ServiceAt) -> bool {
    identity.name.as_str() == service.name && identity.tenancy.is_same_place(&service.tenancy)
}

/// A line about what could not be read.
pub(super) fn not_read(place: Place, error: &InspectionError, permission: &str) -> PathLine {
    let is_refused = match error {
        InspectionError::CatalogNotPermitted(_) | InspectionError::TokensNotPermitted(_) => true,
        InspectionError::Call(error) => matches!(
            error,
            CallError::Consul(ConsulError::PermissionDenied { .. }) | CallError::Ec2(Ec2Error::Refused { .. })
        ),
        InspectionError::NotDescribed(_) | InspectionError::Invalid(..) => false,
    };
    PathLine::unread(place, unread(error)).lacking(is_refused.then(|| permission.to_owned()))
}

/// The rule with which a token may read every service, and the intentions about it.
pub(super) const SERVICE_READ: &str = r#"service_prefix "" { policy = "read" }"#;
/// The rule with which a token may read peerings.
pub(super) const PEERING_READ: &str = r#"peering = "read""#;
/// The rule with which a token may read the configuration of a server.
pub(super) const AGENT_READ: &str = r#"agent_prefix "" { policy = "read" }"#;

/// The rule with which a token may read exported services, and the routes of gateways.
pub(super) const MESH_READ: &str = r#"mesh = "read""#;

/// The command that shows a config entry.
pub(super) fn read_entry(kind: &str, name: &str) -> String {
    format!("consul config read -kind {kind} -name {}", word(name))
}

/// The command that writes a config entry. It replaces the whole entry.
pub(super) fn write_entry(entry: &Value) -> String {
    format!("echo {} | consul config write -", quoted(&entry.to_string()))
}

/// A service in words, with its place if it has one.
pub(super) fn named(service: &ServiceAt) -> String {
    let place = match &service.tenancy {
        Tenancy::Community => String::new(),
        Tenancy::Enterprise { partition, namespace } => format!("{partition}/{namespace}/"),
    };
    let datacenter = service.datacenter.as_ref().map(|name| format!(" in datacenter {name}")).unwrap_or_default();
    let peer = service.peer.as_ref().map(|name| format!(" of peer {name}")).unwrap_or_default();
    format!("{place}{}{peer}{datacenter}", service.name)
}

impl From<&ServiceAt> for PathEnd {
    fn from(service: &ServiceAt) -> Self {
        Self {
            service: service.name.clone(),
            partition: service.tenancy.partition().map(TenancyName::to_string),
            namespace: service.tenancy.namespace().map(TenancyName::to_string),
            datacenter: service.datacenter.clone(),
            peer: service.peer.clone(),
        }
    }
}
