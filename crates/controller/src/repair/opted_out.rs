//! Tasks with a tag that opts them out, on their definition or their ECS service.

use std::collections::{BTreeMap, BTreeSet};

use mesh::{
    arn::ClusterArn,
    repair::{NotRepaired, opts_out},
};

use super::{
    Repairs,
    found::Found,
    report::{RepairReport, Unrepaired},
};
use crate::{
    deadline::Deadline,
    outcome::concurrently,
    survey::{Problem, RunningTask},
};

impl Repairs {
    /// The tasks with their definitions as they are now: the content of a revision never changes, but its tags do. Leaves out
    /// those whose definition could not be read.
    pub(super) async fn with_current_definitions(
        &self,
        tasks: Vec<RunningTask>,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> Vec<RunningTask> {
        for running in &tasks {
            self.tasks.ecs.forget(&running.definition.arn);
        }
        let arns = tasks.iter().map(|running| &running.definition.arn);
        let definitions = self.tasks.definitions(arns, deadline).await;
        let mut current = Vec::new();
        for running in tasks {
            match definitions.get(&running.definition.arn).cloned() {
                Some(definition) => current.push(RunningTask { definition, ..running }),
                None => report.unrepaired.push(Unrepaired::of(&running, &NotRepaired::DefinitionUnread)),
            }
        }
        current
    }

    /// Leaves out the tasks whose ECS service has a tag that says so, and those of which this is not known.
    pub(super) async fn without_opted_out(
        &self,
        found: Vec<Found>,
        deadline: Deadline,
        report: &mut RepairReport,
    ) -> Vec<Found> {
        let mut services: BTreeMap<ClusterArn, BTreeSet<String>> = BTreeMap::new();
        for Found { running, .. } in &found {
            if let Some(service) = &running.task.placement.service {
                services.entry(running.cluster.clone()).or_default().insert(service.clone());
            }
        }
        let reads = services.into_iter().map(|(cluster, names)| async move {
            let names = Vec::from_iter(names);
            let read = deadline.run(self.tasks.ecs.services(&cluster, &names)).await;
            (cluster, names, read)
        });
        let mut left_out: BTreeMap<(ClusterArn, String), NotRepaired> = BTreeMap::new();
        for (cluster, names, read) in concurrently(reads).await {
            let of_cluster = |name: String| (cluster.clone(), name);
            match read {
                Ok(services) => {
                    let off = services.into_iter().filter(|service| opts_out(&service.tags));
                    left_out.extend(off.map(|service| (of_cluster(service.name), NotRepaired::OptedOut)));
                }
                Err(error) => {
                    report.problems.push(Problem::new(Some(&cluster), error));
                    left_out.extend(names.into_iter().map(|name| (of_cluster(name), NotRepaired::ServiceUnread)));
                }
            }
        }
        let mut kept = Vec::new();
        for found in found {
            let service = found.running.task.placement.service.clone();
            match service.and_then(|name| left_out.get(&(found.running.cluster.clone(), name))) {
                Some(why) => report.unrepaired.push(Unrepaired::of(&found.running, why)),
                None => kept.push(found),
            }
        }
        kept
    }
}
