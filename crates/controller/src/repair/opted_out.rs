//! Tasks whose ECS service has a tag that opts them out.

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
use crate::{deadline::Deadline, outcome::concurrently, survey::Problem};

impl Repairs {
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
