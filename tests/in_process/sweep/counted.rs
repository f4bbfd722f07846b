//! What the alarms about sweeps read: that all clusters were read, and that tasks have stopped without their event.

use std::sync::Arc;

use controller::Edges;
use jiff::{SignedDuration, Timestamp};
use local_stack::world::World;
use observe::{SweepCause, SweepOrder};
use report::SweepOutcome;
use serde_json::json;
use test_harness::recorder::Answer;

use super::{environment, forward, stopped_task_with_services, swept};
use crate::{
    counted::Counters,
    environment::{at, refusal},
    time::Fixed,
};

const SCHEDULED: SweepOrder =
    SweepOrder { clusters: Vec::new(), dry_run: false, force: false, cause: SweepCause::Schedule };

#[tokio::test]
async fn only_a_sweep_that_has_read_all_clusters_counts() {
    let world = World::without_deployment("full-sweeps").await;
    let counters = Counters::start();
    let working = environment(&world, forward, forward, &[], |edges| edges).await;
    // As the set-up of a stack does, and the schedule
    for order in [SweepOrder::default(), SCHEDULED] {
        assert_eq!(swept(&working, &order).await.outcome, SweepOutcome::Done);
        assert_eq!(counters.take().get("FullSweeps"), Some(&1), "{order:?}");
    }
    // As a person does
    let clusters = vec![world.cluster().parse().unwrap()];
    for order in [SweepOrder { clusters, ..SCHEDULED }, SweepOrder { dry_run: true, ..SCHEDULED }] {
        swept(&working, &order).await;
        assert_eq!(counters.take().get("FullSweeps"), None, "{order:?}");
    }
    let refused = |_: &_, _| Answer::status(403, "Permission denied");
    let without_consul = environment(&world, refused, forward, &[], |edges| edges).await;
    assert_eq!(swept(&without_consul, &SCHEDULED).await.outcome, SweepOutcome::Incomplete);
    assert_eq!(counters.take().get("FullSweeps"), None);
}

/// The edges at this time.
fn at_time(time: Timestamp) -> impl FnOnce(Edges) -> Edges {
    move |edges| at(Arc::new(Fixed(time)), edges)
}

#[tokio::test]
async fn a_task_that_stopped_a_minute_ago_shows_that_events_are_missed() {
    let world = World::without_deployment("missed-events").await;
    let counters = Counters::start();
    for (seconds, order, missed) in
        [(10, SCHEDULED, None), (60, SCHEDULED, Some(&1)), (60, SweepOrder::default(), None)]
    {
        stopped_task_with_services(&world).await;
        let later = at_time(Timestamp::now() + SignedDuration::from_secs(seconds));
        let environment = environment(&world, forward, forward, &[], later).await;
        assert_eq!(swept(&environment, &order).await.clusters[0].deleted["services"], 2);
        assert_eq!(counters.take().get("EventsMissed"), missed, "{seconds} seconds, {order:?}");
        // What a restored Consul brings back is found once
        swept(&environment, &SCHEDULED).await;
        assert_eq!(counters.take().get("EventsMissed"), None);
    }
}

#[tokio::test]
async fn a_stop_between_two_sweeps_shows_that_its_event_is_missed() {
    let world = World::without_deployment("between-sweeps").await;
    let counters = Counters::start();
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    world.register_instance(&world.service(), &task).await;
    // Given a sweep before the task has stopped
    let first = Timestamp::now();
    swept(&environment(&world, forward, forward, &[], at_time(first)).await, &SCHEDULED).await;
    assert_eq!((world.service_ids().await.len(), counters.take().get("EventsMissed")), (2, None));
    // When the task stops, and the next sweep comes after the default ReconcileRate
    world.stop(&task).await;
    let next = environment(&world, forward, forward, &[], at_time(first + SignedDuration::from_mins(5))).await;
    // Then that sweep removes its instances, and counts it
    assert_eq!(swept(&next, &SCHEDULED).await.clusters[0].deleted["services"], 2);
    assert_eq!(counters.take().get("EventsMissed"), Some(&1));
}

/// With `TokenMode=auth-method`, the role may only read secrets with the controller's tag.
#[tokio::test]
async fn a_secret_out_of_reach_is_reported_and_its_token_left() {
    let world = World::without_deployment("out-of-reach").await;
    stopped_task_with_services(&world).await;
    let idle = world.consul_ecs_controller_token(&world.service()).await;
    let aws = |seen: &test_harness::recorder::RecordedRequest, _| match seen.operation().as_deref() {
        Some("GetSecretValue") => refusal("AccessDeniedException"),
        _ => Answer::Forward,
    };
    for (mode, outcome) in [("auth-method", SweepOutcome::Done), ("auto", SweepOutcome::Incomplete)] {
        let environment = environment(&world, forward, aws, &[("TOKEN_MODE", mode)], |edges| edges).await;
        let report = swept(&environment, &SCHEDULED).await;
        assert_eq!(report.outcome, outcome, "{report:?}");
        assert!(world.is_valid(&idle.token).await);
        let skipped = json!(report.clusters[0].skipped).to_string();
        assert_eq!(
            skipped.contains("with TokenMode=auth-method the role may not read it"),
            mode == "auth-method",
            "{skipped}"
        );
    }
}
