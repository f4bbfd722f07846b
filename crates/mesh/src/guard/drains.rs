//! The guard over drains of tasks whose hosts are gone: as for corrections, a large share of a service is not taken out of
//! rotation at once, and no service loses its last passing instance.

use super::{
    Alarm,
    corrections::{Corrections, HeldBack},
};
use crate::{
    arn::ClusterArn,
    catalog::{DrainReason, HealthCheck},
    plan::{Action, Observed, Planned},
};

/// Takes the drains out of `planned` that are held back, with all checks of their nodes as they are `now`.
pub fn hold_back(
    planned: Vec<Planned>,
    now: &[HealthCheck],
    corrections: &mut Corrections,
) -> (Vec<Planned>, Vec<(Planned, HeldBack)>) {
    let wanted: Vec<HealthCheck> = planned.iter().filter_map(check).collect();
    let held = corrections.hold_back(now, &wanted.iter().collect::<Vec<_>>());
    let why = |planned: &Planned| {
        let check = check(planned)?;
        held.iter().find(|(held, _)| held.is_same_as(&check)).map(|(_, why)| why.clone())
    };
    let (mut allowed, mut held_back) = (Vec::new(), Vec::new());
    for planned in planned {
        match why(&planned) {
            Some(why) => held_back.push((planned, why)),
            None => allowed.push(planned),
        }
    }
    (allowed, held_back)
}

/// The check of a drain because of a host that is gone.
fn check(planned: &Planned) -> Option<HealthCheck> {
    match &planned.action {
        Action::MarkCritical(instance, reason @ DrainReason::HostGone) => {
            Some(HealthCheck::maintenance(instance, *reason))
        }
        _ => None,
    }
}

/// The alarm about a drain that is held back, by cluster; `None` if it keeps the last passing instance.
pub(super) fn alarm(planned: &Planned, why: &HeldBack, observed: &Observed) -> Option<(ClusterArn, Alarm)> {
    let HeldBack::TooMany { .. } = why else { return None };
    let task = observed.tasks.iter().find(|task| planned.tasks.contains(&task.arn))?;
    Some((task.cluster.clone(), Alarm::Drains(why.clone())))
}
