//! A service that registers made-up instances, or logs in, without end.

use std::time::Duration;

use mesh::{settings::Mode, time::Bounds};
use observe::{Deadline, SweepOrder};
use report::SweepOutcome;

use super::Mesh;

/// Far more than one sweep handles of one service.
const FLOOD: u128 = 20_000;

/// The calls whose labels begin so.
fn count(calls: &[String], start: &str) -> usize {
    calls.iter().filter(|call| call.starts_with(start)).count()
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_one_service_waits_and_the_others_do_not() {
    let mesh = Mesh::running(2);
    mesh.change(|world| {
        world.flood(FLOOD);
        world.leave_instances("other", 3);
    });
    // When a sweep finds it
    let report = mesh.sweep_with(&SweepOrder::default(), |scope| scope.bounds = Bounds::DEFAULT).await;
    // Then it is complete, and asks ECS about a share of the tasks
    assert_eq!(report.outcome, SweepOutcome::Done, "{:?} {:?}", report.problems, report.faults);
    let owners: Vec<&str> = report.faults.iter().filter_map(|fault| fault.owner.as_deref()).collect();
    assert!(!owners.is_empty() && owners.iter().all(|owner| *owner == "service flood"), "{:?}", report.faults);
    let described = count(&mesh.calls("Ecs"), "DescribeTasks");
    assert!(described <= 12, "one call for the listed tasks, and ten for each thousand: {described}");
    // And the second look removes the instances that it was told of, and the other service's
    let message = mesh.message();
    mesh.handle(&message, |scope| scope.bounds = Bounds::DEFAULT).await;
    let (left, others) = mesh.0.with(|world| (world.count_instances("flood"), world.count_instances("other")));
    assert_eq!((left as u128, others), (FLOOD - 1_000, 0));
    let deregistrations = count(&mesh.calls("Consul"), "PUT txn");
    assert!(deregistrations <= 17, "of up to 64 instances each: {deregistrations}");
}

#[tokio::test(start_paused = true)]
async fn one_task_with_many_entries_is_removed_in_several_sweeps() {
    // Given logins and instances without end in the name of one task, which ECS describes as stopped
    let mesh = Mesh::running(2);
    mesh.change(|world| world.flood_one_task(2_500));
    let report = mesh.sweep().await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{:?}", report.problems);
    assert!(report.faults.iter().any(|fault| fault.owner.as_deref() == Some("service flood")), "{:?}", report.faults);
    assert_eq!(mesh.0.with(|world| world.count_instances("flood")), 1_500);
    mesh.sweep().await;
    let report = mesh.sweep().await;
    assert_eq!(mesh.0.with(|world| world.count_instances("flood")), 0);
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

#[tokio::test(start_paused = true)]
async fn a_flood_fails_no_clean_up() {
    let mesh = Mesh::running(2);
    mesh.change(|world| world.flood(FLOOD));
    // When a clean-up finds more than it may ask about, and changes nothing
    let controller = mesh.controller(|scope| scope.mode = Mode::Observe);
    let cleaned = mesh.0.serve(Box::pin(controller.clean_up(Deadline::after(Duration::from_secs(100))))).await;
    // Then the flood is a fault of its service, and nothing else is wrong
    let owners: Vec<Option<&str>> = cleaned.faults.iter().map(|fault| fault.owner.as_deref()).collect();
    assert_eq!((cleaned.problems.len(), owners), (0, vec![Some("service flood")]), "{:?}", cleaned.problems);
}
