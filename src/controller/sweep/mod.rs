//! The sweep: the same observe, plan, apply as for events, over whole clusters. It repairs what events missed.

mod consul_side;
mod gone_tasks;
mod report;
mod survey;

use std::{collections::BTreeSet, sync::Arc};

use tracing::{error, info};

pub use self::report::{ClusterReport, Counts, ProblemReport, SweepOutcome, SweepReport};
pub(super) use self::survey::Survey;
use self::{report::Swept, survey::Problem};
use super::{
    Controller, ControllerError, Deadline,
    apply::{Basis, is_conflict},
    bootstrap::KnownStatuses,
};
use mesh::{
    arn::ClusterArn,
    guard::{self, Alarm},
    mutant::{self, Mutant},
    plan::{Planned, Rules, plan},
    secret::Trigger,
    tenancy::Tenancy,
};

/// How often the clusters are looked at again at once, because somebody else changed what was seen.
const LOOKS: usize = 2;

/// What somebody wants swept.
#[derive(Debug, Clone, Default)]
pub struct SweepOrder {
    /// These of the configured clusters; empty: all.
    pub clusters: Vec<ClusterArn>,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Do it even where the guard holds it back, and take clusters that ECS does not know for deleted ones.
    pub force: bool,
    /// A cluster that was reported as deleted: that ECS does not know it any more is no error.
    pub deleted: Option<ClusterArn>,
    /// Whether the schedule has asked, and not a person.
    pub is_scheduled: bool,
}

impl SweepOrder {
    fn trigger(&self) -> Trigger {
        match (self.is_scheduled, &self.deleted) {
            (true, _) => Trigger::Sweep,
            (false, Some(_)) => Trigger::Event,
            (false, None) => Trigger::Person,
        }
    }

    fn includes(&self, cluster: &ClusterArn) -> bool {
        self.clusters.is_empty() || self.clusters.contains(cluster)
    }

    /// What ECS says, but for the cluster that was reported as deleted: its answers lag behind its events.
    fn without_deleted(&self, statuses: &KnownStatuses) -> KnownStatuses {
        let mut statuses = statuses.clone();
        if let (Ok(statuses), Some(deleted)) = (&mut statuses, &self.deleted) {
            statuses.remove(deleted);
        }
        statuses
    }

    fn takes_unknown_for_deleted(&self, cluster: &ClusterArn) -> bool {
        self.force || self.deleted.as_ref() == Some(cluster)
    }
}

/// A cluster whose deletions the guard holds back, and why.
type Held = Vec<(ClusterArn, Alarm)>;

impl Controller {
    /// Looks at whole clusters, and does what has to be done as far as time and the guard allow.
    pub async fn sweep(&self, order: &SweepOrder, deadline: Deadline) -> SweepReport {
        let mut swept = Swept::default();
        let statuses = self.cluster_statuses(deadline).await;
        if !order.dry_run {
            let statuses = order.without_deleted(&statuses);
            swept.set_up(self.bootstrap_now_and_then(&statuses, deadline).await);
        }
        for look in 1..=LOOKS {
            let survey = self.survey(order, &statuses, deadline).await;
            if !order.dry_run {
                swept.set_up(self.make_namespaces(&wanted_tenancies(&survey), deadline).await);
            }
            let (planned, held_back, held) = self.plan_sweep(&survey, order);
            if order.dry_run {
                swept.end(survey, held, planned, held_back);
                break;
            }
            let basis = Basis::Survey(&survey.observed.secrets);
            let outcomes = self.apply(planned, basis, deadline).await;
            let (conflicts, settled): (Vec<_>, Vec<_>) =
                outcomes.into_iter().partition(|outcome| outcome.result.as_ref().is_err_and(is_conflict));
            swept.add(settled, &survey);
            if conflicts.is_empty() || look == LOOKS {
                swept.add(conflicts, &survey);
                swept.end(survey, held, Vec::new(), held_back);
                break;
            }
        }
        let report = swept.report(order, self.scope.clusters.as_slice());
        log(&report);
        report
    }

    /// What may be done, what the guard holds back, and why.
    fn plan_sweep(&self, survey: &Survey, order: &SweepOrder) -> (Vec<Planned>, Vec<Planned>, Held) {
        // Everything was read after its beginning.
        let rules = Rules { trigger: order.trigger(), now: survey.began, ..self.rules() };
        let mut planned = plan(&survey.observed, rules);
        // Time may run out, again and again: by chance, everything is among the first some day.
        let count = planned.len();
        if count > 0 {
            planned.rotate_left(self.edges.entropy.below(count) % count);
        }
        if order.force || mutant::is(Mutant::NoGuard) {
            return (planned, Vec::new(), Held::new());
        }
        let judged = survey.readings.iter().filter(|reading| reading.is_judged && !reading.is_deleted);
        let held: Held = judged
            .filter_map(|reading| {
                let limit = self.scope.max_delete;
                let verdict = guard::check(&planned, &survey.observed, &reading.cluster, reading.listed, limit);
                Some((reading.cluster.clone(), verdict.err()?))
            })
            .collect();
        let is_held =
            |p: &Planned| p.action.deletes() && held.iter().any(|(cluster, _)| guard::concerns(&p.action, cluster));
        let (held_back, planned) = planned.into_iter().partition(is_held);
        (planned, held_back, held)
    }
}

/// Where the living tasks want to be.
fn wanted_tenancies(survey: &Survey) -> BTreeSet<Tenancy> {
    let living = survey.observed.tasks.iter().filter(|task| task.phase.is_living());
    living.map(|task| task.tenancy.clone()).collect()
}

/// The lines that alarms and people look for.
fn log(report: &SweepReport) {
    for cluster in &report.clusters {
        if let Some(reason) = &cluster.guard {
            error!(
                action = "sweep",
                outcome = "guard_tripped",
                cluster_arn = cluster.cluster_arn,
                reason,
                "nothing was deleted; look at the summary, and invoke with {{\"force\": true}} if it is right"
            );
        }
    }
    for problem in &report.problems {
        error!(
            action = "sweep",
            outcome = "failed",
            cluster_arn = problem.cluster_arn,
            error = problem.label,
            reason = problem.reason
        );
    }
    let summary = serde_json::to_string(report).unwrap_or_default();
    info!(action = "sweep", outcome = report.outcome.as_str(), summary);
}

/// A part that could not be read or done.
fn problem(cluster: Option<&ClusterArn>, error: impl Into<Arc<ControllerError>>) -> Problem {
    Problem { cluster: cluster.cloned(), error: error.into() }
}
