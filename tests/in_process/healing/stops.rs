//! A task that stops while it is repaired leaves nothing behind, wherever the sweep is.

use std::sync::atomic::{AtomicUsize, Ordering};

use controller::{Deadline, SweepOrder};
use local_stack::world::World;
use serde_json::json;
use test_harness::{
    ecs_agent::{DATAPLANE, DataplaneTask, Release, deregister, node_checks},
    recorder::{Answer, Recorder},
};

use super::{Held, Request, SETTINGS, counts, handle_event, stop_and_handle, sweep};
use crate::{
    environment::{Environment, aws},
    time::LONG,
};

/// Asserts that Consul holds nothing but a healthy task, also after another sweep.
async fn assert_only(world: &World<'_>, other: &DataplaneTask<'_>) {
    for _ in 0..2 {
        assert_eq!(world.service_ids().await, [other.instance(), other.sidecar()]);
        assert_eq!(node_checks(world).await.len(), other.check_ids().len());
        assert_eq!(other.statuses().await, other.all_checks("passing"));
        assert_eq!(sweep(world).await, (0, 0));
    }
}

/// A forgotten task, and another one that is repaired with it.
async fn forgotten<'a>(world: &'a World<'a>) -> (DataplaneTask<'a>, DataplaneTask<'a>) {
    let (task, _) = DataplaneTask::start(world, Release::V0_10).await;
    let (other, _) = DataplaneTask::start(world, Release::V0_10).await;
    deregister(world, &json!({})).await;
    (task, other)
}

/// What happens to a task while a sweep that repairs it is held.
#[derive(Clone, Copy)]
enum End {
    /// It stops, and its event is handled.
    Stopped,
    /// It stops, and its event comes after the sweep.
    StoppedUnhandled,
    /// ECS tells it to stop. Its containers still run.
    ToldToStop,
    /// The same, and the event of that is handled.
    ToldToStopHandled,
}

impl End {
    async fn happens_to(self, task: &DataplaneTask<'_>) {
        match self {
            Self::Stopped => stop_and_handle(task).await,
            Self::StoppedUnhandled => task.world().stop(&task.arn).await,
            Self::ToldToStop => task.tell_to_stop().await,
            Self::ToldToStopHandled => {
                task.tell_to_stop().await;
                handle_event(task).await;
            }
        }
    }

    async fn is_followed_by(self, task: &DataplaneTask<'_>) {
        match self {
            Self::Stopped | Self::ToldToStop => {}
            Self::StoppedUnhandled => handle_event(task).await,
            Self::ToldToStopHandled => stop_and_handle(task).await,
        }
    }
}

#[tokio::test]
async fn a_task_that_ends_during_its_repair_leaves_nothing() {
    type HeldAt = fn(&DataplaneTask<'_>) -> Request;
    let rows: [(&str, HeldAt, End, usize); 7] = [
        // The sweep has read all tasks and the catalog, and is about to look at the forgotten ones again
        ("stops-early", |_| Request::Describe(2), End::Stopped, 1),
        ("told-early", |_| Request::Describe(2), End::ToldToStop, 1),
        // The event finds nothing to deregister, because the registration comes after it
        ("stops-service", |task| Request::Register(task.instance()), End::Stopped, 1),
        // The event deregisters the service, and the sweep registers the sidecar proxy after it
        ("stops-between", |task| Request::Register(task.sidecar()), End::Stopped, 1),
        ("told-service", |task| Request::Register(task.sidecar()), End::ToldToStopHandled, 1),
        // The sweep sees that it has stopped
        ("stops-after", |_| Request::Describe(3), End::StoppedUnhandled, 1),
        // The sweep does not look again
        ("stops-late", |_| Request::Announce, End::Stopped, 2),
    ];
    for (name, at, end, repaired) in rows {
        // Given a sweep that is held while it repairs two tasks
        let world = World::without_deployment(name).await;
        let (task, other) = forgotten(&world).await;
        let held = Held::at(&world, at(&task)).await;
        // When one of them ends
        let report = held.sweep_while(end.happens_to(&task)).await;
        assert_eq!(counts(&report), (repaired, 0), "{name}");
        let is_written = held.writes().iter().any(|write| write.contains(task.id()));
        assert_eq!(is_written, !name.ends_with("-early"), "{name}: {:#?}", held.writes());
        // Then Consul holds only the other one, also after the event of the end
        assert_only(&world, &other).await;
        end.is_followed_by(&task).await;
        assert_only(&world, &other).await;
    }
}

#[tokio::test]
async fn a_task_that_ecs_does_not_describe_after_its_registration_is_left_to_its_event() {
    let world = World::without_deployment("stops-unread").await;
    let (task, other) = forgotten(&world).await;
    // Given an ECS that refuses to describe tasks after the registration, and a task that stops then
    let described = AtomicUsize::new(0);
    let refusing = aws(move |seen, _| match seen.operation().as_deref() {
        Some("DescribeTasks") if described.fetch_add(1, Ordering::SeqCst) >= 2 => {
            Answer::status(400, json!({ "__type": "AccessDeniedException", "message": "no" }).to_string())
        }
        _ => Answer::Forward,
    })
    .await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let environment = Environment::between(&world, consul, refusing, &SETTINGS, |edges| edges).await;
    let report = environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    assert_eq!(report.outcome.as_str(), "incomplete", "{report:?}");
    // Then nothing of a task that may run is taken back
    assert_eq!(world.service_ids().await.len(), 4);
    // And the event deregisters the one that has stopped
    stop_and_handle(&task).await;
    assert_only(&world, &other).await;
}

#[tokio::test]
async fn a_task_that_stops_while_a_status_is_corrected_leaves_nothing() {
    let world = World::without_deployment("stops-corrected").await;
    let (task, _health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let (other, _its_health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    task.write_status(&task.check_ids()[0], "critical").await;
    // Its event deregisters it, and the correction comes after that
    let held = Held::at(&world, Request::Correct).await;
    let report = held.sweep_while(stop_and_handle(&task)).await;
    assert_eq!(counts(&report), (0, 0));
    assert_only(&world, &other).await;
}

#[tokio::test]
async fn a_graceful_stop_during_a_repair_leaves_nothing() {
    let world = World::without_deployment("stops-gracefully").await;
    let (task, mut health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    let (other, _its_health_sync) = DataplaneTask::start(&world, Release::V0_10).await;
    deregister(&world, &json!({})).await;
    let held = Held::at(&world, Request::Register(task.instance())).await;
    let report = held
        .sweep_while(async {
            // health-sync deregisters what is not there, and ends
            task.tell_to_stop().await;
            health_sync.tell_to_stop().await;
            task.report_stopped(DATAPLANE, 0).await;
            assert_eq!(health_sync.tick().await, (2, 0));
            stop_and_handle(&task).await;
        })
        .await;
    assert_eq!(counts(&report), (1, 0));
    assert_only(&world, &other).await;
}

#[tokio::test]
async fn what_a_sweep_that_is_terminated_has_registered_is_cleared_by_the_next_one() {
    let world = World::without_deployment("terminated").await;
    let (task, other) = forgotten(&world).await;
    // Given a sweep that ends after its registrations, before it looks whether the tasks still run
    let held = Held::at(&world, Request::Describe(3)).await;
    tokio::select! {
        report = held.sweep() => panic!("it did not end: {report:?}"),
        () = held.reached() => {}
    }
    assert_eq!(world.service_ids().await.len(), 4);
    // When the event of a task's end was handled before that
    world.stop(&task.arn).await;
    assert_eq!(sweep(&world).await, (0, 0));
    assert_only(&world, &other).await;
}
