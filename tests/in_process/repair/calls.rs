//! The number of calls of a repair.

use std::collections::BTreeMap;

use report::SweepOutcome;

use super::mesh_of_tasks::{FakeTask, Mesh};

fn counts(calls: &[(&str, usize)]) -> BTreeMap<String, usize> {
    calls.iter().map(|(call, count)| ((*call).to_owned(), *count)).collect()
}

/// The calls of a sweep that finds nothing.
const READS: [(&str, usize); 4] =
    [("GET acl/tokens", 1), ("GET agent/members", 1), ("GET catalog/node-services", 1), ("GET health/node", 1)];
const LISTS: [&str; 4] = ["DescribeClusters", "DescribeTasks", "ListTasks", "ListTasks"];

#[tokio::test]
async fn a_repaired_task_costs_two_writes_and_a_repair_three_looks_at_ecs() {
    for lost in [1, 10] {
        // Given tasks, and a Consul that has lost some of them
        let mesh = Mesh::lost((1..=20).map(FakeTask::new).collect()).await;
        mesh.sweep().await;
        for task in (1..=lost).map(FakeTask::new) {
            let id = format!("web-{}", task.arn.rsplit('/').next().unwrap());
            mesh.forget(&id);
            mesh.forget(&format!("{id}-sidecar-proxy"));
        }
        // When a sweep repairs them
        let report = mesh.sweep().await;
        assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Done, lost), "{report:?}");
        // Then each costs one write for its service and one for its sidecar proxy, and all of them together two more reads
        // of the checks: one after the repair, and one at the second look
        let mut expected = counts(&READS);
        expected.insert("GET health/node".to_owned(), 3);
        // The datacenter, in which the grants of login tokens have to be valid
        expected.insert("GET agent/self".to_owned(), 1);
        expected.insert("PUT catalog/register".to_owned(), 2 * lost);
        assert_eq!(mesh.consul_calls(), expected);
        // And the tasks are described before and after the writes, and at the second look; their definitions and ECS services before the writes,
        // for their tags; then the events are published
        let repairs = ["DescribeServices", "DescribeTaskDefinition", "DescribeTasks", "DescribeTasks", "DescribeTasks"];
        let mut expected: Vec<&str> = LISTS.into_iter().chain(repairs).collect();
        let publications = lost.div_ceil(10);
        expected.extend(std::iter::repeat_n("PutEvents", publications));
        expected.sort_unstable();
        assert_eq!(mesh.aws.operations(), expected);
    }
}

#[tokio::test]
async fn a_repair_that_was_written_in_part_is_counted_and_reported() {
    // Given a task that Consul has lost, whose sidecar proxy Consul refuses to register
    let task = FakeTask::new(1);
    let mesh = Mesh::lost(vec![task]).await;
    mesh.with(|world| world.refused = Some("-sidecar-proxy"));
    // When a sweep repairs it
    let report = mesh.sweep().await;
    // Then its service is registered, counted and announced, and the failure is reported
    assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Incomplete, 1), "{report:?}");
    assert!(report.problems.iter().any(|problem| problem.reason.contains("Permission denied")), "{report:?}");
    assert_eq!(mesh.published().len(), 1);
    // And when Consul accepts it, the next sweep does the rest
    mesh.with(|world| world.refused = None);
    let report = mesh.sweep().await;
    assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Done, 1), "{report:?}");
}
