//! The share of the tasks that ECS does not know, where its listing may be incomplete.
//!
//! It is counted in distinct tasks, first by service. A service that is over its share is held back, and counts neither as
//! removed nor as present in its cluster. So a service that registers a thousand made-up instances blocks no other one, and
//! does not enlarge what the share of its cluster is taken of.

use std::collections::{BTreeMap, BTreeSet};

use super::{Alarm, MaxDeletePercent};
use crate::{
    arn::{ClusterArn, TaskArn, TaskId},
    catalog::{ClientAgent, ServiceInstance},
    consul_ecs::service_behind,
    holder::TokenHolder,
    mark::HolderMark,
    plan::{Action, Observed, Planned, TaskCounts},
    task::{MeshTask, TaskPhase},
    tenancy::Tenancy,
    token::ListedToken,
};

/// What exceeds its share.
pub(super) struct Shares<'a> {
    /// By cluster, if its listing may be incomplete.
    clusters: Vec<Share<'a>>,
    /// The clusters whose services would lose the tokens of too many. Tokens that no task has used yet do not count: no task reads
    /// them, and one author can have any number of them created.
    tokens: Vec<(ClusterArn, Alarm)>,
    /// The tasks that ECS does not know, and whose removal is not `forced`.
    unknown: BTreeSet<&'a TaskArn>,
}

impl<'a> Shares<'a> {
    /// Counts the removals in `due`.
    pub(super) fn new(
        limit: MaxDeletePercent,
        observed: &'a Observed,
        due: &[Planned],
        forced: Option<&BTreeSet<TaskArn>>,
    ) -> Self {
        let incomplete = observed.counts.iter().filter(|(_, counts)| counts.counted > 0 && !counts.is_complete());
        let removed: BTreeSet<&TaskArn> = due.iter().flat_map(|planned| &planned.tasks).collect();
        let is_judged = |task: &&TaskArn| forced.is_none_or(|forced| !forced.contains(*task));
        let unknown: BTreeSet<&TaskArn> = observed.unknown.iter().filter(is_judged).collect();
        let removed = || unknown.iter().copied().filter(|task| removed.contains(task));
        let clusters = incomplete.map(|(cluster, counts)| Share::new(limit, *counts, cluster, observed, removed()));
        Self {
            clusters: clusters.collect(),
            tokens: observed
                .counts
                .keys()
                .filter_map(|it| Some((it.clone(), tokens(limit, observed, due, it)?)))
                .collect(),
            unknown,
        }
    }

    pub(super) fn alarms(self) -> Vec<(ClusterArn, Alarm)> {
        let tasks = self.clusters.into_iter().flat_map(|share| {
            let alarms = share.services.into_values().chain(share.rest);
            alarms.map(move |alarm| (share.cluster.clone(), alarm))
        });
        tasks.chain(self.tokens).collect()
    }

    /// Whether a removal is held back.
    pub(super) fn hold(&self, planned: &Planned) -> bool {
        let is_unknown = || planned.tasks.iter().any(|task| self.unknown.contains(task));
        match &planned.action {
            Action::Hide(holder, _) | Action::Revoke(holder, _) | Action::DeleteOrphan(holder, ..) => {
                let is_held = |share: &Share<'_>| {
                    share.rest.is_some()
                        || holder.service().is_some_and(|it| share.services.contains_key(it.name.as_str()))
                };
                !self.tokens.is_empty() || self.clusters.iter().any(is_held)
            }
            Action::DeleteLoginToken(token) if is_unknown() => self.clusters.iter().any(|share| {
                token.login().is_some_and(|login| {
                    share.cluster.is_named_by(&login.cluster)
                        && (share.rest.is_some() || share.holds_all_of(&login.task))
                })
            }),
            Action::Deregister(instance) if is_unknown() => {
                self.clusters.iter().any(|share| share.cluster.as_str() == instance.node && share.holds(instance))
            }
            Action::ForceLeave(agent) if is_unknown() => self
                .clusters
                .iter()
                .any(|share| instances_of(agent, share.cluster).any(|instance| share.holds(instance))),
            _ => false,
        }
    }
}

/// What exceeds its share in one cluster.
struct Share<'a> {
    cluster: &'a ClusterArn,
    /// The services that are held back.
    services: BTreeMap<&'a str, Alarm>,
    /// The services of each task.
    services_of: BTreeMap<&'a TaskId, BTreeSet<&'a str>>,
    /// Why everything else of the cluster is held back.
    rest: Option<Alarm>,
}

impl<'a> Share<'a> {
    fn new(
        limit: MaxDeletePercent,
        counts: TaskCounts,
        cluster: &'a ClusterArn,
        observed: &'a Observed,
        removed: impl Iterator<Item = &'a TaskArn>,
    ) -> Self {
        let removed: BTreeSet<&TaskId> = removed.filter(|task| task.is_in(cluster)).map(TaskArn::id).collect();
        // The dead are not counted, nor those that may be dead and wait.
        let is_gone = |task: &&MeshTask| task.phase == TaskPhase::Stopped && task.cluster == *cluster;
        let gone: BTreeSet<&TaskId> = observed.tasks.iter().filter(is_gone).map(|task| task.arn.id()).collect();
        let counts_as_owned = |task: &TaskId| !gone.contains(task) || removed.contains(task);
        let mut services_of: BTreeMap<&TaskId, BTreeSet<&str>> = BTreeMap::new();
        for (task, service) in entries(observed, cluster).filter(|(task, _)| counts_as_owned(task)) {
            services_of.entry(task).or_default().extend(service);
        }
        let mut tasks_of: BTreeMap<&str, BTreeSet<&TaskId>> = BTreeMap::new();
        for (task, services) in &services_of {
            for service in services {
                tasks_of.entry(service).or_default().insert(task);
            }
        }
        let unknown = |owned: &BTreeSet<&TaskId>| owned.intersection(&removed).count();
        let alarm = |what: String, unknown, owned| Alarm::Unknown { what, unknown, owned, counts };
        let over = tasks_of.into_iter().filter_map(|(service, tasks)| {
            let (unknown, owned) = (unknown(&tasks), tasks.len());
            let alarm = || (service, alarm(format!("tasks of service {service}"), unknown, owned));
            limit.keeps_unknown(unknown, owned, counts).then(alarm)
        });
        let mut share = Self { cluster, services: over.collect(), services_of, rest: None };
        let rest: BTreeSet<&TaskId> =
            share.services_of.keys().copied().filter(|task| !share.holds_all_of(task)).collect();
        let (unknown, owned) = (unknown(&rest), rest.len());
        share.rest = limit.is_exceeded_by(unknown, owned).then(|| alarm("tasks".to_owned(), unknown, owned));
        share
    }

    /// Whether the task is of services that are held back, and of no other one.
    fn holds_all_of(&self, task: &TaskId) -> bool {
        let services = self.services_of.get(task).into_iter().flatten();
        services.clone().next().is_some() && services.clone().all(|service| self.services.contains_key(service))
    }

    fn holds(&self, instance: &ServiceInstance) -> bool {
        self.rest.is_some() || self.services.contains_key(service_behind(&instance.name))
    }
}

/// The instances of the cluster's tasks on an agent's node.
pub(super) fn instances_of<'a>(
    agent: &'a ClientAgent,
    cluster: &ClusterArn,
) -> impl Iterator<Item = &'a ServiceInstance> {
    let belongs = |instance: &&ServiceInstance| instance.task_arn.as_ref().is_some_and(|arn| arn.is_in(cluster));
    agent.node.instances.iter().filter(belongs)
}

/// The mark of a service's token of the cluster.
pub(super) fn service_of<'a>(token: &'a ListedToken, cluster: &ClusterArn) -> Option<&'a HolderMark> {
    let mark = token.mark()?;
    (mark.service.is_some() && cluster.is_named_by(&mark.cluster)).then_some(mark)
}

/// The tasks of the cluster with entries in Consul, each with the service that an entry is of.
fn entries<'a>(observed: &'a Observed, cluster: &'a ClusterArn) -> impl Iterator<Item = (&'a TaskId, Option<&'a str>)> {
    let on_the_node = observed.instances.iter().filter(|instance| instance.node == cluster.as_str());
    let of_agents = observed.agents.iter().flat_map(|agent| instances_of(agent, cluster));
    let instances = on_the_node.chain(of_agents).map(|it| (&it.task, Some(service_behind(&it.name))));
    let logins = observed.tokens.iter().filter_map(|token| Some((token.login()?, services(token))));
    let logins = logins.filter(|(login, _)| cluster.is_named_by(&login.cluster));
    let logins = logins.flat_map(|(login, services)| services.into_iter().map(|service| (&login.task, service)));
    // The nodes of client agents in running tasks are not read.
    let has_agent = |task: &&MeshTask| task.runs_client_agent && task.cluster == *cluster;
    let with_agents = observed
        .tasks
        .iter()
        .filter(has_agent)
        .map(|task| (task.arn.id(), task.identity.as_ref().map(|identity| identity.service.name.as_str())));
    instances.chain(logins).chain(with_agents)
}

/// The services that Consul let a login act as; none by name for other tokens, whose task is counted by its cluster only.
fn services(token: &ListedToken) -> Vec<Option<&str>> {
    let granted = token.auth_method.iter().flat_map(|_| &token.grants.services);
    let services: Vec<Option<&str>> = granted.map(|grant| Some(grant.service.as_str())).collect();
    if services.is_empty() { vec![None] } else { services }
}

/// Why the tokens of services are kept, if too many of those of the cluster would lose theirs. A hidden token counts as
/// deleted: no further task of the service can start.
fn tokens(limit: MaxDeletePercent, observed: &Observed, due: &[Planned], cluster: &ClusterArn) -> Option<Alarm> {
    let used = observed.tokens.iter().filter_map(|token| {
        let mark = service_of(token, cluster).filter(|mark| mark.unused_since.is_none())?;
        Some(key(mark.service.as_ref()?.as_str(), &token.tenancy))
    });
    let owned: BTreeSet<(String, [&str; 2])> = used.collect();
    let holder = |planned: &'_ Planned| match &planned.action {
        Action::Hide(holder, _) | Action::Revoke(holder, _) | Action::DeleteOrphan(holder, ..) => Some(holder.clone()),
        _ => None,
    };
    let holders: BTreeSet<TokenHolder> = due.iter().filter_map(holder).collect();
    let services = holders.iter().filter_map(TokenHolder::service);
    let hidden: BTreeSet<_> = services.map(|service| key(service.name.as_str(), &service.tenancy)).collect();
    let (deleted, owned) = (owned.intersection(&hidden).count(), owned.len());
    let alarm = Alarm::TooMany { what: "services' tokens", deleted, owned, percent: limit.0 };
    limit.is_exceeded_by(deleted, owned).then_some(alarm)
}

fn key<'a>(service: &str, tenancy: &'a Tenancy) -> (String, [&'a str; 2]) {
    (service.to_owned(), tenancy.place())
}
