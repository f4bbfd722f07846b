//! Tasks on hosts that ECS has lost contact with: what is drained if EC2 says that the host is gone, and what that costs.

use mesh::{
    catalog::{CheckStatus, HealthCheck},
    settings::RepairMode,
};
use observe::SweepOrder;
use report::SweepOutcome;
use serde_json::{Value, json};
use simulation::{containers::Containers, hosts::Host};

use super::Mesh;
use crate::counted::{Counters, counts};

const LOST: Host = Host { is_disconnected: true, is_gone: false, gone_until: None };
const GONE: Host = Host { is_gone: true, ..LOST };
const BACK: Host = Host { is_disconnected: false, is_gone: false, gone_until: None };

impl Mesh {
    fn set_host(&self, task: usize, host: Host) {
        self.change(|world| world.set_host(task, host));
    }

    /// The event of a host that has lost contact.
    fn lost_host(&self, task: usize, host: Host) -> Value {
        self.set_host(task, host);
        self.message()
    }

    /// How many instances of a task are drained because its host is gone.
    fn drains(&self, task: usize) -> usize {
        let id = self.id(task).to_string();
        let checks = self.0.with(|world| world.consul.checks.clone());
        let own = checks.iter().filter(|check| check.service_id.contains(&id) && check.status == CheckStatus::Critical);
        own.filter(|check| HealthCheck::drains_for_gone_host(check)).count()
    }

    fn writes(&self) -> Vec<String> {
        self.calls("Consul").into_iter().filter(|call| !call.starts_with("GET ")).collect()
    }
}

fn kinds(mesh: &Mesh) -> Vec<String> {
    mesh.announced().into_iter().map(|(kind, _)| kind).collect()
}

#[tokio::test(start_paused = true)]
async fn an_event_drains_the_tasks_of_a_host_that_is_gone() {
    let (mesh, counters) = (Mesh::running(3), Counters::start());
    let event = mesh.lost_host(0, GONE);
    mesh.handle(&event, |_| ()).await;
    // Its instance and its sidecar proxy are drained, once
    assert_eq!((mesh.drains(0), mesh.drains(1), mesh.drains(2)), (2, 0, 0));
    assert_eq!(mesh.calls("Ec2"), ["DescribeInstances"]);
    let ecs = mesh.calls("Ecs");
    assert_eq!(
        (ecs.len(), ecs[0].starts_with("ListTasks on "), ecs[1].starts_with("DescribeTasks 1 ")),
        (3, true, true)
    );
    assert!(ecs[2].starts_with("DescribeTaskDefinition"), "{ecs:?}");
    let consul = mesh.calls("Consul");
    assert_eq!(
        (consul.len(), mesh.writes().len()),
        (4, 1),
        "two reads of the task, one of all checks, one write: {consul:?}"
    );
    assert_eq!(kinds(&mesh), ["Task Drained"]);
    let counted = counters.take();
    assert_eq!((counted["TasksDrained"], counted["InstancesDrained"]), (1, 2), "{counted:?}");
    let announced = mesh.steps("ECS Mesh Task Drained: ").concat();
    assert!(announced.contains("EC2 says that the host of the task is gone"), "{announced}");
    // And again changes nothing
    mesh.handle(&event, |_| ()).await;
    assert_eq!((mesh.drains(0), mesh.writes().len(), kinds(&mesh).len()), (2, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_runs_costs_one_call_and_nothing_is_written() {
    let mesh = Mesh::running(3);
    let event = mesh.lost_host(0, LOST);
    mesh.handle(&event, |_| ()).await;
    assert_eq!((mesh.calls("Ec2").len(), mesh.calls("Ecs"), mesh.calls("Consul")), (1, vec![], vec![]));
    assert_eq!(mesh.drains(0), 0);
    // Nor is EC2 asked if nothing is repaired
    mesh.set_host(0, GONE);
    for repair in [RepairMode::Report, RepairMode::Off] {
        mesh.handle(&event, |scope| scope.repair = repair).await;
        assert_eq!((mesh.calls("Ec2"), mesh.drains(0)), (vec![], 0));
    }
    // Nor about a host of another deployment's cluster
    let mut foreign = event;
    foreign["detail"]["clusterArn"] = json!(format!("{}-of-others", foreign["detail"]["clusterArn"].as_str().unwrap()));
    mesh.handle(&foreign, |_| ()).await;
    foreign["detail"]["ec2InstanceId"] = json!(7);
    mesh.handle(&foreign, |_| ()).await;
    assert_eq!((mesh.calls("Ec2"), mesh.calls("Ecs")), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_sweep_drains_what_no_event_told_and_ends_the_drain_of_a_host_that_is_back() {
    // Given a host that EC2 has ended only after it had lost contact
    let mesh = Mesh::running(3);
    mesh.set_host(0, LOST);
    let report = mesh.sweep().await;
    assert_eq!((report.outcome, report.clusters[0].drained), (SweepOutcome::Done, 0), "{report:?}");
    assert!(mesh.calls("Ecs").contains(&"DescribeContainerInstances".to_owned()));
    mesh.set_host(0, GONE);
    // When a sweep finds it
    let report = mesh.sweep().await;
    // Then the task is drained, and stays so
    assert_eq!((report.outcome, report.clusters[0].drained, mesh.drains(0)), (SweepOutcome::Done, 2, 2), "{report:?}");
    assert_eq!((mesh.calls("Ec2").len(), kinds(&mesh)), (1, vec!["Task Drained".to_owned()]));
    assert_eq!((mesh.sweep().await.clusters[0].drained, mesh.drains(0)), (0, 2));
    // And when its hibernated host is back, the drain ends
    mesh.set_host(0, BACK);
    assert_eq!(mesh.dry_run().await.clusters[0].planned.len(), 2);
    let report = mesh.sweep().await;
    assert_eq!((report.outcome, mesh.drains(0)), (SweepOutcome::Done, 0), "{report:?}");
    assert!(mesh.are_all(0, CheckStatus::Passing), "{:?}", mesh.statuses(0));
    // And a sweep of tasks that ECS has contact with asks about no host
    mesh.sweep().await;
    assert_eq!(
        (mesh.calls("Ec2"), mesh.calls("Ecs").contains(&"DescribeContainerInstances".to_owned())),
        (vec![], false)
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_told_to_stop_stays_drained_when_its_host_is_back() {
    let mesh = Mesh::running(3);
    let event = mesh.lost_host(0, GONE);
    mesh.handle(&event, |_| ()).await;
    // Given a task on a gone host that is then told to stop
    let mut told = mesh.event(0);
    told["detail"]["desiredStatus"] = json!("STOPPED");
    mesh.handle(&told, |_| ()).await;
    // When the host is back before the task has stopped, and ECS still shows the task as running
    mesh.set_host(0, BACK);
    mesh.sweep().await;
    // Then no sweep ends that drain
    let drained = mesh.statuses(0).into_iter().filter(|(id, _)| id.starts_with("_service_maintenance"));
    assert_eq!(drained.filter(|(_, status)| *status == CheckStatus::Critical).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_guard_keeps_the_last_passing_instance_and_a_large_share_in_rotation() {
    // The last instances of a small service
    let mesh = Mesh::running(2);
    (0..2).for_each(|task| mesh.set_host(task, GONE));
    let event = mesh.message();
    mesh.handle(&event, |_| ()).await;
    let report = mesh.sweep().await;
    assert_eq!((mesh.drains(0) + mesh.drains(1), report.outcome), (2, SweepOutcome::Done), "{report:?}");
    let blocked: Vec<&str> = report.clusters[0].blocked.iter().map(|it| it.reason.as_str()).collect();
    assert!(
        blocked.len() == 2 && blocked.iter().all(|why| why.contains("no other instance of service-0")),
        "{blocked:?}"
    );
    // Many of a large one, which wait for force
    let (mesh, counters) = (Mesh::running(12), Counters::start());
    (0..4).for_each(|task| mesh.set_host(task, GONE));
    let report = mesh.sweep().await;
    assert_eq!((report.outcome, report.clusters[0].drained), (SweepOutcome::GuardTripped, 0), "{report:?}");
    let why = report.clusters[0].guard.clone().unwrap();
    assert!(why.contains("4 of 12 passing instances of service-0"), "{why}");
    assert_eq!(counters.take(), counts(&[("FullSweeps", 1), ("GuardTripped", 1)]));
    let forced = SweepOrder { force: true, ..SweepOrder::default() };
    let report = mesh.sweep_with(&forced, |_| ()).await;
    assert_eq!((report.outcome, report.clusters[0].drained), (SweepOutcome::Done, 8), "{report:?}");
}

/// consul-ecs 0.8 to 0.10: health-sync exits when it starts, unless its sidecar proxy has exactly one check.
#[tokio::test(start_paused = true)]
async fn a_health_sync_that_is_restarted_in_a_drained_task_exits_and_sweeps_write_the_health() {
    // Given a task that is drained because its proxy has stopped
    let mesh = Mesh::running(3);
    mesh.set_containers(0, Containers { has_lost_proxy: true, ..Containers::default() });
    let event = mesh.event(0);
    mesh.handle(&event, |_| ()).await;
    // When ECS restarts its health-sync
    mesh.change(|world| world.restart_health_sync(0));
    let event = mesh.message();
    // Then it exits, and stays so
    let stopped = event["detail"]["containers"].as_array().unwrap();
    assert!(stopped.iter().any(|it| it["name"] == "consul-ecs-health-sync"), "{event}");
    mesh.handle(&event, |_| ()).await;
    // And a sweep writes its health, and leaves the drain
    mesh.set_containers(
        0,
        Containers { has_lost_proxy: true, has_lost_sync: true, is_unhealthy: true, is_hidden: false },
    );
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].corrected, 3, "{report:?}");
    assert!(mesh.are_all(0, CheckStatus::Critical) && mesh.statuses(0).len() == 5, "{:?}", mesh.statuses(0));
    // And the one of a healthy task starts
    mesh.change(|world| world.restart_health_sync(1));
    assert_eq!(mesh.0.with(|world| world.sqs.messages.len()), 0);
}

#[tokio::test(start_paused = true)]
async fn a_health_sync_starts_again_once_the_drain_of_its_host_has_ended() {
    let mesh = Mesh::running(3);
    let event = mesh.lost_host(0, GONE);
    mesh.handle(&event, |_| ()).await;
    mesh.set_host(0, BACK);
    mesh.sweep().await;
    mesh.change(|world| world.restart_health_sync(0));
    assert_eq!(mesh.0.with(|world| world.sqs.messages.len()), 0, "no event says that it has stopped");
}
