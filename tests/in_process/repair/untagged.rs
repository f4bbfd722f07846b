//! Tasks of a revision that has lost the mesh tag: `mesh-init` registers them nevertheless.

use std::sync::Arc;

use mesh::tags::Tags;
use report::SweepOutcome;
use simulation::direct::Direct;

use super::Mesh;

#[tokio::test(start_paused = true)]
async fn what_a_task_without_the_mesh_tag_leaves_is_removed() {
    // Given a running task, and one that has stopped and left its services, both of a revision without tags
    let mesh = Mesh(Direct::with_leftovers());
    mesh.change(|world| {
        world.ecs.rewrites.definition = Box::new(|definition| {
            (definition.tags, definition.secrets) = (Tags::default(), Arc::default());
        });
    });
    let count = || mesh.0.with(|world| world.count_instances("service-0"));
    let before = count();
    // When a sweep finds them
    let report = mesh.sweep().await;
    // Then it removes what the stopped one has left, says so, and leaves the running one alone
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    let deleted = |what: &str| report.clusters[0].deleted.get(what).copied().unwrap_or_default();
    assert_eq!(deleted("services"), 2, "the service and its sidecar proxy: {report:?}");
    assert_eq!((before, count()), (2, 1));
    assert_eq!(mesh.sweep().await.clusters[0].deleted.get("services"), None);
}
