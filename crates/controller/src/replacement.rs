//! Reports running tasks that cannot be repaired from outside, and replaces them if the settings want it: their ECS service
//! starts another task for each that is stopped.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use mesh::{
    arn::{ClusterArn, TaskArn, TaskId},
    broken::{Broken, ServiceCounts, is_healthy, replaceable},
    catalog::{DrainReason, HealthCheck},
    guard,
    observed::Observed,
    phase::TaskPhase,
    repair::{RepairMode, TaskFacts, opts_out},
};
use serde_json::{Value, json};

use crate::{
    announcer::Announcer,
    deadline::Deadline,
    error::ControllerError,
    healing::{Healing, HealingKind, containers_of},
    outcome::concurrently,
    repair::{RepairReport, Unrepaired},
    survey::{Problem, RunningTask, Survey, SweepOrder},
    tasks::TaskReader,
};

/// Replaces broken tasks.
pub(crate) struct Replacements {
    pub(crate) tasks: TaskReader,
    pub(crate) announcer: Arc<Announcer>,
}

/// The broken tasks of an ECS service.
struct BrokenService {
    cluster: ClusterArn,
    name: String,
    tasks: Vec<(RunningTask, Broken)>,
    healthy: usize,
}

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

impl Replacements {
    /// Reports the broken tasks of a survey, and replaces those that may be replaced; in a dry run or with `Repair=report`,
    /// it reports which ones it would.
    pub(crate) async fn run(&self, survey: &Survey, order: &SweepOrder, deadline: Deadline, report: &mut RepairReport) {
        let broken = self.broken(survey);
        let with_advice = |why: &Broken| format!("{why}; {}", why.advice());
        report.unrepaired.extend(broken.iter().map(|(running, why)| Unrepaired::of(running, &with_advice(why))));
        let scope = &self.tasks.scope;
        if broken.is_empty() || !scope.replaces_broken || scope.repair == RepairMode::Off {
            return;
        }
        let services = by_service(broken, survey);
        let work = services.into_iter().map(|service| self.chosen(service, deadline));
        let mut chosen: BTreeMap<ClusterArn, Vec<(RunningTask, Broken)>> = BTreeMap::new();
        for result in concurrently(work).await {
            match result {
                Ok((cluster, tasks)) => chosen.entry(cluster).or_default().extend(tasks),
                Err((cluster, error)) => report.problems.push(Problem::new(Some(&cluster), error)),
            }
        }
        for (cluster, tasks) in chosen {
            let running = survey.running.iter().filter(|running| running.cluster == cluster).count();
            let is_wanted = scope.repair == RepairMode::On;
            let verdict = guard::check_replacements(tasks.len(), running, scope.max_delete);
            let alarm = verdict.err().filter(|_| is_wanted && !order.force);
            if is_wanted && alarm.is_none() && !order.dry_run {
                self.stop_all(&cluster, tasks, &survey.observed, deadline, report).await;
                continue;
            }
            report.planned.extend(tasks.iter().map(|(running, why)| (cluster.clone(), planned(running, *why))));
            report.alarms.extend(alarm.map(|alarm| (cluster, alarm)));
        }
    }

    /// The broken ones among the running tasks of clusters of which everything was read.
    fn broken(&self, survey: &Survey) -> Vec<(RunningTask, Broken)> {
        let is_enterprise = self.tasks.scope.is_enterprise();
        let logins = Logins::of(survey);
        let read = survey.running.iter().filter(|running| survey.has_read_all_of(&running.cluster));
        let broken = read.filter_map(|running| {
            let RunningTask { cluster, task, definition } = running;
            let facts = TaskFacts { cluster, task, definition, is_enterprise };
            Some((running.clone(), facts.broken(logins.of_task(cluster, task.arn.id()), survey.began)?))
        });
        broken.collect()
    }

    /// The tasks of a service that are to be replaced now.
    async fn chosen(
        &self,
        broken: BrokenService,
        deadline: Deadline,
    ) -> Result<(ClusterArn, Vec<(RunningTask, Broken)>), (ClusterArn, ControllerError)> {
        let BrokenService { cluster, name, tasks, healthy } = broken;
        let ecs = &self.tasks.ecs;
        let read = async {
            let services = ecs.services(&cluster, std::slice::from_ref(&name)).await?;
            let arns: Vec<TaskArn> = tasks.iter().map(|(running, _)| running.task.arn.clone()).collect();
            Ok::<_, ControllerError>((services, ecs.protected_tasks(&cluster, &arns).await?))
        };
        let (services, protected) = match deadline.run(read).await {
            Ok(read) => read,
            Err(error) => return Err((cluster, error)),
        };
        let Some(service) = services.into_iter().find(|service| !opts_out(&service.tags)) else {
            return Ok((cluster, Vec::new()));
        };
        let counts = ServiceCounts { desired: service.desired, broken: tasks.len(), healthy };
        let wanted = |(running, _): &(RunningTask, Broken)| {
            !protected.contains(&running.task.arn)
                && !opts_out(&running.task.tags)
                && !opts_out(&running.definition.tags)
        };
        let tasks = tasks.into_iter().filter(wanted).collect();
        Ok((cluster, replaceable(tasks, counts)))
    }

    /// Stops the tasks that are still meant to run.
    async fn stop_all(
        &self,
        cluster: &ClusterArn,
        tasks: Vec<(RunningTask, Broken)>,
        observed: &Observed,
        deadline: Deadline,
        report: &mut RepairReport,
    ) {
        let arns: Vec<TaskArn> = tasks.iter().map(|(running, _)| running.task.arn.clone()).collect();
        let active: BTreeSet<TaskArn> = match deadline.run(self.tasks.describe_all(cluster, &arns)).await {
            Ok(now) => now.into_iter().filter(|task| task.phase == TaskPhase::Active).map(|task| task.arn).collect(),
            Err(error) => return report.problems.push(Problem::new(Some(cluster), error)),
        };
        let tasks = tasks.into_iter().filter(|(running, _)| active.contains(&running.task.arn));
        let stops = tasks.map(|(running, why)| async move {
            let reason = format!("ecs-mesh-controller: {why}");
            let stopped = deadline.run(self.tasks.ecs.stop_task(cluster, &running.task.arn, &reason)).await;
            (running, why, stopped)
        });
        let mut replaced = 0;
        for (running, why, stopped) in concurrently(stops).await {
            match stopped {
                Ok(()) => {
                    report
                        .unrepaired
                        .retain(|it| it.task_id != running.task.arn.id().as_str() || it.cluster != *cluster);
                    replaced += 1;
                    self.announcer.healed(healing(&running, why, observed));
                }
                Err(error) => report.problems.push(Problem::new(Some(cluster), Arc::new(error))),
            }
        }
        report.count_replaced(cluster, replaced);
    }
}

/// Broken tasks, by ECS service. Nobody starts another task for one without a service.
fn by_service(broken: Vec<(RunningTask, Broken)>, survey: &Survey) -> Vec<BrokenService> {
    let ids: BTreeSet<TaskArn> = broken.iter().map(|(running, _)| running.task.arn.clone()).collect();
    let mut services: BTreeMap<(ClusterArn, String), Vec<(RunningTask, Broken)>> = BTreeMap::new();
    for (running, why) in broken {
        if let Some(name) = running.task.placement.service.clone() {
            services.entry((running.cluster.clone(), name)).or_default().push((running, why));
        }
    }
    let mut healthy: BTreeMap<(&ClusterArn, &str), usize> = BTreeMap::new();
    let logins = Logins::of(survey);
    let works = |running: &&RunningTask| {
        let has_logged_in = logins.of_task(&running.cluster, running.task.arn.id()) != Some(0);
        is_healthy(&running.task) && has_logged_in && !ids.contains(&running.task.arn)
    };
    for running in survey.running.iter().filter(works) {
        if let Some(name) = &running.task.placement.service {
            *healthy.entry((&running.cluster, name)).or_default() += 1;
        }
    }
    let service = |((cluster, name), tasks): ((ClusterArn, String), Vec<(RunningTask, Broken)>)| {
        let healthy = healthy.get(&(&cluster, name.as_str())).copied().unwrap_or_default();
        BrokenService { cluster, name, tasks, healthy }
    };
    services.into_iter().map(service).collect()
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

fn planned(running: &RunningTask, why: Broken) -> Value {
    let task_id = running.task.arn.id().as_str();
    json!({ "action": HealingKind::Replacement.action(), "taskId": task_id, "reason": why.to_string() })
}

fn healing(running: &RunningTask, why: Broken, observed: &Observed) -> Healing {
    Healing {
        kind: HealingKind::Replacement,
        cluster: running.cluster.clone(),
        task_id: running.task.arn.id().to_string(),
        service: running.task.placement.service.clone().unwrap_or_default(),
        reason: why.to_string(),
        in_ecs: containers_of(&running.task.containers),
        in_consul: match why {
            Broken::ProxyStopped => instances_of(running, observed),
            Broken::NoTokens | Broken::OneToken => "none of its login tokens".to_owned(),
        },
    }
}
