//! Reports running tasks that cannot be repaired from outside. Only a person can replace them.

use std::collections::BTreeSet;

use mesh::{
    arn::TaskArn,
    broken::{Broken, LoginTokens},
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

/// The broken ones among the running tasks of clusters of which everything was read. Each is announced, unless there is no
/// `announcer`. A task that is `proven_by_role` uses this Consul, so its tokens are gone if Consul lists none.
pub(crate) fn report_broken(
    survey: &Survey,
    scope: &Scope,
    proven_by_role: &BTreeSet<TaskArn>,
    announcer: Option<&Announcer>,
) -> Vec<Unrepaired> {
    let running = survey.running.iter().map(|running| (&running.cluster, running.task.arn.id()));
    let logins = LoginTokens::new(&survey.observed.tokens, running);
    let read = survey.running.iter().filter(|running| survey.has_read_all_of(&running.cluster));
    let broken = read.filter_map(|running| {
        let RunningTask { cluster, task, definition } = running;
        let facts = TaskFacts { cluster, task, definition, is_enterprise: scope.is_enterprise() };
        let is_known = proven_by_role.contains(&task.arn);
        let tokens = logins.of_running(cluster, task.arn.id()).or_else(|| is_known.then_some(0));
        let broken = facts.broken(tokens, survey.began)?;
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
