//! The causes that `why` knows, each a rule over what was read of a task. The first rule that applies decides.

mod absent;
mod ended;
mod running;
mod stopped_by;
mod tokens;

use super::{
    case::Case,
    cause::Cause,
    moment::moment,
    report::{Conclusion, Condition},
};
use crate::status::TaskVerdict;

/// A cause: what is wrong and what to do, if it is this one.
type Rule = fn(&Case<'_>) -> Option<Conclusion>;

/// All rules. What explains more comes first: a token that was deleted before the check that fails without it.
const RULES: [Rule; 32] = [
    absent::unsorted,
    absent::not_in_the_mesh,
    absent::left_by_a_forgotten_task,
    absent::forgotten,
    absent::unknown,
    // It stops, or has stopped.
    ended::left_in_consul,
    stopped_by::mesh_init,
    stopped_by::image,
    stopped_by::secret,
    stopped_by::memory,
    stopped_by::health_check,
    ended::spot_interruption,
    ended::instance_terminated,
    ended::deployment,
    ended::scaling_in,
    ended::by_hand,
    stopped_by::essential_container,
    stopped_by::failed_start,
    ended::otherwise,
    // It is meant to run.
    running::another_tasks_id,
    running::proxy_stopped,
    tokens::login_refused,
    tokens::login_tokens_gone,
    tokens::service_token_gone,
    running::drained,
    running::mesh_init_failed,
    running::lost,
    running::unhealthy_container,
    running::health_sync_stopped,
    running::controller_failed,
    running::not_as_it_should_be,
    running::consul_unread,
];

/// What is wrong with a task.
pub(super) fn conclude(case: &Case<'_>) -> Conclusion {
    if case.verdict() == Some(TaskVerdict::Healthy) {
        return Conclusion::healthy();
    }
    let mut conclusion = RULES.iter().find_map(|rule| rule(case)).unwrap_or_else(Conclusion::healthy);
    let is_unread = case.cluster.is_some_and(|cluster| cluster.catalog.is_none());
    if is_unread && conclusion.condition == Condition::Ended {
        conclusion.sentence.push_str("; whether Consul still has it is not known, because Consul could not be read");
    }
    conclusion
}
