//! Clusters whose names differ only in case: Consul takes the nodes of both for one.

use local_stack::world::{World, cluster_arn, task_id};
use observe::SweepOrder;
use report::{ErrorLabel, SweepOutcome};
use serde_json::Value;

use super::{environment, forward, swept};

/// A task that runs and is registered on its cluster's node.
async fn registered(world: &World<'_>) -> String {
    world.create_node().await;
    let service = world.service();
    let task = world.run(&world.mesh_definition(&service).await).await;
    world.register_instance(&service, &task).await;
    task
}

/// The name of the node that Consul finds for a cluster.
async fn node_of(world: &World<'_>) -> Value {
    world.node_services().await["Node"]["Node"].clone()
}

#[tokio::test]
async fn clusters_whose_names_differ_only_in_case_are_left_alone_and_others_are_swept() {
    // Given a cluster with a task, its namesake without one, and a third cluster with what a stopped task has left
    let twin = World::without_deployment("twins").await;
    let living = registered(&twin).await;
    let empty = World::without_deployment("TWINS").await;
    let third = World::without_deployment("twins-neighbour").await;
    let stopped = registered(&third).await;
    third.stop(&stopped).await;
    let all = ["twins", "TWINS", "twins-neighbour"].map(cluster_arn).join(",");
    let all: &'static str = Box::leak(all.into_boxed_str());
    let environment = environment(&empty, forward, forward, &[("ECS_CLUSTER_ARNS", all)], |edges| edges).await;
    for force in [false, true] {
        // When all are swept
        let report = swept(&environment, &SweepOrder { force, ..SweepOrder::default() }).await;
        // Then the two are refused by name, nothing of the living task is removed
        assert_eq!((report.outcome, report.problems.len()), (SweepOutcome::Done, 0), "{report:?}");
        let refused: Vec<(Option<&str>, &ErrorLabel)> =
            report.faults.iter().map(|fault| (fault.cluster_arn.as_deref(), &fault.label)).collect();
        let [upper, lower] = ["TWINS", "twins"].map(cluster_arn);
        assert_eq!(
            refused,
            [(Some(upper.as_str()), &ErrorLabel::Invalid), (Some(lower.as_str()), &ErrorLabel::Invalid)]
        );
        assert!(twin.service_ids().await.iter().any(|id| id.contains(task_id(&living))));
        assert_eq!(node_of(&twin).await, cluster_arn("twins"));
        // And the third one is swept
        assert!(third.service_ids().await.is_empty());
    }
}

#[tokio::test]
async fn node_of_a_namesake_outside_of_the_scope_is_neither_cleared_nor_renamed() {
    // Given a cluster that another deployment manages, and its namesake in scope, with a task that is starting
    let other = World::without_deployment("cousins").await;
    let living = registered(&other).await;
    let own = World::without_deployment("COUSINS").await;
    let starting = own.run(&own.dataplane_definition("cousins-starting").await).await;
    let environment = environment(&own, forward, forward, &[("BOOTSTRAP", "dataplane")], |edges| edges).await;
    // When an event of its task is handled, it is swept, and its tasks have stopped
    assert!(environment.handle(&[own.event(&starting).await]).await.failures.is_empty());
    own.stop(&starting).await;
    let report = swept(&environment, &SweepOrder { force: true, ..SweepOrder::default() }).await;
    // Then the node is as it was
    assert_eq!((report.outcome, report.problems.len()), (SweepOutcome::Done, 0), "{report:?}");
    let skipped = &report.clusters[0].skipped;
    assert!(skipped.iter().any(|skipped| skipped.what.contains("cousins")), "{skipped:?}");
    assert_eq!(node_of(&other).await, cluster_arn("cousins"));
    assert!(other.service_ids().await.iter().any(|id| id.contains(task_id(&living))));
}

#[tokio::test]
async fn task_of_a_namesake_that_registers_on_the_node_is_not_taken_for_a_gone_one() {
    // Given a cluster in scope, and a task of its namesake, which has registered on the same node
    let own = World::without_deployment("siblings").await;
    own.create_node().await;
    let other = World::without_deployment("SIBLINGS").await;
    let service = other.service();
    let living = other.run(&other.mesh_definition(&service).await).await;
    own.register_instance(&service, &living).await;
    let environment = environment(&own, forward, forward, &[], |edges| edges).await;
    // When the cluster is swept
    let report = swept(&environment, &SweepOrder { force: true, ..SweepOrder::default() }).await;
    // Then its entries stay
    assert!(own.service_ids().await.iter().any(|id| id.contains(task_id(&living))), "{report:?}");
}
