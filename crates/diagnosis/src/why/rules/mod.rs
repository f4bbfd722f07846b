//! The causes that `why` knows, each a rule over what was read of a task. The first rule that applies decides.

pub(super) mod ended;
mod running;

use super::{
    evidence::{TaskEvidence, moment},
    report::{Conclusion, Condition, WhyCause},
};
use crate::status::TaskVerdict;

/// A cause: what is wrong and what to do, if it is this one.
type Rule = fn(&TaskEvidence<'_>) -> Option<Conclusion>;

/// All rules. What explains more comes first: a token that was deleted before the check that fails without it.
const RULES: [Rule; 37] = [
    ended::unsorted,
    ended::status_unknown,
    ended::not_in_the_mesh,
    ended::left_by_an_unknown_task,
    ended::unknown_to_ecs,
    ended::unknown,
    // It stops, or has stopped.
    ended::left_in_consul,
    ended::mesh_init,
    ended::image,
    ended::secret,
    ended::memory,
    ended::health_check,
    ended::spot_interruption,
    ended::instance_terminated,
    ended::deployment,
    ended::rebalancing,
    ended::scaling_in,
    ended::by_hand,
    ended::essential_container,
    ended::failed_start,
    ended::otherwise,
    // It is meant to run.
    running::another_tasks_id,
    running::proxy_stopped,
    running::login_refused,
    running::login_tokens_gone,
    running::service_token_gone,
    running::drained,
    running::mesh_init_failed,
    running::lost,
    running::foreign_check,
    running::at_loopback,
    running::held_up,
    running::unhealthy_container,
    running::health_sync_stopped,
    running::controller_failed,
    running::not_as_it_should_be,
    running::consul_unread,
];

/// What is wrong with a task.
pub(super) fn conclude(evidence: &TaskEvidence<'_>) -> Conclusion {
    if evidence.verdict == Some(TaskVerdict::Healthy) {
        return Conclusion::healthy();
    }
    let mut conclusion = RULES.iter().find_map(|rule| rule(evidence)).unwrap_or_else(Conclusion::healthy);
    let is_unread = evidence.cluster.is_some_and(|cluster| cluster.catalog.is_none());
    if is_unread && conclusion.condition == Condition::Ended {
        conclusion.sentence.push_str(". Consul could not be read, so it may still be registered");
    }
    conclusion
}
