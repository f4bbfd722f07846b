//! A service: its events, its deployments, the stops of its tasks, and what is wrong with it.

use std::collections::BTreeSet;

use audit::report::counted;
use jiff::Timestamp;
use mesh::{arn::TaskId, member::MemberTask, time::elapsed};
use observe::{InspectedCluster, Inspection, lost_tag};
use report::{LogLine, LogOutcome};

use super::{
    evidence::{Background, TaskEvidence, moment},
    report::{Conclusion, Condition, Who, WhyCause, WhyReport, WhySubject},
    rules::{self, ended::tag_again},
    timeline::{Timeline, describe, stopped, task_in_ecs},
};
use crate::{
    path::nearest_service,
    status::{ServiceStatus, State, TIME_TO_RESTART, status},
    tokens::Tokens,
};

/// The length from which a text may be the beginning of a task's ID: consoles and summaries cut IDs.
const SHORT_ID: usize = 8;

/// The services with a name.
#[derive(Debug, Clone)]
pub enum Found {
    /// Neither ECS nor Consul has one.
    None,
    /// There is one.
    One(Box<ServiceStatus>),
    /// There are several: where they are, in words.
    Several(Vec<String>),
    /// There are some, but none in the partition and namespace that were named: where they are, in words.
    Elsewhere(Vec<String>),
}

/// Where a service is searched; `None` is everywhere.
#[derive(Debug, Clone, Default)]
pub struct Within {
    /// Its admin partition (Enterprise).
    pub partition: Option<String>,
    /// Its namespace (Enterprise).
    pub namespace: Option<String>,
}

impl Within {
    fn includes(&self, row: &ServiceStatus) -> bool {
        let is_it = |wanted: &Option<String>, its: &Option<String>| wanted.is_none() || wanted == its;
        is_it(&self.partition, &row.partition) && is_it(&self.namespace, &row.namespace)
    }
}

/// The service of this name, in Consul or in ECS.
pub fn find_service(
    name: &str,
    within: &Within,
    observed: &Inspection,
    tokens: Option<&Tokens>,
    now: Timestamp,
) -> Found {
    let rows = status(observed, tokens, now).services;
    let is_it = |row: &ServiceStatus| row.service == name || row.ecs_services.iter().any(|service| service == name);
    let (mut found, elsewhere): (Vec<ServiceStatus>, Vec<ServiceStatus>) =
        rows.into_iter().filter(is_it).partition(|row| within.includes(row));
    match (found.pop(), found.is_empty()) {
        (None, _) if elsewhere.is_empty() => Found::None,
        (None, _) => Found::Elsewhere(elsewhere.iter().map(described).collect()),
        (Some(row), true) => Found::One(Box::new(row)),
        (Some(row), false) => Found::Several(found.iter().chain([&row]).map(described).collect()),
    }
}

/// A service and where it is, in words.
fn described(row: &ServiceStatus) -> String {
    let named = |kind: &str, name: &Option<String>| name.as_ref().map(|name| format!(", {kind} {name}"));
    let [partition, namespace] = [("partition", &row.partition), ("namespace", &row.namespace)]
        .map(|(kind, name)| named(kind, name).unwrap_or_default());
    format!("{} (cluster {}{partition}{namespace})", row.service, row.cluster_name())
}

/// Why a service is as it is, at `now`; `row` is what was [found](find_service).
pub fn why_service(
    name: &str,
    row: Option<&ServiceStatus>,
    observed: &Inspection,
    background: &Background,
    now: Timestamp,
) -> WhyReport {
    let of_row = |row: &ServiceStatus| observed.clusters.iter().find(|cluster| cluster.arn.as_str() == row.cluster);
    let cluster = row.and_then(of_row);
    let service = row.map_or(name, |row| row.service.as_str());
    let evidence = ServiceEvidence { service, row, cluster, observed, background, now };
    let Conclusion { condition, cause, sentence, log } = evidence.conclude();
    WhyReport {
        read_at: now,
        since: background.since,
        subject: WhySubject {
            task: None,
            service: Some(service.to_owned()),
            cluster: cluster.map(|cluster| cluster.arn.to_string()),
        },
        timeline: evidence.timeline().events(),
        condition,
        cause,
        conclusion: sentence,
        log,
        problems: background.problems(observed),
    }
}

struct ServiceEvidence<'a> {
    service: &'a str,
    row: Option<&'a ServiceStatus>,
    cluster: Option<&'a InspectedCluster>,
    observed: &'a Inspection,
    background: &'a Background,
    now: Timestamp,
}

impl<'a> ServiceEvidence<'a> {
    /// Its tasks in ECS, stopped ones included.
    fn members(&self) -> impl Iterator<Item = &'a MemberTask> {
        let service = self.service;
        let tasks = self.cluster.map(|cluster| cluster.tasks.as_slice()).unwrap_or_default();
        tasks.iter().filter(move |member| member.identity.service.name.as_str() == service)
    }

    /// The lines about it, in its cluster.
    fn lines(&self) -> impl Iterator<Item = &'a LogLine> {
        let (service, cluster) = (self.service, self.cluster);
        let searched = cluster.map_or(self.observed.clusters.as_slice(), std::slice::from_ref);
        let in_cluster = move |line: &&LogLine| searched.iter().any(|cluster| line.may_be_in(&cluster.arn));
        let ids: Vec<&TaskId> = self.members().map(|member| member.task.arn.id()).collect();
        let is_its = move |line: &&LogLine| {
            line.is_of_service(service)
                || cluster.is_some() && line.has(&LogOutcome::GuardTripped)
                || line.has(&LogOutcome::Failed) && ids.iter().any(|id| line.is_of_task(id))
        };
        self.background.history.lines.iter().filter(in_cluster).filter(is_its)
    }

    fn timeline(&self) -> Timeline {
        let mut timeline = Timeline::default();
        let since = |at: Option<Timestamp>| at.filter(|at| *at >= self.background.since);
        let names = self.row.map(|row| row.ecs_services.as_slice()).unwrap_or_default();
        let services = self.cluster.map(|cluster| cluster.services.as_slice()).unwrap_or_default();
        for state in services.iter().map(|it| &it.state).filter(|state| names.contains(&state.name)) {
            for event in &state.events {
                timeline.add(since(Some(event.at)), Who::Ecs, format!("service {} {}", state.name, event.message));
            }
            for deployment in &state.deployments {
                let revision = deployment.definition.short_name();
                let failed = deployment.failure.as_ref().map(|why| format!("; it failed: {why}")).unwrap_or_default();
                let what = format!("service {} deploys {revision}{failed}", state.name);
                timeline.add(since(deployment.created_at), Who::Ecs, what);
            }
        }
        let mut known = BTreeSet::new();
        for member in self.members() {
            known.insert(member.task.arn.id().as_str());
            let mut of_task = Timeline::default();
            task_in_ecs(&mut of_task, member);
            for event in of_task.events() {
                let what = format!("task {}: {}", member.task.arn.id(), event.what);
                timeline.add(since(Some(event.at)), event.who, what);
            }
        }
        for line in self.lines() {
            let id = line.task_id.as_deref();
            let task = id.map(|id| format!("task {id}: ")).unwrap_or_default();
            if let Some(end) = line.end().filter(|_| id.is_none_or(|id| !known.contains(id))) {
                timeline.add(end.stopped_at, Who::Ecs, format!("{task}{}", stopped(&end)));
            } else if let Some(what) = describe(line) {
                timeline.add(Some(line.at), Who::Controller, format!("{task}{what}"));
            }
        }
        self.now_of(&mut timeline);
        timeline
    }

    fn now_of(&self, timeline: &mut Timeline) {
        let Some(row) = self.row else { return };
        let running = match row.desired_tasks {
            Some(desired) => format!("now runs {} of {desired} desired tasks", row.running_tasks),
            None => format!("now runs {}", counted(row.running_tasks, "task")),
        };
        timeline.add(Some(self.now), Who::Ecs, running);
        if let (Some(all), Some(passing)) = (row.instances, row.passing_instances) {
            let now = format!("now has {} (passing all checks: {passing})", counted(all, "instance"));
            timeline.add(Some(self.now), Who::Consul, now);
        }
    }

    fn conclude(&self) -> Conclusion {
        let Some(row) = self.row else { return self.outside().unwrap_or_else(|| self.gone()) };
        match row.state {
            // What status does not know: the tokens of its tasks.
            State::Healthy => self.faulty_task(row).unwrap_or_else(Conclusion::healthy),
            State::ScaledToZero => Conclusion::ended(
                WhyCause::ScaledToZero,
                "It is scaled to zero: the desired count of its ECS service is 0",
            ),
            State::Stopping => Conclusion::ended(
                WhyCause::Stopping,
                "Its tasks are stopping, and ECS starts no others. No action needed",
            ),
            State::Starting => self.starting(row),
            State::Unknown => self.faulty_task(row).unwrap_or_else(|| {
                let sentence = "ECS reports nothing wrong with it, but Consul could not be read. Ask again when \
                                Consul answers";
                Conclusion::unknown(WhyCause::ConsulNotRead, sentence)
            }),
            State::Faulty => self.fault(row),
        }
    }

    /// What is wrong, by its worst task; by the last that stopped, if none runs.
    fn fault(&self, row: &ServiceStatus) -> Conclusion {
        let stopped = || self.last_stopped(row);
        let of_tasks = if row.running_tasks == 0 {
            stopped().or_else(|| self.faulty_task(row))
        } else {
            self.faulty_task(row).or_else(stopped)
        };
        of_tasks.unwrap_or_else(|| {
            Conclusion::faulty(WhyCause::NotAsItShouldBe, format!("{}. Fix this problem", row.verdict))
        })
    }

    fn conclusion_of(&self, id: &TaskId) -> Conclusion {
        rules::conclude(&TaskEvidence::new(id, &self.observed.clusters, self.background, self.now))
    }

    /// The first of its tasks, or instances without a task, with a fault.
    fn faulty_task(&self, row: &ServiceStatus) -> Option<Conclusion> {
        let conclusions = row.tasks.iter().filter_map(|task| Some((task, self.conclusion_of(&task.id.parse().ok()?))));
        let faulty: Vec<_> = conclusions.filter(|(_, conclusion)| conclusion.condition == Condition::Faulty).collect();
        let (count, total) = (faulty.len(), row.tasks.len());
        let (task, conclusion) = faulty.into_iter().next()?;
        let subject = match (count, total) {
            (1, 1) => format!("Its only task, {}, has a fault", task.id),
            (1, _) => format!("1 of its {total} tasks, {}, has a fault", task.id),
            _ => format!("{count} of its {total} tasks have a fault, for example {}", task.id),
        };
        let sentence = format!("{subject}: {}", conclusion.sentence);
        Some(Conclusion { sentence, ..conclusion })
    }

    /// It is on its way up. If tasks of it have failed before, why the last one did.
    fn starting(&self, row: &ServiceStatus) -> Conclusion {
        match self.last_failed(|at| elapsed(at, self.now) < TIME_TO_RESTART) {
            Some((id, conclusion)) => {
                let sentence = format!("It is starting again; the last failed task is {id}: {}", conclusion.sentence);
                Conclusion { sentence, ..conclusion }
            }
            None => {
                Conclusion::starting(WhyCause::Starting, format!("It is {}. Ask again in a few minutes", row.verdict))
            }
        }
    }

    /// Fewer tasks run than are wanted: why the last one stopped, or why ECS cannot start one.
    fn last_stopped(&self, row: &ServiceStatus) -> Option<Conclusion> {
        let desired = row.desired_tasks.filter(|desired| row.running_tasks < *desired)?;
        let too_few = format!("{} of its {desired} desired tasks run", row.running_tasks);
        let of_failure = |(id, conclusion): (TaskId, Conclusion)| {
            let sentence = format!("{too_few}; the last failed task is {id}: {}", conclusion.sentence);
            Conclusion { sentence, ..conclusion }
        };
        if let Some(failed) = self.last_failed(|at| elapsed(at, self.now) < TIME_TO_RESTART) {
            return Some(of_failure(failed));
        }
        let names = &row.ecs_services;
        let mut services = self.cluster?.services.iter().filter(|service| names.contains(&service.state.name));
        match services.find_map(|service| service.state.trouble.as_ref()) {
            Some(trouble) => {
                let sentence = format!("{too_few} because ECS {trouble}. Fix this problem");
                Some(Conclusion::faulty(WhyCause::NotPlaced, sentence))
            }
            // An older one, after which ECS may have given up.
            None => self.last_failed(|_| true).map(of_failure),
        }
    }

    /// The last of its tasks that has stopped because something failed, at such a time, and why.
    fn last_failed(&self, is_wanted: impl Fn(Timestamp) -> bool) -> Option<(TaskId, Conclusion)> {
        let stopped = |member: &MemberTask| Some((member.task.end.stopped_at?, member.task.arn.id().clone()));
        let in_ecs = self.members().filter_map(stopped);
        let in_log =
            self.lines().filter_map(|line| Some((line.end()?.stopped_at?, line.task_id.as_ref()?.parse().ok()?)));
        let mut stops: Vec<(Timestamp, TaskId)> = in_ecs.chain(in_log).filter(|(at, _)| is_wanted(*at)).collect();
        stops.sort();
        let conclusions = stops.into_iter().rev().map(|(_, id)| (self.conclusion_of(&id), id));
        let mut faulty = conclusions.filter(|(conclusion, _)| conclusion.condition == Condition::Faulty);
        faulty.next().map(|(conclusion, id)| (id, conclusion))
    }

    /// It is an ECS service, and not one of the mesh.
    fn outside(&self) -> Option<Conclusion> {
        let clusters = self.observed.clusters.iter();
        let mut outside = clusters.flat_map(|cluster| cluster.outside.services.iter().map(move |it| (cluster, it)));
        let (cluster, found) = outside.find(|(_, service)| service.name == self.service)?;
        let place = format!("It is an ECS service in cluster {}", cluster.arn.name());
        Some(match cluster.definition_of(found) {
            Some(_) if found.is_express => {
                // https://docs.aws.amazon.com/AmazonECS/latest/developerguide/express-service-advanced-customization.html
                let sentence = format!(
                    "{place} but not in the mesh: Express Mode manages it, and its updates may overwrite what others change. To \
                     have it in the mesh, create an ECS service with a task definition of your own"
                );
                Conclusion::faulty(WhyCause::NotInTheMesh, sentence)
            }
            Some(definition) => {
                if let Some(tagged) =
                    cluster.definitions.tagged_before(&definition.arn).filter(|_| definition.is_untagged())
                {
                    let (lost, again) =
                        (lost_tag(&definition.arn, &tagged.arn), tag_again(&definition.arn, &tagged.arn));
                    let sentence = format!("{place} but not in the mesh: {lost}. {again}");
                    return Some(Conclusion::faulty(WhyCause::NotInTheMesh, sentence));
                }
                let sentence = format!(
                    "{place} but not in the mesh: its task definition {} lacks the tag consul.hashicorp.com/mesh=true \
                     and reads no token of the controller. Add the tag to the definition and deploy it again",
                    definition.arn.short_name()
                );
                Conclusion::faulty(WhyCause::NotInTheMesh, sentence)
            }
            None => Conclusion::unknown(
                WhyCause::DefinitionNotRead,
                format!(
                    "{place}. Its task definition could not be read, so it may or may not be in the mesh. Fix the \
                     error and ask again"
                ),
            ),
        })
    }

    /// What was probably meant by a name that nothing has: the beginning of a task's ID, or another name.
    fn meant(&self) -> String {
        let name = self.service;
        let tasks =
            self.observed.clusters.iter().flat_map(|cluster| &cluster.tasks).map(|it| it.task.arn.id().as_str());
        let mut begun = tasks.filter(|id| name.len() >= SHORT_ID && id.starts_with(name));
        match (begun.next(), nearest_service(name, self.observed)) {
            (Some(task), _) => format!("A task needs its whole ID: ecs-mesh why {task}. "),
            (None, Some(near)) => format!("Did you mean {near}? "),
            (None, None) => String::new(),
        }
    }

    /// Neither ECS nor Consul has it.
    fn gone(&self) -> Conclusion {
        let (searched, is_all_read) = self.background.searched_in(&self.observed.clusters);
        let name = self.service;
        if !is_all_read || !self.observed.problems.is_empty() {
            let sentence = format!(
                "Service {name:?} was not found, but not everything could be read ({searched}). Fix the errors and \
                 ask again"
            );
            return Conclusion::unknown(WhyCause::UnknownService, sentence);
        }
        let Some(last) = self.lines().last() else {
            let sentence = format!(
                "No service {name:?} found ({searched}). {}Check the name, the region and the cluster",
                self.meant()
            );
            return Conclusion::unknown(WhyCause::UnknownService, sentence);
        };
        let sentence = format!(
            "It is gone: neither ECS nor Consul knows it ({searched}). The controller last acted on it at {}. No \
             action needed if you removed it",
            moment(last.at)
        );
        Conclusion::ended(WhyCause::Gone, sentence)
    }
}
