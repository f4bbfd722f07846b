//! The status of the services of the mesh: a row for each service and cluster, with a verdict.

mod held_up;
mod outlier_detection;
mod report;
mod task;
#[cfg(test)]
mod tests;
mod untraceable;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use audit::report::counted;
use jiff::Timestamp;
use mesh::{identity::MeshService, member::MemberTask, task::TaskPhase, tenancy::TenancyName, time::elapsed};
use observe::{InspectedCluster, Inspection, MemberService, UntaggedTask};

pub(crate) use self::held_up::HeldUp;
pub(crate) use self::outlier_detection::notes as outlier_notes;
use self::task::gap;
pub(crate) use self::task::{
    Leftover, OnNode, TIME_TO_DEREGISTER, TaskVerdict, first_line, is_service_token_gone, login_tokens, lost_token,
    maintenance, verdict,
};
pub use self::{
    report::{
        ChangeKind, DeploymentStatus, LastChange, RevisionStatus, ServiceStatus, State, StatusReport, TaskStatus,
    },
    untraceable::UntraceableLogins,
};
use crate::{
    inventory::Versions,
    redaction,
    tokens::{ClusterTokens, TokenSource, Tokens},
    unread::{of_call, problems},
};

/// The status of what was read, at `now`. Consul has these `tokens`; `None` if that is not known.
pub fn status(observed: &Inspection, tokens: Option<&Tokens>, now: Timestamp) -> StatusReport {
    let mut services: Vec<ServiceStatus> =
        observed.clusters.iter().flat_map(|cluster| of_cluster(cluster, tokens, now)).collect();
    services.sort_by(|a, b| a.place().cmp(&b.place()));
    let admission_unknown = tokens.and_then(|tokens| tokens.facts.as_ref().err().map(of_call));
    let problems = problems(observed);
    StatusReport { read_at: now, services, problems, admission_unknown, untraceable_logins: Vec::new() }
}

fn of_cluster(cluster: &InspectedCluster, tokens: Option<&Tokens>, now: Timestamp) -> Vec<ServiceStatus> {
    let on_node = cluster.catalog.as_ref().map(OnNode::new);
    let leftovers = on_node.as_ref().map(|on_node| on_node.leftovers(cluster, now)).unwrap_or_default();
    let of_services = cluster.services.iter().map(|service| service.identity.service.clone());
    let of_tasks = cluster.tasks.iter().chain(untagged(cluster).map(|it| &it.member));
    let of_tasks = of_tasks.map(|member| member.identity.service.clone());
    let mut all: BTreeSet<MeshService> = of_services.chain(of_tasks).collect();
    all.extend(leftovers.iter().map(|leftover| leftover.service.clone()));
    let rows = all.into_iter().map(|service| Row::new(cluster, service, on_node.as_ref(), &leftovers));
    let tokens = tokens.map(|tokens| tokens.of_cluster(cluster));
    rows.filter_map(|row| row.status(tokens.as_ref(), now)).collect()
}

/// The tasks that are not in the mesh because their revision has lost the mesh tag, and have not stopped.
fn untagged(cluster: &InspectedCluster) -> impl Iterator<Item = &UntaggedTask> {
    cluster.untagged.iter().filter(|it| it.member.task.phase.is_living())
}

/// ECS starts tasks again that fail repeatedly after at most 27 minutes:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-throttle-logic.html>
pub(crate) const TIME_TO_RESTART: Duration = Duration::from_mins(30);

/// What belongs to a service in a cluster.
struct Row<'a> {
    cluster: &'a InspectedCluster,
    service: MeshService,
    on_node: Option<&'a OnNode<'a>>,
    ecs_services: Vec<&'a MemberService>,
    tasks: Vec<&'a MemberTask>,
    /// Its tasks whose revision has lost the mesh tag.
    untagged: Vec<&'a UntaggedTask>,
    leftovers: Vec<&'a Leftover>,
}

impl<'a> Row<'a> {
    fn new(
        cluster: &'a InspectedCluster,
        service: MeshService,
        on_node: Option<&'a OnNode<'a>>,
        leftovers: &'a [Leftover],
    ) -> Self {
        let is_its = |other: &MeshService| is_same(other, &service);
        Self {
            ecs_services: cluster.services.iter().filter(|it| is_its(&it.identity.service)).collect(),
            tasks: cluster.tasks.iter().filter(|it| is_its(&it.identity.service)).collect(),
            untagged: untagged(cluster).filter(|it| is_its(&it.member.identity.service)).collect(),
            leftovers: leftovers.iter().filter(|it| is_its(&it.service)).collect(),
            cluster,
            service,
            on_node,
        }
    }

    fn is_its(&self, other: &MeshService) -> bool {
        is_same(other, &self.service)
    }

    /// The status; `None` if only tasks are left that were run by hand and have stopped.
    fn status(&self, tokens: Option<&ClusterTokens<'_>>, now: Timestamp) -> Option<ServiceStatus> {
        let members = self.tasks.iter().copied().filter(|it| it.task.phase.is_living());
        let members = members.map(|it| (it, verdict(it, self.cluster, self.on_node, tokens, now)));
        let untagged = self.untagged.iter().map(|it| (&it.member, TaskVerdict::of_untagged(it)));
        let verdicts: Vec<(&MemberTask, TaskVerdict)> = members.chain(untagged).collect();
        let living: Vec<&MemberTask> = verdicts.iter().map(|(member, _)| *member).collect();
        if living.is_empty() && self.ecs_services.is_empty() && self.leftovers.is_empty() {
            return None;
        }
        let running = living.iter().filter(|it| is_running(it)).count();
        let faults = self.faults(&verdicts, running, now);
        let (state, text) = self.verdict(&verdicts, running, &faults);
        let registered = self.on_node.map(|on_node| self.registered(on_node, &living));
        let tenancy = &self.service.tenancy;
        Some(ServiceStatus {
            cluster: self.cluster.arn.to_string(),
            service: self.service.name.to_string(),
            partition: tenancy.partition().map(TenancyName::to_string),
            namespace: tenancy.namespace().map(TenancyName::to_string),
            ecs_services: self.ecs_services.iter().map(|it| it.state.name.clone()).collect(),
            desired_tasks: self.desired(),
            running_tasks: running,
            unsorted_tasks: self.cluster.unsorted.len(),
            instances: registered.map(|(all, _)| all),
            passing_instances: registered.map(|(_, passing)| passing),
            versions: self.versions(&living),
            tokens: self.tokens(&living),
            last_change: self.last_change(),
            deployment: self.deployment(&living),
            state,
            verdict: text,
            faults,
            notes: self.notes(),
            tasks: self.task_rows(&verdicts, tokens),
        })
    }

    fn desired(&self) -> Option<usize> {
        let all = self.ecs_services.iter().map(|it| it.state.desired);
        (!self.ecs_services.is_empty()).then(|| all.sum())
    }

    /// How many instances Consul has, and how many of them pass.
    fn registered(&self, on_node: &OnNode<'_>, living: &[&MemberTask]) -> (usize, usize) {
        let registered = living.iter().filter(|member| on_node.is_registered(member));
        let ids = registered.map(|member| member.task.arn.id());
        let ids: Vec<_> = ids.chain(self.leftovers.iter().map(|it| &it.task)).collect();
        (ids.len(), ids.iter().filter(|id| on_node.failing(id).is_empty()).count())
    }

    fn versions(&self, living: &[&MemberTask]) -> Versions {
        let mut versions = Versions::default();
        let of_tasks = living.iter().map(|member| &member.definition);
        let of_services = self.ecs_services.iter().filter_map(|it| self.cluster.definition_of(&it.state));
        let all = of_tasks.chain(of_services.filter(|_| living.is_empty()));
        all.for_each(|definition| versions.add(definition));
        versions
    }

    fn tokens(&self, living: &[&MemberTask]) -> Vec<TokenSource> {
        let of_tasks = living.iter().map(|member| TokenSource::of_task(member, self.cluster));
        let of_services = self
            .ecs_services
            .iter()
            .map(|it| TokenSource::of(&it.definition, &it.identity, self.cluster))
            .filter(|_| living.is_empty());
        of_tasks.chain(of_services).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The revisions beside each other, newest first, if there are several. A deployment is no fault: in a blue/green one, both
    /// revisions may run for hours.
    fn deployment(&self, living: &[&MemberTask]) -> Option<DeploymentStatus> {
        let running = living.iter().filter(|member| is_running(member));
        let mut revisions: BTreeMap<(u32, &str), (String, Vec<&MemberTask>)> = BTreeMap::new();
        for member in running {
            let arn = &member.definition.arn;
            let key = (arn.revision_number(), arn.family().as_str());
            revisions.entry(key).or_insert_with(|| (arn.short_name(), Vec::new())).1.push(member);
        }
        (revisions.len() > 1).then_some(())?;
        let passing = |on_node: &OnNode<'_>, tasks: &[&MemberTask]| {
            let passes = |it: &&&MemberTask| on_node.is_registered(it) && on_node.failing(it.task.arn.id()).is_empty();
            tasks.iter().filter(passes).count()
        };
        let revisions = revisions.into_values().rev().map(|(revision, tasks)| RevisionStatus {
            revision,
            running_tasks: tasks.len(),
            passing_tasks: self.on_node.map(|on_node| passing(on_node, &tasks)),
        });
        let rollout = self.ecs_services.iter().find_map(|it| it.state.rollout.as_ref());
        Some(DeploymentStatus {
            strategy: rollout.map(|rollout| rollout.strategy.clone()),
            bake_minutes: rollout.and_then(|rollout| rollout.bake_minutes),
            revisions: revisions.collect(),
        })
    }

    fn last_change(&self) -> Option<LastChange> {
        let deployed = self.ecs_services.iter().filter_map(|it| it.state.deployed_at);
        let deployed = deployed.map(|at| LastChange { at, what: ChangeKind::Deployment });
        let tasks = || self.tasks.iter().map(|member| &member.task);
        let started = tasks().filter_map(|task| task.end.started_at.or(task.end.created_at));
        let started = started.map(|at| LastChange { at, what: ChangeKind::TaskStarted });
        let stopped = tasks().filter_map(|task| task.end.stopped_at);
        let stopped = stopped.map(|at| LastChange { at, what: ChangeKind::TaskStopped });
        deployed.chain(started).chain(stopped).max()
    }

    /// All that is wrong, worst first.
    fn faults(&self, verdicts: &[(&MemberTask, TaskVerdict)], running: usize, now: Timestamp) -> Vec<String> {
        let total = verdicts.len();
        let of = |is_kind: fn(&TaskVerdict) -> bool, what: &str| -> Option<String> {
            let mut found = verdicts.iter().map(|(_, verdict)| verdict).filter(|verdict| is_kind(verdict));
            let first = found.next()?;
            let why = first.to_string();
            let why = why.split_once(": ").map_or("", |(_, why)| why).to_owned();
            let count = found.count() + 1;
            let subject = if count == total { all_of(total) } else { format!("{count} of {total} tasks") };
            let verb = verb(count);
            Some(if why.is_empty() {
                format!("{subject} {verb} {what}")
            } else {
                format!("{subject} {verb} {what}: {why}")
            })
        };
        let mut faults = Vec::new();
        if running == 0 {
            faults.extend(self.too_few(running, now));
        }
        faults.extend(of(|it| matches!(it, TaskVerdict::NotRegistered(_)), "not registered"));
        faults.extend(of(|it| matches!(it, TaskVerdict::Broken(_)), "broken"));
        faults.extend(of(|it| matches!(it, TaskVerdict::Drained(_)), "drained"));
        faults.extend(of(|it| matches!(it, TaskVerdict::Unreachable(_)), "unreachable"));
        faults.extend(of(|it| matches!(it, TaskVerdict::NotPassing(_)), "not passing"));
        faults.extend(of(|it| matches!(it, TaskVerdict::NotInTheMesh(_)), "not in the mesh"));
        if running > 0 {
            faults.extend(self.too_few(running, now));
        }
        faults.extend(of(|it| matches!(it, TaskVerdict::Disconnected(_)), "disconnected from ECS"));
        match self.leftovers.len() {
            0 => {}
            1 => faults.push("1 instance in Consul has no running task".to_owned()),
            count => faults.push(format!("{count} instances in Consul have no running task")),
        }
        faults
    }

    /// What is no fault of it, and has no effect that its author expects.
    fn notes(&self) -> Vec<String> {
        let added = self.cluster.added.iter().filter(|(id, _)| self.tasks.iter().any(|it| it.task.arn.id() == id));
        let added = added.map(|(id, end)| format!("task {id} runs without a container that AWS has added: {end}"));
        outlier_notes(self.cluster, |service| self.is_its(service)).into_iter().chain(added).collect()
    }

    /// Fewer tasks run than are wanted, and one has failed, or cannot be started.
    fn too_few(&self, running: usize, now: Timestamp) -> Option<String> {
        let desired = self.desired().filter(|desired| running < *desired && self.cluster.unsorted.is_empty())?;
        // An older failure is not why a task is missing now: ECS has started others since.
        let is_recent = |at: &Timestamp| elapsed(*at, now) < TIME_TO_RESTART;
        let failures = self
            .tasks
            .iter()
            .filter_map(|it| Some((it.task.end.stopped_at?, redaction::end(it.task.end.clone()).failure()?)));
        let failures = failures.filter(|(at, _)| is_recent(at));
        let newest = failures.max().map(|(_, failure)| format!("the last stopped task: {failure}"));
        let trouble = || self.ecs_services.iter().find_map(|it| it.state.trouble.clone());
        let why = newest.or_else(|| trouble().map(|trouble| format!("ECS {trouble}")));
        let is_coming = self.tasks.iter().any(|it| it.task.phase == TaskPhase::Active && !is_running(it));
        match why {
            Some(why) => Some(format!("{running} of {desired} desired tasks {} running: {why}", verb(running))),
            None if is_coming => None,
            None => Some(format!("{running} of {desired} desired tasks {} running", verb(running))),
        }
    }

    fn verdict(&self, verdicts: &[(&MemberTask, TaskVerdict)], running: usize, faults: &[String]) -> (State, String) {
        if let Some(worst) = faults.first() {
            let more = faults.len() - 1;
            return (State::Faulty, if more == 0 { worst.clone() } else { format!("{worst} (and {more} more)") });
        }
        let worst = verdicts.iter().map(|(_, verdict)| verdict).min();
        match worst {
            Some(unknown @ TaskVerdict::Unknown(_)) => (State::Unknown, unknown.to_string()),
            Some(TaskVerdict::Starting(_)) => {
                let ready = verdicts.iter().filter(|(_, verdict)| *verdict == TaskVerdict::Healthy).count();
                let wanted = self.desired().unwrap_or(verdicts.len());
                (State::Starting, format!("starting: {ready} of {wanted} tasks {} ready", verb(ready)))
            }
            _ if self.desired().is_some_and(|desired| running < desired) && !self.cluster.unsorted.is_empty() => {
                let unsorted = counted(self.cluster.unsorted.len(), "task");
                (
                    State::Unknown,
                    format!("unknown: {unsorted} of the cluster could not be read, and may be in the mesh"),
                )
            }
            None if self.desired() == Some(0) => (State::ScaledToZero, "scaled to zero".to_owned()),
            _ if self.desired().is_some_and(|desired| running < desired) => (State::Starting, "starting".to_owned()),
            Some(TaskVerdict::Stopping) if running == 0 => (State::Stopping, "stopping".to_owned()),
            _ => (State::Healthy, "healthy".to_owned()),
        }
    }

    fn task_rows(
        &self,
        verdicts: &[(&MemberTask, TaskVerdict)],
        tokens: Option<&ClusterTokens<'_>>,
    ) -> Vec<TaskStatus> {
        let of_tasks = verdicts.iter().map(|(member, verdict)| {
            let task = &member.task;
            let gap = self.on_node.zip(tokens).and_then(|(on_node, it)| gap(member, on_node, it.all));
            TaskStatus {
                id: task.arn.id().to_string(),
                revision: Some(member.definition.arn.short_name()),
                last_status: Some(member.task.last_status.clone()),
                started_at: task.end.started_at,
                is_registered: self.on_node.map(|on_node| on_node.is_registered(member)),
                unproven: gap.map(|gap| gap.to_string()),
                state: verdict.state(),
                verdict: verdict.to_string(),
            }
        });
        let of_leftovers = self.leftovers.iter().map(|leftover| TaskStatus {
            id: leftover.task.to_string(),
            revision: None,
            last_status: None,
            started_at: None,
            is_registered: Some(true),
            unproven: None,
            state: State::Faulty,
            verdict: "its instance in Consul has no running task".to_owned(),
        });
        of_tasks.chain(of_leftovers).collect()
    }
}

fn is_same(one: &MeshService, other: &MeshService) -> bool {
    one.name == other.name && one.tenancy.is_same_place(&other.tenancy)
}

fn is_running(member: &MemberTask) -> bool {
    member.task.phase == TaskPhase::Active && member.task.is_running()
}

fn verb(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn all_of(total: usize) -> String {
    match total {
        1 => "the task".to_owned(),
        2 => "both tasks".to_owned(),
        total => format!("all {total} tasks"),
    }
}
