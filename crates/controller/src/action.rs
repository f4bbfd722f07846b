//! What an action is in reports: what it is called, what it counts as, and whether an event should have done it.

use mesh::plan::{Action, Planned};
use report::{CheckStatus, ClusterReport, PlannedAction};

/// What an action counts as in the report of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    Created,
    Hidden,
    /// Deleted objects of a kind.
    Deleted(&'static str),
    Drained,
    Repaired,
    /// Checks.
    Corrected(usize),
}

impl Counter {
    /// Counts an action that was done.
    pub(crate) fn done(self, report: &mut ClusterReport) {
        match self {
            Self::Created => *report.created.entry("tokens".into()).or_default() += 1,
            Self::Hidden => report.hidden += 1,
            Self::Deleted(what) => *report.deleted.entry(what.into()).or_default() += 1,
            Self::Drained => report.drained += 1,
            Self::Repaired => report.repaired += 1,
            Self::Corrected(checks) => report.corrected += checks,
        }
    }
}

/// An action in reports.
pub(crate) struct Described {
    /// `None` for one that only events plan, and that writes nothing.
    pub(crate) action: Option<PlannedAction>,
    pub(crate) counter: Option<Counter>,
    /// How many objects had to be changed because events had missed them. Deleting the tokens of idle services is the work of sweeps.
    pub(crate) drift: usize,
}

pub(crate) fn describe(planned: &Planned) -> Described {
    let task_id = || planned.tasks.first().map(|task| task.id().to_string()).unwrap_or_default();
    let missed = |action, counter| Described { action: Some(action), counter: Some(counter), drift: 1 };
    let of_sweeps = |action, counter| Described { action: Some(action), counter, drift: 0 };
    match &planned.action {
        Action::Provision(holder) => missed(PlannedAction::Provision { holder: holder.to_string() }, Counter::Created),
        Action::MarkCritical(instance, reason) => {
            let (service_id, reason) = (instance.id.clone(), reason.as_str().to_owned());
            missed(PlannedAction::MarkCritical { service_id, reason }, Counter::Drained)
        }
        Action::EndDrain(check) => of_sweeps(PlannedAction::EndDrain { service_id: check.service_id.clone() }, None),
        Action::Repair(difference) => {
            let instances = difference.instances.iter().map(|it| it.id.clone()).collect();
            let checks = difference.checks.iter().map(|check| check.id.clone()).collect();
            missed(PlannedAction::Repair { task_id: task_id(), instances, checks }, Counter::Repaired)
        }
        Action::CorrectHealth(checks) => {
            let status = |check: &mesh::catalog::HealthCheck| CheckStatus {
                check_id: check.id.clone(),
                status: check.status.as_str().to_owned(),
            };
            let action =
                PlannedAction::CorrectHealth { task_id: task_id(), checks: checks.iter().map(status).collect() };
            Described { drift: checks.len(), ..missed(action, Counter::Corrected(checks.len())) }
        }
        Action::DeleteLoginToken(token) => {
            let task_id = token.login().map(|login| login.task.to_string());
            let action = PlannedAction::DeleteLoginToken { accessor_id: token.accessor.to_string(), task_id };
            missed(action, Counter::Deleted("loginTokens"))
        }
        Action::Deregister(instance) => {
            let (service_id, task_id) = (instance.id.clone(), instance.task.to_string());
            missed(PlannedAction::Deregister { service_id, task_id }, Counter::Deleted("services"))
        }
        Action::ForceLeave(agent) => {
            let node = agent.member.name.clone();
            missed(PlannedAction::ForceLeave { node }, Counter::Deleted("clientAgents"))
        }
        Action::DeregisterNode(node) => {
            let node = node.cluster.to_string();
            of_sweeps(PlannedAction::DeregisterNode { node }, Some(Counter::Deleted("nodes")))
        }
        Action::Hide(holder, _) => {
            let holder = holder.to_string();
            of_sweeps(PlannedAction::HideToken { holder, accessor_id: None }, Some(Counter::Hidden))
        }
        Action::Revoke(holder, _) => {
            let holder = holder.to_string();
            of_sweeps(PlannedAction::Revoke { holder, accessor_id: None }, Some(Counter::Deleted("serviceTokens")))
        }
        Action::DeleteOrphan(holder, token, _) => {
            let (holder, accessor_id) = (holder.to_string(), token.accessor.to_string());
            of_sweeps(PlannedAction::DeleteOrphan { holder, accessor_id }, Some(Counter::Deleted("serviceTokens")))
        }
        Action::ShowOrphan(holder, token) => {
            let (holder, accessor_id) = (holder.to_string(), token.accessor.to_string());
            of_sweeps(PlannedAction::ShowOrphan { holder, accessor_id }, Some(Counter::Created))
        }
        Action::AwaitAgent(_) | Action::CheckIdleness(_) => Described { action: None, counter: None, drift: 0 },
    }
}
