//! Other writers of a task's entries: its own programs, and other sweeps.

use local_stack::world::World;
use serde_json::json;
use test_harness::{
    ecs_agent::{DATAPLANE, DataplaneTask, Release, SYNCED, catalog, deregister, writes},
    recorder::Gate,
};

use super::{Held, Request, counts, sweep};

#[tokio::test]
async fn a_mesh_init_that_registers_at_the_same_moment_does_no_harm() {
    let world = World::without_deployment("mesh-init-too").await;
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let before = catalog(&world).await;
    // Whether mesh-init registers before the sweep, between its two writes, or after both
    for request in
        [Request::Register(task.instance()), Request::Register(task.sidecar()), Request::Describe(3), Request::Announce]
    {
        task.forget().await;
        let held = Held::at(&world, request).await;
        let report = held.sweep_while(task.register()).await;
        assert_eq!(counts(&report).0, 1);
        // Then the next sweep corrects what mesh-init writes of every task: that it is critical
        health_sync.tick().await;
        sweep(&world).await;
        assert_eq!(catalog(&world).await, before);
        assert_eq!(sweep(&world).await, (0, 0));
    }
}

#[tokio::test]
async fn a_status_that_health_sync_mends_is_left_to_it() {
    let world = World::without_deployment("mended").await;
    for release in Release::ALL {
        let (task, mut health_sync) = DataplaneTask::start(&world, release).await;
        // Given a container that has just failed, which Consul does not know yet
        task.report_health(SYNCED[0], "UNHEALTHY").await;
        // When its health-sync writes it between the two looks of a sweep
        let held = Held::at(&world, Request::ReadChecks(2)).await;
        let report = held.sweep_while(async { _ = health_sync.tick().await }).await;
        // Then the sweep writes nothing
        assert_eq!((counts(&report), held.writes()), ((0, 0), Vec::new()), "{release:?}");
        task.report_all_healthy().await;
        health_sync.tick().await;
    }
    // And 0.9 mends the statuses of the dataplane at each tick, whoever wrote them
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_9).await;
    task.write_status(&format!("{}-{DATAPLANE}", task.instance()), "critical").await;
    let held = Held::at(&world, Request::ReadChecks(2)).await;
    let report = held.sweep_while(async { _ = health_sync.tick().await }).await;
    assert_eq!((counts(&report), held.writes()), ((0, 0), Vec::new()));
    assert_eq!(task.statuses().await, task.all_checks("passing"));
}

#[tokio::test]
async fn a_status_that_somebody_writes_between_the_looks_is_left_to_the_next_sweep() {
    let world = World::without_deployment("written-between").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let check = task.check_ids()[0].clone();
    task.write_status(&check, "critical").await;
    let held = Held::at(&world, Request::ReadChecks(2)).await;
    let written_again = async {
        task.write_status(&check, "passing").await;
        task.write_status(&check, "critical").await;
    };
    let report = held.sweep_while(written_again).await;
    assert_eq!((counts(&report), held.writes()), ((0, 0), Vec::new()));
    assert_eq!(sweep(&world).await, (0, 1));
    assert_eq!(task.statuses().await, task.all_checks("passing"));
}

#[tokio::test]
async fn a_status_that_ecs_confirms_at_the_second_look_is_left_as_it_is() {
    let world = World::without_deployment("confirmed").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_8).await;
    // Given a critical check of a container that ECS reports as healthy
    let check = format!("{}-{}", task.instance(), SYNCED[0]);
    task.write_status(&check, "critical").await;
    // When ECS reports its failure before the second look
    let held = Held::at(&world, Request::Describe(3)).await;
    let report = held.sweep_while(task.report_health(SYNCED[0], "UNHEALTHY")).await;
    assert_eq!((counts(&report), held.writes()), ((0, 0), Vec::new()));
    assert_eq!(task.statuses().await[&check], "critical");
}

#[tokio::test]
async fn a_correction_that_arrives_late_is_corrected_by_the_next_sweep() {
    let world = World::without_deployment("stalled").await;
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    // Given a sweep whose correction, that a container is healthy, is stalled
    task.write_status(&format!("{}-{}", task.instance(), SYNCED[0]), "critical").await;
    let held = Held::at(&world, Request::Correct).await;
    let report = held
        .sweep_while(async {
            // When the container fails, and its health-sync writes that
            task.report_health(SYNCED[0], "UNHEALTHY").await;
            health_sync.tick().await;
        })
        .await;
    // Then the stalled write hides the failure, and health-sync does not notice it
    assert_eq!(counts(&report), (0, 1));
    assert_eq!(task.statuses().await[&format!("{}-{}", task.instance(), SYNCED[0])], "passing");
    assert_eq!(health_sync.tick().await, (0, 0));
    // And the next sweep does
    assert_eq!(sweep(&world).await, (0, 1));
    assert_eq!(task.statuses().await[&format!("{}-{}", task.instance(), SYNCED[0])], "critical");
    assert_eq!(sweep(&world).await, (0, 0));
}

#[tokio::test]
async fn a_health_that_changes_after_a_repair_is_corrected_in_the_same_sweep() {
    let world = World::without_deployment("flips").await;
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let (other, _its_health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    task.forget().await;
    // Given a container that fails after the sweep has looked at the task, and before its registration
    let held = Held::at(&world, Request::Register(task.instance())).await;
    let report = held
        .sweep_while(async {
            task.report_health(SYNCED[0], "UNHEALTHY").await;
            // Refused, and therefore tried again
            assert_eq!(health_sync.tick().await, (0, 1));
        })
        .await;
    assert_eq!(counts(&report), (1, 3));
    let corrected = writes(&world).await;
    assert_eq!(task.statuses().await[&format!("{}-{}", task.instance(), SYNCED[0])], "critical");
    assert_eq!(world.passing(&world.service()).await, [other.instance()]);
    assert_eq!(sweep(&world).await, (0, 0));
    assert_eq!(writes(&world).await, corrected);
}

#[tokio::test]
async fn two_sweeps_in_step_repair_the_same_task() {
    let world = World::without_deployment("in-step").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let before = catalog(&world).await;
    for request in [Request::Register(task.instance()), Request::Register(task.sidecar())] {
        task.forget().await;
        // Given two sweeps that are about to write the same
        let gate = Gate::of(2);
        let (one, two) = tokio::join!(
            Held::with_gate(&world, &request, gate.clone()),
            Held::with_gate(&world, &request, gate.clone()),
        );
        let (one, two) = tokio::join!(one.sweep(), two.sweep());
        assert_eq!((counts(&one), counts(&two)), ((1, 0), (1, 0)));
        assert_eq!(catalog(&world).await, before);
        assert_eq!(sweep(&world).await, (0, 0));
    }
}

#[tokio::test]
async fn a_node_that_is_deregistered_during_a_correction_is_repaired_by_the_next_sweep() {
    let world = World::without_deployment("node-vanishes").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let before = catalog(&world).await;
    task.write_status(&task.check_ids()[0], "critical").await;
    let held = Held::at(&world, Request::Correct).await;
    let report = held.sweep_while(deregister(&world, &json!({}))).await;
    assert_eq!(counts(&report), (0, 0));
    assert_eq!(sweep(&world).await, (1, 0));
    assert_eq!(catalog(&world).await, before);
}
