//! Reports running tasks that cannot be repaired from outside. Only a person can replace them.

use std::collections::{BTreeMap, BTreeSet};

use mesh::{
    arn::{ClusterArn, TaskId},
    broken::Broken,
    catalog::{DrainReason, HealthCheck},
    observed::Observed,
    repair::TaskFacts,
};

use crate::{
    announcer::Announcer,
    healing::{Healing, HealingKind, containers_of},
    repair::Unrepaired,
    scope::Scope,
    survey::{RunningTask, Survey},
};

/// How many login tokens of each task Consul lists.
struct Logins<'a> {
    tokens: BTreeMap<&'a TaskId, usize>,
    /// The clusters of those tasks. The tokens of other clusters may be in another datacenter.
    clusters: BTreeSet<&'a ClusterArn>,
}

impl<'a> Logins<'a> {
    fn of(survey: &'a Survey) -> Self {
        let mut tokens: BTreeMap<&TaskId, usize> = BTreeMap::new();
        for login in survey.observed.tokens.iter().filter_map(|token| token.login.as_ref()) {
            *tokens.entry(&login.task).or_default() += 1;
        }
        let of_listed = survey.running.iter().filter(|running| tokens.contains_key(running.task.arn.id()));
        let clusters = of_listed.map(|running| &running.cluster).collect();
        Self { tokens, clusters }
    }

    /// The number of tokens of a task; `None` if that is not known.
    fn of_task(&self, cluster: &ClusterArn, task: &TaskId) -> Option<usize> {
        self.clusters.contains(cluster).then(|| self.tokens.get(task).copied().unwrap_or_default())
    }
}

/// The broken ones among the running tasks of clusters of which everything was read. Each is announced, unless there is no
/// `announcer`.
pub(crate) fn report_broken(survey: &Survey, scope: &Scope, announcer: Option<&Announcer>) -> Vec<Unrepaired> {
    let logins = Logins::of(survey);
    let read = survey.running.iter().filter(|running| survey.has_read_all_of(&running.cluster));
    let broken = read.filter_map(|running| {
        let RunningTask { cluster, task, definition } = running;
        let facts = TaskFacts { cluster, task, definition, is_enterprise: scope.is_enterprise() };
        let broken = facts.broken(logins.of_task(cluster, task.arn.id()), survey.began)?;
        let why = format!("{broken}; {}", facts.replacement());
        if let Some(announcer) = announcer {
            announcer.healed(healing(running, broken, &why, &survey.observed));
        }
        Some(Unrepaired::of(running, &why))
    });
    broken.collect()
}

fn healing(running: &RunningTask, broken: Broken, why: &str, observed: &Observed) -> Healing {
    Healing {
        kind: HealingKind::Broken,
        cluster: running.cluster.clone(),
        task_id: running.task.arn.id().to_string(),
        service: service_of(running, observed).unwrap_or_default(),
        reason: why.to_owned(),
        in_ecs: containers_of(&running.task.containers),
        in_consul: match broken {
            Broken::ProxyStopped => instances_of(running, observed),
            Broken::NoTokens => "no login token".to_owned(),
            Broken::OneToken => "one login token".to_owned(),
        },
    }
}

/// The service of a task in Consul.
fn service_of(running: &RunningTask, observed: &Observed) -> Option<String> {
    let task = observed.tasks.iter().find(|task| task.arn == running.task.arn)?;
    Some(task.identity.as_ref()?.service.name.to_string())
}

/// The instances of a task, and which of them are drained.
fn instances_of(running: &RunningTask, observed: &Observed) -> String {
    let instances = observed.instances.iter().filter(|instance| instance.task == *running.task.arn.id());
    let seen = instances.map(|instance| {
        let drain = HealthCheck::maintenance(instance, DrainReason::ProxyStopped);
        let is_drained = observed.checks.iter().any(|check| check.is_same_as(&drain));
        format!("{} {}", instance.id, if is_drained { "drained" } else { "not drained" })
    });
    let seen: Vec<String> = seen.collect();
    if seen.is_empty() { "no instance".to_owned() } else { seen.join(", ") }
}
