//! Half-dead tasks in mode `observe`: what would be done is decided, reported and announced, and nothing is written.

use mesh::settings::Mode;
use std::time::Duration;

use controller::{Deadline, SweepOrder};
use serde_json::{Value, json};

use super::mesh_of_tasks::{FakeTask, Mesh};
use crate::counted::{Counters, counts};

const OBSERVE: [(&str, &str); 1] = [("MODE", "observe")];
const ACT: [(&str, &str); 1] = [("MODE", "act")];

/// Five registered tasks. The first has lost its proxy, the second its health-sync while its app is unhealthy, the third a
/// registration.
async fn half_dead() -> Mesh {
    let mesh = Mesh::lost((1..=5).map(FakeTask::new).collect()).await;
    mesh.sweep().await;
    mesh.change(0, |task| task.stopped = ["consul-dataplane"].into());
    mesh.change(1, |task| {
        task.stopped = ["consul-ecs-health-sync"].into();
        task.unhealthy = ["app"].into();
    });
    let third = mesh.change(2, |_| {});
    mesh.forget(&format!("web-{}", third.id()));
    mesh.consul.forget();
    mesh.aws.forget();
    mesh
}

/// The kinds of the published events, and their modes.
fn announced(mesh: &Mesh) -> Vec<(String, String)> {
    let entries = mesh.asked("PutEvents").into_iter().flat_map(|put| put["Entries"].as_array().unwrap().clone());
    let mut announced: Vec<_> = entries
        .map(|entry| {
            let detail: Value = serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
            (entry["DetailType"].as_str().unwrap().to_owned(), detail["mode"].as_str().unwrap().to_owned())
        })
        .collect();
    announced.sort();
    announced
}

fn assert_nothing_written(mesh: &Mesh) {
    let writes: Vec<String> = mesh.consul.lines().into_iter().filter(|line| !line.starts_with("GET ")).collect();
    assert_eq!(writes, [""; 0]);
    assert_eq!(mesh.asked("SendMessageBatch"), [json!(null); 0], "nothing is waited for that was not written");
}

const ALL: [&str; 5] = [
    "ECS Mesh Health Corrected",
    "ECS Mesh Health Corrected",
    "ECS Mesh Task Broken",
    "ECS Mesh Task Drained",
    "ECS Mesh Task Repaired",
];

#[tokio::test]
async fn sweeps_say_what_they_would_do_and_do_nothing() {
    let mesh = half_dead().await;
    let counters = Counters::start();
    // When sweeps observe
    let mesh = mesh.with_settings(&OBSERVE).await;
    for _ in 0..2 {
        let report = mesh.sweep().await;
        // Then the report says what they would do, every time
        assert_eq!((report.mode, report.outcome.as_str()), (Mode::Observe, "observed"), "{report:?}");
        let cluster = &report.clusters[0];
        assert_eq!((cluster.drained, cluster.repaired), (2, 1), "{cluster:?}");
        assert_eq!(announced(&mesh), ALL.map(|kind| (kind.to_owned(), "observe".to_owned())));
        assert_nothing_written(&mesh);
        assert_eq!(counters.take(), counts(&[("FullSweeps", 1)]), "nothing was done");
    }
    // And with the mode act, which needs nothing else, a sweep does that
    let mesh = mesh.with_settings(&ACT).await;
    let report = mesh.sweep().await;
    assert_eq!((report.mode, report.outcome.as_str()), (Mode::Act, "done"), "{report:?}");
    let cluster = &report.clusters[0];
    assert_eq!((cluster.drained, cluster.repaired), (2, 1), "{cluster:?}");
    assert_eq!(announced(&mesh), ALL.map(|kind| (kind.to_owned(), "act".to_owned())));
    let kinds = ["Broken", "Corrected", "Drained", "Repaired"].map(|kind| format!("Tasks{kind}"));
    let counted = counters.take();
    assert_eq!(kinds.map(|kind| counted[&kind]), [1, 2, 1, 1], "{counted:?}");
    assert_eq!((counted["InstancesDrained"], counted["Drift"]), (2, 8), "{counted:?}");
    assert_eq!(mesh.registered().len(), 1);
    // And back
    mesh.forget(&format!("web-{}", mesh.change(3, |_| {}).id()));
    let mesh = mesh.with_settings(&OBSERVE).await;
    assert_eq!(mesh.sweep().await.clusters[0].repaired, 1);
    assert_nothing_written(&mesh);
}

#[tokio::test]
async fn events_say_what_they_would_do_and_do_nothing() {
    let mesh = half_dead().await.with_settings(&OBSERVE).await;
    for index in [0, 1] {
        mesh.handle(&mesh.change(index, |_| {}).event()).await;
    }
    assert_eq!(announced(&mesh), [("ECS Mesh Task Drained".to_owned(), "observe".to_owned())]);
    assert_nothing_written(&mesh);
}

#[tokio::test]
async fn what_was_not_registered_is_not_looked_at_again() {
    let mesh = Mesh::lost(vec![FakeTask::new(1)]).await;
    // When a sweep observes, which has no time for a second look
    let settings = [OBSERVE.as_slice(), &[("TIME_BOUNDS", "health-lag=120")]].concat();
    let mesh = mesh.with_settings(&settings).await;
    let report = mesh.controller.sweep(&SweepOrder::default(), Deadline::after(Duration::from_secs(100))).await;
    // Then it is complete
    assert_eq!((report.outcome.as_str(), report.clusters[0].repaired), ("observed", 1), "{report:?}");
    assert_nothing_written(&mesh);
}
