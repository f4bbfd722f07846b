//! What a plan says that no action of the plan of tokens and instances does: the nodes of clusters.

use local_stack::world::World;
use observe::SweepOrder;
use report::PlannedAction;
use test_harness::recorder::Answer;

use super::swept;
use crate::environment::Environment;

#[tokio::test]
async fn a_plan_has_the_node_that_consul_lacks_whatever_repair_says() {
    let world = World::without_deployment("planned-node").await;
    world.run(&world.mesh_definition(&world.service()).await).await;
    let expected = PlannedAction::CreateNode { node: world.cluster() };
    for repair in ["on", "report", "off"] {
        let settings = [("TOKEN_MODE", "auth-method"), ("REPAIR", repair)];
        let environment = Environment::scripted(&world, &settings, |_, _| Answer::Forward).await;
        let plan = swept(&environment, &SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
        assert!(plan.clusters[0].planned.contains(&expected), "Repair={repair}: {plan:?}");
    }
    // Given the node, then no plan has it
    world.create_node().await;
    let environment = Environment::scripted(&world, &[("TOKEN_MODE", "auth-method")], |_, _| Answer::Forward).await;
    let plan = swept(&environment, &SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
    assert!(!plan.clusters[0].planned.contains(&expected), "{plan:?}");
}
