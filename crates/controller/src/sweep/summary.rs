//! The summary of a sweep, in JSON.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    cluster_selection::ClusterSelection,
    guard::{Divided, Wait, concerns},
    mark::HolderMark,
    names::ServiceName,
    plan::{Action, Planned, WaitingToken},
    scope::Scope,
    time::elapsed,
    token::TokenHolder,
};
use observe::{Reach, Reading, Survey, SweepOrder};
use report::{
    Blocked, CheckStatus, ClusterReport, ClusterStatus, ErrorLabel, PlannedAction, Problem as ProblemReport, Skipped,
    SweepOutcome, SweepReport, Waiting,
};

use crate::{
    apply::add_to_policy,
    bootstrap::{BootstrapFailure, BootstrapReport, NotCreated},
    outcome::{Effect, Outcome},
    repair::RepairReport,
};

/// How long the event of a stopped task takes, while nothing is broken.
const EVENT_LAG: Duration = Duration::from_mins(1);
/// Why an action is held back that the guard stops.
const HELD_BACK: &str = "the guard holds it back";

/// The age from which a stopped task counts as one whose event was missed: less than the interval of the sweeps, because the
/// previous sweep has removed what stopped before it.
fn event_lag(interval: Duration) -> Duration {
    EVENT_LAG.min(interval / 2)
}

/// The results of a sweep so far.
#[derive(Default)]
pub(super) struct Swept {
    set_up: Vec<BootstrapFailure>,
    not_set_up: Vec<(Reach, ProblemReport)>,
    outcomes: Vec<(Option<ClusterArn>, Outcome)>,
    last: Option<(Survey, Divided)>,
    planned: Vec<(Option<ClusterArn>, PlannedAction)>,
    waiting: Vec<(Option<ClusterArn>, Waiting)>,
    repairs: RepairReport,
}

impl Swept {
    pub(super) fn repair(&mut self, mut repairs: RepairReport, survey: &Survey) {
        self.add(std::mem::take(&mut repairs.outcomes), survey);
        self.repairs = repairs;
    }

    pub(super) fn set_up(&mut self, report: BootstrapReport) {
        self.set_up.extend(report.failures);
        self.add_missing(report.not_created);
    }

    /// The nodes and namespaces that Consul does not have.
    pub(super) fn add_missing(&mut self, places: NotCreated) {
        let missing = places.into_iter().map(|((cluster, _), error)| (error.reach(), error.problem(Some(&cluster))));
        self.not_set_up.extend(missing);
    }

    pub(super) fn add(&mut self, outcomes: Vec<Outcome>, survey: &Survey) {
        let owners = Owners::new(survey);
        let owned = outcomes.into_iter().map(|outcome| (owners.owner(&outcome.planned), outcome));
        self.outcomes.extend(owned);
    }

    /// The plan of a dry run: what the actions would do, and what waits for a time.
    pub(super) fn plan(&mut self, outcomes: Vec<Outcome>, waiting: &[WaitingToken], survey: &Survey) {
        let owners = Owners::new(survey);
        let (writes, others): (Vec<_>, Vec<_>) =
            outcomes.into_iter().partition(|outcome| matches!(outcome.result, Ok(Effect::Done)));
        let write = |outcome: &Outcome| Some((owners.owner(&outcome.planned), describe(&outcome.planned)?));
        self.planned = writes.iter().filter_map(write).collect();
        self.waiting = waiting.iter().map(|it| (owners.of_holder(&it.holder), waiting_token(it))).collect();
        self.add(others, survey);
    }

    /// The last survey, and what is left of its plan.
    pub(super) fn end(&mut self, survey: Survey, left: Divided) {
        self.last = Some((survey, left));
    }

    /// How many objects the sweep had to change because events had missed them. Deleting the tokens of idle services is the
    /// work of sweeps.
    pub(super) fn drift(&self) -> usize {
        let drift = |outcome: &Outcome| match &outcome.planned.action {
            Action::Provision(_)
            | Action::MarkCritical(..)
            | Action::Repair(_)
            | Action::DeleteLoginToken(_)
            | Action::Deregister(_)
            | Action::ForceLeave(_) => 1,
            Action::CorrectHealth(checks) => checks.len(),
            _ => 0,
        };
        let done = self.outcomes.iter().filter(|(_, outcome)| matches!(outcome.result, Ok(Effect::Done)));
        done.map(|(_, outcome)| drift(outcome)).sum()
    }

    /// Whether the sweep has read every cluster of the deployment.
    pub(super) fn is_full(&self) -> bool {
        self.last.as_ref().is_some_and(|(survey, _)| survey.is_full)
    }

    /// How many tasks stopped longer ago than their events take, with entries in Consul that the sweep had to remove.
    /// `interval` is the time between sweeps.
    pub(super) fn missed_events(&self, interval: Duration) -> usize {
        let Some((survey, _)) = &self.last else { return 0 };
        let lag = event_lag(interval);
        let stopped = survey.observed.tasks.iter().filter_map(|task| Some((&task.arn, task.stopped_at?)));
        let stopped: BTreeMap<&TaskArn, Timestamp> = stopped.collect();
        let is_late = |task: &&TaskArn| stopped.get(task).is_some_and(|at| elapsed(*at, survey.began) >= lag);
        let is_removed = |outcome: &&Outcome| {
            let is_of_event = matches!(outcome.planned.action, Action::DeleteLoginToken(_) | Action::Deregister(_));
            is_of_event && matches!(outcome.result, Ok(Effect::Done))
        };
        let removed = self.outcomes.iter().map(|(_, outcome)| outcome).filter(is_removed);
        removed.flat_map(|outcome| &outcome.planned.tasks).filter(is_late).collect::<BTreeSet<_>>().len()
    }

    pub(super) fn report(self, order: &SweepOrder, scope: &Scope) -> SweepReport {
        let Self { set_up, not_set_up, outcomes, last, planned, waiting: waiting_tokens, mut repairs } = self;
        let (survey, Divided { waiting, held_back, drains, alarms, .. }) = last.unwrap_or_default();
        let owners = Owners::new(&survey);
        let mut clusters = Vec::new();
        for reading in &survey.readings {
            let mut report = found(reading, &survey);
            let belongs = |cluster: &ClusterArn| *cluster == reading.cluster;
            let is_its = |cluster: &Option<ClusterArn>| cluster.as_ref() == Some(&reading.cluster);
            for (_, outcome) in outcomes.iter().filter(|(cluster, _)| is_its(cluster)) {
                count(outcome, &mut report);
            }
            let of_deletions =
                alarms.iter().filter(|(cluster, _)| belongs(cluster)).map(|(_, alarm)| alarm.to_string());
            let of_corrections = repairs.alarms.iter().filter(|(cluster, _)| belongs(cluster));
            let reasons: Vec<String> = of_deletions.chain(of_corrections.map(|(_, reason)| reason.clone())).collect();
            report.guard = (!reasons.is_empty()).then(|| reasons.join("; "));
            report.planned = of_cluster(&planned, is_its);
            report.waiting = of_cluster(&waiting_tokens, is_its);
            let waiting = waiting.iter().filter(|(planned, _)| is_its(&owners.owner(planned)));
            report.waiting.extend(waiting.filter_map(|(planned, wait)| awaiting(planned, *wait)));
            let held_back = held_back.iter().filter(|planned| is_its(&owners.owner(planned)));
            let held_back = held_back.filter_map(describe);
            report.blocked.extend(held_back.map(|action| Blocked { action, reason: HELD_BACK.to_owned() }));
            let drains = drains.iter().filter(|(planned, _)| is_its(&owners.owner(planned)));
            let drains = drains.filter_map(|(planned, why)| Some((describe(planned)?, why.to_string())));
            report.blocked.extend(drains.map(|(action, reason)| Blocked { action, reason }));
            if let Some(of_repairs) = repairs.clusters.remove(&reading.cluster) {
                let ClusterReport { planned, waiting, blocked, skipped, .. } = of_repairs;
                report.planned.extend(planned);
                report.waiting.extend(waiting);
                report.blocked.extend(blocked);
                report.skipped.extend(skipped);
            }
            clusters.push(report);
        }
        let read = survey.problems.iter().chain(&repairs.problems);
        let read = read.map(|problem| (problem.error.reach(), problem.report()));
        let (faults, problems) =
            problems(not_set_up.into_iter().chain(read), &set_up, &outcomes, order, &scope.clusters);
        let outcome = match () {
            () if !problems.is_empty() => SweepOutcome::Incomplete,
            () if order.dry_run => SweepOutcome::DryRun,
            () if !alarms.is_empty() || !repairs.alarms.is_empty() => SweepOutcome::GuardTripped,
            () if !scope.mode.acts() => SweepOutcome::Observed,
            () => SweepOutcome::Done,
        };
        SweepReport { mode: scope.mode, outcome, clusters, problems, faults, left_out: 0 }
    }
}

/// What could not be read or written, each once, because one cause often affects many objects: first what concerns one thing,
/// then what concerns everything.
fn problems(
    read: impl Iterator<Item = (Reach, ProblemReport)>,
    set_up: &[BootstrapFailure],
    outcomes: &[(Option<ClusterArn>, Outcome)],
    order: &SweepOrder,
    all: &ClusterSelection,
) -> (Vec<ProblemReport>, Vec<ProblemReport>) {
    let everything = |cluster: Option<&ClusterArn>, label, reason| {
        let cluster_arn = cluster.map(ToString::to_string);
        (Reach::Everything, ProblemReport { cluster_arn, owner: None, label, reason })
    };
    let set_up = set_up.iter().map(|failure| everything(None, ErrorLabel::Bootstrap, failure.error.to_string()));
    let done = outcomes.iter().filter_map(|(cluster, outcome)| {
        let error = outcome.result.as_ref().err()?;
        let task = || outcome.planned.tasks.first().map(|task| format!("task {}", task.id()));
        let owner = outcome.planned.action.holder().map(ToString::to_string).or_else(task);
        Some((error.reach(), ProblemReport { owner, ..error.problem(cluster.as_ref()) }))
    });
    let unknown = order.clusters.iter().filter(|cluster| !all.contains(cluster)).map(|cluster| {
        let reason = format!("cluster {cluster} is not in ECS_CLUSTER_ARNS, so it is not swept");
        everything(Some(cluster), ErrorLabel::Invalid, reason)
    });
    let mut known = BTreeSet::new();
    let all = read.chain(set_up).chain(done).chain(unknown);
    let once = all.filter(|(_, problem)| known.insert((problem.cluster_arn.clone(), problem.reason.clone())));
    let (faults, problems): (Vec<_>, Vec<_>) = once.partition(|(reach, _)| *reach == Reach::Thing);
    let reports = |all: Vec<(Reach, ProblemReport)>| all.into_iter().map(|(_, problem)| problem).collect();
    (reports(faults), reports(problems))
}

fn found(reading: &Reading, survey: &Survey) -> ClusterReport {
    let cluster = &reading.cluster;
    let observed = &survey.observed;
    let status = match (reading.is_judged, reading.is_deleted) {
        (false, _) => ClusterStatus::Unread,
        (true, true) => ClusterStatus::Deleted,
        (true, false) => ClusterStatus::Active,
    };
    let logins = observed.tokens.iter().filter_map(|token| token.login());
    let services = observed.tokens.iter().filter_map(|token| token.mark());
    let found = BTreeMap::from([
        ("tasks".into(), reading.listed),
        ("livingTasks".into(), reading.living),
        ("loginTokens".into(), logins.filter(|mark| cluster.is_named_by(&mark.cluster)).count()),
        (
            "serviceTokens".into(),
            services.filter(|mark| mark.service.is_some() && cluster.is_named_by(&mark.cluster)).count(),
        ),
        ("services".into(), observed.instances.iter().filter(|instance| instance.node == cluster.as_str()).count()),
    ]);
    let skipped = survey.skipped.iter().filter(|skipped| skipped.cluster == *cluster);
    ClusterReport {
        cluster_arn: cluster.to_string(),
        status,
        found,
        skipped: skipped.map(|it| Skipped { what: it.what.clone(), why: it.why.clone() }).collect(),
        ..ClusterReport::default()
    }
}

fn of_cluster<C, T: Clone>(all: &[(C, T)], is_its: impl Fn(&C) -> bool) -> Vec<T> {
    all.iter().filter(|(cluster, _)| is_its(cluster)).map(|(_, value)| value.clone()).collect()
}

fn count(outcome: &Outcome, report: &mut ClusterReport) {
    let kind = match (&outcome.planned.action, &outcome.result) {
        (_, Ok(Effect::Refused)) => {
            let refused = describe(&outcome.planned);
            report.blocked.extend(refused.map(|action| Blocked { action, reason: add_to_policy() }));
            return;
        }
        (_, Ok(Effect::Unchanged)) | (Action::Repair(_) | Action::CorrectHealth(_), Err(_)) => return,
        (_, Err(_)) => {
            report.left += 1;
            return;
        }
        (Action::MarkCritical(..), _) => {
            report.drained += 1;
            return;
        }
        (Action::Repair(_), _) => {
            report.repaired += 1;
            return;
        }
        (Action::CorrectHealth(checks), _) => {
            report.corrected += checks.len();
            return;
        }
        (Action::Provision(_) | Action::ShowOrphan(..), _) => {
            *report.created.entry("tokens".into()).or_default() += 1;
            return;
        }
        (Action::DeleteLoginToken(_), _) => "loginTokens",
        (Action::Deregister(_), _) => "services",
        (Action::ForceLeave(_), _) => "clientAgents",
        (Action::DeregisterNode(_), _) => "nodes",
        (Action::Hide(..), _) => {
            report.hidden += 1;
            return;
        }
        (Action::Revoke(..) | Action::DeleteOrphan(..), _) => "serviceTokens",
        (Action::AwaitAgent(_) | Action::CheckIdleness(_) | Action::EndDrain(_), _) => return,
    };
    *report.deleted.entry(kind.into()).or_default() += 1;
}

/// Finds the cluster that an action concerns.
struct Owners<'a> {
    clusters: Vec<&'a ClusterArn>,
    /// The marks of the tokens that a controller created, by service.
    marks: BTreeMap<Option<&'a ServiceName>, Vec<&'a HolderMark>>,
}

impl<'a> Owners<'a> {
    fn new(survey: &'a Survey) -> Self {
        let clusters = survey.readings.iter().map(|reading| &reading.cluster).collect();
        let mut marks: BTreeMap<_, Vec<&HolderMark>> = BTreeMap::new();
        for mark in survey.observed.tokens.iter().filter_map(|token| token.mark()) {
            marks.entry(mark.service.as_ref()).or_default().push(mark);
        }
        Self { clusters, marks }
    }

    /// The cluster that an action concerns. A revocation concerns the cluster that the token was created for.
    fn owner(&self, planned: &Planned) -> Option<ClusterArn> {
        let mut candidates = self.clusters.iter();
        let found = match &planned.action {
            Action::Hide(holder, _) | Action::Revoke(holder, _) => return self.of_holder(holder),
            action => candidates
                .find(|cluster| concerns(action, cluster) || planned.tasks.iter().any(|task| task.is_in(cluster))),
        };
        found.or_else(|| self.clusters.first()).map(|cluster| (*cluster).clone())
    }

    /// The cluster that a holder's token was created for.
    fn of_holder(&self, holder: &TokenHolder) -> Option<ClusterArn> {
        let name = holder.service().map(|service| &service.name);
        let marks = self.marks.get(&name).into_iter().flatten().filter(|mark| mark.is_in(holder.tenancy()));
        let named: Vec<&str> = marks.map(|mark| mark.cluster.as_str()).collect();
        let found = self.clusters.iter().find(|cluster| named.iter().any(|name| cluster.is_named_by(name)));
        found.or_else(|| self.clusters.first()).map(|cluster| (*cluster).clone())
    }
}

/// What a token of an idle service waits for: to be hidden, or to be deleted.
fn waiting_token(token: &WaitingToken) -> Waiting {
    let (holder, accessor_id) = (token.holder.to_string(), Some(token.accessor.to_string()));
    let action = if token.is_shown {
        PlannedAction::HideToken { holder, accessor_id }
    } else {
        PlannedAction::Revoke { holder, accessor_id }
    };
    Waiting { action, until: Some(token.until.to_string()), waits_for: None }
}

/// An action that waits.
fn awaiting(planned: &Planned, wait: Wait) -> Option<Waiting> {
    let waits_for = match wait {
        Wait::Age => "ECS may not describe the young task yet",
        Wait::SecondLook => "a second look at the task in ECS",
    };
    Some(Waiting { action: describe(planned)?, until: None, waits_for: Some(waits_for.to_owned()) })
}

/// The action in the report; `None` for one that only events plan, and that writes nothing.
pub(crate) fn describe(planned: &Planned) -> Option<PlannedAction> {
    let task_id = || planned.tasks.first().map(|task| task.id().to_string()).unwrap_or_default();
    Some(match &planned.action {
        Action::Provision(holder) => PlannedAction::Provision { holder: holder.to_string() },
        Action::MarkCritical(instance, reason) => {
            PlannedAction::MarkCritical { service_id: instance.id.clone(), reason: reason.as_str().to_owned() }
        }
        Action::EndDrain(check) => PlannedAction::EndDrain { service_id: check.service_id.clone() },
        Action::Repair(difference) => PlannedAction::Repair {
            task_id: task_id(),
            instances: difference.instances.iter().map(|it| it.id.clone()).collect(),
            checks: difference.checks.iter().map(|check| check.id.clone()).collect(),
        },
        Action::CorrectHealth(checks) => {
            let checks = checks.iter();
            let checks = checks
                .map(|check| CheckStatus { check_id: check.id.clone(), status: check.status.as_str().to_owned() });
            PlannedAction::CorrectHealth { task_id: task_id(), checks: checks.collect() }
        }
        Action::DeleteLoginToken(token) => PlannedAction::DeleteLoginToken {
            accessor_id: token.accessor.to_string(),
            task_id: token.login().map(|login| login.task.to_string()),
        },
        Action::Deregister(instance) => {
            PlannedAction::Deregister { service_id: instance.id.clone(), task_id: instance.task.to_string() }
        }
        Action::ForceLeave(agent) => PlannedAction::ForceLeave { node: agent.member.name.clone() },
        Action::DeregisterNode(node) => PlannedAction::DeregisterNode { node: node.cluster.to_string() },
        Action::AwaitAgent(_) | Action::CheckIdleness(_) => return None,
        Action::Hide(holder, _) => PlannedAction::HideToken { holder: holder.to_string(), accessor_id: None },
        Action::Revoke(holder, _) => PlannedAction::Revoke { holder: holder.to_string(), accessor_id: None },
        Action::DeleteOrphan(holder, token, _) => {
            PlannedAction::DeleteOrphan { holder: holder.to_string(), accessor_id: token.accessor.to_string() }
        }
        Action::ShowOrphan(holder, token) => {
            PlannedAction::ShowOrphan { holder: holder.to_string(), accessor_id: token.accessor.to_string() }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_between_two_sweeps_can_be_late_at_every_rate() {
        for (interval, lag) in [(60, 30), (120, 60), (300, 60), (172_800, 60)] {
            assert_eq!(event_lag(Duration::from_secs(interval)), Duration::from_secs(lag), "{interval} s");
        }
    }
}
