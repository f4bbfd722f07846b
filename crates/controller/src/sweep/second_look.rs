//! The second look of a sweep: at tasks that ECS did not know, and of which nothing says how old they are.
//!
//! There is no state store. The memory is a delayed message to the functions' own queue, as for idle checks: it survives
//! every execution environment, needs no further service or permission, and cannot become wrong, because it names tasks, and
//! not what to delete. When it arrives, longer than ECS's answers may lag after the tasks were seen in Consul, the same
//! clusters are surveyed, planned and judged again. A task that ECS then still does not know is gone. A second look asks for
//! no further one: the next sweep does.

use std::{collections::BTreeSet, sync::Arc};

use mesh::{action::Planned, arn::ClusterArn, guard::Wait};
use tracing::info;

use super::Sweep;
use crate::{
    deadline::Deadline,
    error::ControllerError,
    message::{Message, SecondLook},
    survey::{Survey, SweepOrder, Waited},
};

/// The most tasks that one message names, of 256 KiB. The next sweep names the others.
const MAX_TASKS: usize = 2_000;

impl Sweep {
    /// Asks for a second look, if a removal waits for one or an empty listing has to be proven.
    pub(super) async fn ask_for_second_look(
        &self,
        order: &SweepOrder,
        survey: &Survey,
        waiting: &[(Planned, Wait)],
        deadline: Deadline,
    ) -> Result<(), ControllerError> {
        let undecided = waiting.iter().filter(|(_, wait)| *wait == Wait::SecondLook);
        let mut tasks = BTreeSet::new();
        // The plan begins at a random action: tasks that are held back do not keep others out for ever.
        for task in undecided.flat_map(|(planned, _)| &planned.tasks) {
            if tasks.len() < MAX_TASKS {
                tasks.insert(task.clone());
            }
        }
        let scope = &self.tasks.scope;
        let is_needed = !tasks.is_empty() || survey.is_emptiness_unproven;
        if !is_needed || order.waited.is_some() || !scope.operation.acts() {
            return Ok(());
        }
        let delay = scope.bounds.described_after();
        info!(action = "ask_for_second_look", outcome = "done", tasks = tasks.len(), delay_seconds = delay.as_secs());
        let look = SecondLook { clusters: order.clusters.clone(), tasks, force: order.force };
        deadline.run(self.queue.send_later(&[Message::second_look(&look)], delay)).await
    }

    /// Looks again at the tasks that an earlier sweep did not find in ECS.
    pub(crate) async fn look_again(&self, look: &SecondLook, deadline: Deadline) -> Result<(), Arc<ControllerError>> {
        let managed = |cluster: &&ClusterArn| self.tasks.scope.clusters.contains(cluster);
        let clusters: Vec<ClusterArn> = look.clusters.iter().filter(managed).cloned().collect();
        if clusters.is_empty() && !look.clusters.is_empty() {
            return Ok(());
        }
        let order = SweepOrder {
            clusters,
            is_scheduled: true,
            waited: Some(Waited { tasks: look.tasks.clone(), is_forced: look.force }),
            ..SweepOrder::default()
        };
        let problems = self.run(&order, deadline).await.problems;
        if problems.is_empty() {
            return Ok(());
        }
        let reasons: Vec<String> = problems.into_iter().map(|problem| problem.reason).collect();
        Err(Arc::new(ControllerError::NotLookedAgain(reasons.join("; "))))
    }
}
