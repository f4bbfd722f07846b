//! A sweep that the guard stops is counted and announced; a dry run is not.

use controller::{SweepOrder, SweepOutcome};

use super::mesh_of_tasks::{FakeTask, Mesh};
use crate::counted::{Counters, counts};

#[tokio::test]
async fn only_a_sweep_that_was_to_delete_raises_the_alarm() {
    // Given registered tasks that ECS does not list any more
    let mesh = Mesh::forgotten((1..=5).map(FakeTask::new).collect()).await;
    mesh.sweep().await;
    mesh.lose_tasks();
    let counters = Counters::start();
    // When a person looks at the plan
    let report = mesh.sweep_with(&SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
    // Then the plan says that the guard would stop it, and nothing else does
    assert_eq!(report.outcome, SweepOutcome::DryRun, "{report:?}");
    assert!(report.clusters[0].guard.is_some(), "{report:?}");
    assert_eq!((counters.take(), mesh.published().len()), (counts(&[]), 0));
    // And a sweep does
    let report = mesh.sweep().await;
    assert_eq!(report.outcome, SweepOutcome::GuardTripped, "{report:?}");
    assert_eq!(counters.take(), counts(&[("FullSweeps", 1), ("GuardTripped", 1)]));
    assert_eq!(mesh.published(), ["ECS Mesh Guard Tripped"]);
}
