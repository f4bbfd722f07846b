//! Tasks that have stopped, or are stopping, because somebody wanted it.

use mesh::{phase::TaskPhase, task_end::TaskEnd, time::elapsed};
use report::LogAction;

use super::{Case, Cause, Conclusion, moment};
use crate::status::TIME_TO_DEREGISTER;

/// What the reason of a task that a service stops begins with.
const SCALING: &str = "Scaling activity initiated by";

/// The end, if its `stopCode` is this.
fn with_code<'a>(case: &'a Case<'_>, code: &str) -> Option<&'a TaskEnd> {
    case.end.as_ref().filter(|end| end.code.as_deref() == Some(code))
}

/// It has stopped, and Consul still has its instances.
pub(super) fn left_in_consul(case: &Case<'_>) -> Option<Conclusion> {
    let end = case.end.as_ref()?;
    let is_stopping = case.member.is_some_and(|member| member.state.task.phase == TaskPhase::Stopping);
    if is_stopping || case.is_registered() != Some(true) {
        return None;
    }
    let stopped_at = end.stopped_at.unwrap_or(case.now);
    let cluster = case.cluster.map(|cluster| cluster.arn.name()).unwrap_or_default();
    if let Some(guard) = case.guard(stopped_at.max(case.lately())) {
        let sentence = format!(
            "It has stopped, and its instances are still in Consul. The guard held back deletions or corrections in its cluster at \
             {} ({}): check them with ecs-mesh sweep --dry-run --cluster {cluster}, and if they are right, repeat it with --force",
            moment(guard.at),
            guard.reason.as_deref().unwrap_or("no reason given")
        );
        return Some(Conclusion::faulty(Cause::HeldBackByTheGuard, sentence));
    }
    if case.observed(&LogAction::Deregister).is_some() {
        let sentence = "It has stopped, and its instances are still in Consul, because the controller is in Mode=observe and \
                        changes nothing: the always-on controller has to deregister them, or set Mode=act";
        return Some(Conclusion::faulty(Cause::OnlyObserved, sentence));
    }
    if let Some(failed) = case.failure(stopped_at) {
        let sentence = format!(
            "It has stopped, and its instances are still in Consul, because the controller failed at {} ({}): correct what this \
             names; its messages are retried, and ecs-mesh redrive returns those that were given up",
            moment(failed.at),
            failed.reason.as_deref().unwrap_or("no reason given")
        );
        return Some(Conclusion::faulty(Cause::ControllerFailed, sentence));
    }
    let is_late = elapsed(stopped_at, case.now) >= TIME_TO_DEREGISTER;
    let sentence = format!(
        "It has stopped, and its instances are still in Consul: the next sweep deregisters them, or ecs-mesh sweep --cluster \
         {cluster} does so now"
    );
    is_late.then(|| Conclusion::faulty(Cause::LeftInConsul, sentence))
}

/// EC2 took the capacity back.
pub(super) fn spot_interruption(case: &Case<'_>) -> Option<Conclusion> {
    with_code(case, "SpotInterruption")?;
    let sentence = "It ended in order, by a Spot interruption: its service starts another task, and nothing is to do";
    Some(Conclusion::ended(Cause::SpotInterruption, sentence))
}

/// Its container instance was terminated.
pub(super) fn instance_terminated(case: &Case<'_>) -> Option<Conclusion> {
    with_code(case, "TerminationNotice")?;
    let sentence = "It ended in order, because its container instance was terminated: its service starts another task, and \
                    nothing is to do";
    Some(Conclusion::ended(Cause::InstanceTerminated, sentence))
}

/// A deployment replaced it.
pub(super) fn deployment(case: &Case<'_>) -> Option<Conclusion> {
    let reason = with_code(case, "ServiceSchedulerInitiated")?.reason.as_deref()?;
    reason.starts_with(SCALING).then_some(())?;
    let deployments = &case.ecs_service()?.state.deployments;
    let newest = deployments.first()?;
    let has_another_revision = case.member.is_some_and(|member| member.state.task.definition != newest.definition);
    let sentence = format!(
        "It ended in order, by the deployment of {}:{}: nothing is to do",
        newest.definition.family(),
        newest.definition.revision()
    );
    has_another_revision.then(|| Conclusion::ended(Cause::Deployment, sentence))
}

/// Its service wants fewer tasks, or others in its place.
pub(super) fn scaling_in(case: &Case<'_>) -> Option<Conclusion> {
    let reason = with_code(case, "ServiceSchedulerInitiated")?.reason.as_deref().unwrap_or("ECS gives no reason");
    let sentence = format!("It ended in order, because its ECS service stopped it ({reason}): nothing is to do");
    Some(Conclusion::ended(Cause::StoppedByItsService, sentence))
}

/// Somebody called `StopTask`.
pub(super) fn by_hand(case: &Case<'_>) -> Option<Conclusion> {
    let reason = with_code(case, "UserInitiated")?.reason.as_deref().unwrap_or("ECS gives no reason");
    let sentence = format!(
        "It ended in order, because somebody stopped it ({reason}): nothing is to do; if nobody should have, look for StopTask in \
         CloudTrail"
    );
    Some(Conclusion::ended(Cause::StoppedByHand, sentence))
}

/// It stops, and ECS does not say why.
pub(super) fn otherwise(case: &Case<'_>) -> Option<Conclusion> {
    let end = case.end.as_ref()?;
    let is_stopping = end.stopped_at.is_none();
    let why = end.reason.clone().or_else(|| end.code.clone());
    let why = why.map_or_else(|| "ECS does not say why".to_owned(), |why| format!("ECS says: {why}"));
    let verb = if is_stopping { "is stopping" } else { "has stopped" };
    let sentence =
        format!("It {verb}, and no container is known to have failed ({why}): nothing is to do if this was intended");
    Some(Conclusion::ended(Cause::Stopped, sentence))
}
