//! The summary of a sweep, in JSON.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    cluster_selection::ClusterSelection,
    guard::{Divided, Wait},
    plan::{Action, Planned, WaitingToken},
    scope::Scope,
    time::elapsed,
};
use observe::{Reach, Reading, SweepOrder, World};
use report::{
    Blocked, ClusterReport, ErrorLabel, PlannedAction, Problem as ProblemReport, Skipped, SweepOutcome, SweepReport,
    SweptStatus, Waiting,
};

use crate::{
    action::{Counter, Described, describe},
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
    /// Of the bootstrap.
    not_set_up: Vec<(Reach, ProblemReport)>,
    /// Of the last attempt: it tries again what the attempt before it could not create.
    missing: Vec<(Reach, ProblemReport)>,
    outcomes: Vec<Outcome>,
    last: Option<(World, Divided)>,
    planned: Vec<(ClusterArn, PlannedAction)>,
    waiting: Vec<(ClusterArn, Waiting)>,
    repairs: RepairReport,
}

impl Swept {
    pub(super) fn repair(&mut self, mut repairs: RepairReport) {
        self.outcomes.append(&mut repairs.outcomes);
        self.repairs = repairs;
    }

    pub(super) fn set_up(&mut self, report: BootstrapReport) {
        self.set_up.extend(report.failures);
        self.not_set_up = problems_of(report.not_created);
    }

    /// The nodes and namespaces that an attempt could not create.
    pub(super) fn set_missing(&mut self, places: NotCreated) {
        self.missing = problems_of(places);
    }

    pub(super) fn add(&mut self, outcomes: Vec<Outcome>) {
        self.outcomes.extend(outcomes);
    }

    /// The plan of a dry run: what the actions would do, and what waits for a time.
    pub(super) fn plan(&mut self, outcomes: Vec<Outcome>, waiting: &[WaitingToken]) {
        let (due, others): (Vec<_>, Vec<_>) =
            outcomes.into_iter().partition(|outcome| matches!(outcome.result, Ok(Effect::Done)));
        let due = due.iter().map(|outcome| &outcome.planned);
        self.planned = due.filter_map(|it| Some((it.cluster.clone(), describe(it).action?))).collect();
        self.waiting = waiting.iter().map(|it| (it.cluster.clone(), waiting_token(it))).collect();
        self.add(others);
    }

    /// The last world, and what is left of its plan.
    pub(super) fn end(&mut self, world: World, left: Divided) {
        self.last = Some((world, left));
    }

    /// How many objects the sweep had to change because events had missed them.
    pub(super) fn drift(&self) -> usize {
        let done = self.outcomes.iter().filter(|outcome| matches!(outcome.result, Ok(Effect::Done)));
        done.map(|outcome| describe(&outcome.planned).drift).sum()
    }

    /// Whether the sweep has read every cluster of the deployment.
    pub(super) fn is_full(&self) -> bool {
        self.last.as_ref().is_some_and(|(world, _)| world.is_full)
    }

    /// How many tasks stopped longer ago than their events take, with entries in Consul that the sweep had to remove.
    /// `interval` is the time between sweeps.
    pub(super) fn missed_events(&self, interval: Duration) -> usize {
        let Some((world, _)) = &self.last else { return 0 };
        let lag = event_lag(interval);
        let stopped = world.observed.tasks.iter().filter_map(|task| Some((&task.arn, task.stopped_at?)));
        let stopped: BTreeMap<&TaskArn, Timestamp> = stopped.collect();
        let is_late = |task: &&TaskArn| stopped.get(task).is_some_and(|at| elapsed(*at, world.began) >= lag);
        let is_removed = |outcome: &&Outcome| {
            let is_of_event = matches!(outcome.planned.action, Action::DeleteLoginToken(_) | Action::Deregister(_));
            is_of_event && matches!(outcome.result, Ok(Effect::Done))
        };
        let removed = self.outcomes.iter().filter(is_removed);
        removed.flat_map(|outcome| &outcome.planned.tasks).filter(is_late).collect::<BTreeSet<_>>().len()
    }

    pub(super) fn report(self, order: &SweepOrder, scope: &Scope) -> SweepReport {
        let Self { set_up, not_set_up, missing, outcomes, last, planned, waiting, repairs } = self;
        let (world, divided) = last.unwrap_or_default();
        let is_guarded = !divided.alarms.is_empty() || !repairs.alarms.is_empty();
        let read = world.problems.iter().chain(&repairs.problems);
        let read = read.map(|problem| (problem.error.reach(), problem.report()));
        let (faults, problems) =
            problems(not_set_up.into_iter().chain(missing).chain(read), &set_up, &outcomes, order, &scope.clusters);
        let mut reports = Reports::of_world(&world);
        for outcome in &outcomes {
            count(outcome, reports.of(&outcome.planned.cluster));
        }
        for (cluster, action) in planned {
            reports.of(&cluster).planned.push(action);
        }
        for (cluster, waiting) in waiting {
            reports.of(&cluster).waiting.push(waiting);
        }
        reports.add_left(&divided);
        reports.add_repairs(repairs);
        let outcome = match () {
            () if !problems.is_empty() => SweepOutcome::Incomplete,
            () if order.dry_run => SweepOutcome::DryRun,
            () if is_guarded => SweepOutcome::GuardTripped,
            () if !scope.mode.acts() => SweepOutcome::Observed,
            () => SweepOutcome::Done,
        };
        let clusters = reports.in_order(&world.readings);
        SweepReport { mode: scope.mode, outcome, clusters, problems, faults, left_out: 0 }
    }
}

/// The reports of the clusters that were read, and of those that only marks of tokens name.
struct Reports(BTreeMap<ClusterArn, ClusterReport>);

impl Reports {
    fn of_world(world: &World) -> Self {
        Self(world.readings.iter().map(|reading| (reading.cluster.clone(), found(reading, world))).collect())
    }

    fn of(&mut self, cluster: &ClusterArn) -> &mut ClusterReport {
        self.0.entry(cluster.clone()).or_insert_with(|| ClusterReport {
            cluster_arn: cluster.to_string(),
            status: SweptStatus::NotRead,
            ..ClusterReport::default()
        })
    }

    /// Adds what the guard and the time leave of a plan.
    fn add_left(&mut self, Divided { waiting, held_back, drains, alarms, .. }: &Divided) {
        for (planned, wait) in waiting {
            self.of(&planned.cluster).waiting.extend(awaiting(planned, *wait));
        }
        let held_back = held_back.iter().map(|planned| (planned, HELD_BACK.to_owned()));
        for (planned, reason) in held_back.chain(drains.iter().map(|(planned, why)| (planned, why.to_string()))) {
            self.of(&planned.cluster).blocked.extend(describe(planned).action.map(|action| Blocked { action, reason }));
        }
        for (cluster, alarm) in alarms {
            self.add_alarm(cluster, &alarm.to_string());
        }
    }

    fn add_repairs(&mut self, repairs: RepairReport) {
        for (cluster, ClusterReport { planned, waiting, blocked, skipped, .. }) in repairs.clusters {
            let report = self.of(&cluster);
            report.planned.extend(planned);
            report.waiting.extend(waiting);
            report.blocked.extend(blocked);
            report.skipped.extend(skipped);
        }
        for (cluster, reason) in &repairs.alarms {
            self.add_alarm(cluster, reason);
        }
    }

    fn add_alarm(&mut self, cluster: &ClusterArn, reason: &str) {
        let guard = &mut self.of(cluster).guard;
        *guard = Some(guard.as_ref().map_or_else(|| reason.to_owned(), |before| format!("{before}; {reason}")));
    }

    /// The clusters that were read in the order of their readings, then the others.
    fn in_order(mut self, readings: &[Reading]) -> Vec<ClusterReport> {
        let mut reports: Vec<ClusterReport> = readings.iter().filter_map(|it| self.0.remove(&it.cluster)).collect();
        reports.extend(self.0.into_values());
        reports
    }
}

fn problems_of(places: NotCreated) -> Vec<(Reach, ProblemReport)> {
    places.into_iter().map(|((cluster, _), error)| (error.reach(), error.problem(Some(&cluster)))).collect()
}

/// What could not be read or written, each once, because one cause often affects many objects: first what concerns one thing,
/// then what concerns everything.
fn problems(
    read: impl Iterator<Item = (Reach, ProblemReport)>,
    set_up: &[BootstrapFailure],
    outcomes: &[Outcome],
    order: &SweepOrder,
    all: &ClusterSelection,
) -> (Vec<ProblemReport>, Vec<ProblemReport>) {
    let everything =
        |cluster: Option<&ClusterArn>, label, reason| (Reach::Everything, ProblemReport::new(cluster, label, &reason));
    let set_up = set_up.iter().map(|failure| everything(None, ErrorLabel::Bootstrap, failure.error.to_string()));
    let done = outcomes.iter().filter_map(|outcome| {
        let error = outcome.result.as_ref().err()?;
        let task = || outcome.planned.tasks.first().map(|task| format!("task {}", task.id()));
        let owner = outcome.planned.action.holder().map(ToString::to_string).or_else(task);
        Some((error.reach(), ProblemReport { owner, ..error.problem(Some(&outcome.planned.cluster)) }))
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

fn found(reading: &Reading, world: &World) -> ClusterReport {
    let cluster = &reading.cluster;
    let observed = &world.observed;
    let status = match (reading.is_judged, reading.is_deleted) {
        (false, _) => SweptStatus::Unread,
        (true, true) => SweptStatus::Deleted,
        (true, false) => SweptStatus::Active,
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
    let skipped = world.skipped.iter().filter(|skipped| skipped.cluster == *cluster);
    ClusterReport {
        cluster_arn: cluster.to_string(),
        status,
        found,
        skipped: skipped.map(|it| Skipped { what: it.what.clone(), why: it.why.clone() }).collect(),
        ..ClusterReport::default()
    }
}

fn count(outcome: &Outcome, report: &mut ClusterReport) {
    let Described { action, counter, .. } = describe(&outcome.planned);
    match &outcome.result {
        Ok(Effect::Refused) => {
            report.blocked.extend(action.map(|action| Blocked { action, reason: add_to_policy() }));
        }
        Ok(Effect::Unchanged) => {}
        Ok(Effect::Done) => counter.into_iter().for_each(|it| it.done(report)),
        // A repair that failed is reported with its task.
        Err(_) if matches!(counter, Some(Counter::Repaired | Counter::Corrected(_))) => {}
        Err(_) => report.left += 1,
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
        Wait::SecondLook => "a recheck of the task in ECS",
    };
    Some(Waiting { action: describe(planned).action?, until: None, waits_for: Some(waits_for.to_owned()) })
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
