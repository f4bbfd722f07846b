//! The sweep: the same observe, plan, apply as for events, over whole clusters. It repairs what events missed.

mod report;

use std::{collections::BTreeSet, sync::Arc};

use mesh::{action::Planned, guard, plan::plan, rules::Rules, tenancy::Tenancy};
use tracing::{error, info};

pub use self::report::{ClusterReport, Counts, SweepOutcome, SweepReport};
use self::report::{Held, Swept};
use crate::{
    apply::Applier,
    bootstrap::Bootstrap,
    deadline::Deadline,
    entropy::Entropy,
    outcome::{Basis, Outcome},
    survey::{Survey, Surveyor, SweepOrder},
    tasks::TaskReader,
};

/// How often the clusters are looked at again at once, because somebody else changed what was seen.
const LOOKS: usize = 2;

/// Sweeps whole clusters.
pub(crate) struct Sweep {
    pub(crate) tasks: TaskReader,
    pub(crate) surveyor: Arc<Surveyor>,
    pub(crate) applier: Arc<Applier>,
    pub(crate) bootstrap: Arc<Bootstrap>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Sweep {
    /// Looks at whole clusters, and does what has to be done as far as time and the guard allow.
    pub(crate) async fn run(&self, order: &SweepOrder, deadline: Deadline) -> SweepReport {
        let mut swept = Swept::default();
        let statuses = self.tasks.cluster_statuses(deadline).await;
        if !order.dry_run {
            let statuses = order.without_deleted(&statuses);
            swept.set_up(self.bootstrap.run_now_and_then(&statuses, deadline).await);
        }
        for look in 1..=LOOKS {
            let survey = self.surveyor.survey(order, &statuses, deadline).await;
            if !order.dry_run {
                swept.set_up(self.bootstrap.make_namespaces(&wanted_tenancies(&survey), deadline).await);
            }
            let (planned, held_back, held) = self.plan_sweep(&survey, order);
            if order.dry_run {
                swept.end(survey, held, planned, held_back);
                break;
            }
            let basis = Basis::Survey(&survey.observed.secrets);
            let outcomes = self.applier.apply(planned, basis, deadline).await;
            let (conflicts, settled): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Outcome::is_conflict);
            swept.add(settled, &survey);
            if conflicts.is_empty() || look == LOOKS {
                swept.add(conflicts, &survey);
                swept.end(survey, held, Vec::new(), held_back);
                break;
            }
        }
        let report = swept.report(order, self.tasks.scope.clusters.as_slice());
        log(&report);
        report
    }

    /// What may be done, what the guard holds back, and why.
    fn plan_sweep(&self, survey: &Survey, order: &SweepOrder) -> (Vec<Planned>, Vec<Planned>, Held) {
        // Everything was read after its beginning.
        let rules = Rules { trigger: order.trigger(), ..self.tasks.scope.rules(survey.began) };
        let mut planned = plan(&survey.observed, rules);
        // Time may run out, again and again: by chance, everything is among the first some day.
        let count = planned.len();
        if count > 0 {
            planned.rotate_left(self.entropy.below(count) % count);
        }
        if order.force {
            return (planned, Vec::new(), Held::new());
        }
        let judged = survey.readings.iter().filter(|reading| reading.is_judged && !reading.is_deleted);
        let held: Held = judged
            .filter_map(|reading| {
                let limit = self.tasks.scope.max_delete;
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
