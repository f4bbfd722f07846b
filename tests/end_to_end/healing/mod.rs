//! Sweeps repair running tasks that Consul has forgotten or remembers wrongly, on the deployed stack with a real Consul. The
//! containers' agent, `mesh-init` and `health-sync` are stand-ins. The edges of a repair are tested in `tests/in_process/repair`
//! and `tests/in_process/healing`.

mod forgotten;
mod left_alone;
pub(crate) mod snapshot;

use std::collections::BTreeSet;

use local_stack::{
    deploy::Deployed,
    wait::{SOON, eventually},
    world::{World, task_id},
};
use serde_json::{Value, json};
use test_harness::ecs_agent::{DataplaneTask, Release, writes};
use tokio::sync::OnceCell;

use crate::fixture::shared;

/// The clusters of the deployment: one for each test.
const CLUSTERS: [&str; 5] = ["node-gone", "kept-marks", "opted-out", "proxy-event", "iam-role"];

/// One of the clusters of the deployment `healing`.
async fn world(name: &'static str) -> World<'static> {
    static DEPLOYED: OnceCell<Deployed> = OnceCell::const_new();
    shared(&DEPLOYED, "healing", &CLUSTERS, name, &[("Bootstrap", "none")]).await
}

/// Damages what Consul holds, and sweeps once. A sweep that a busy machine has left incomplete may have repaired a part: further
/// sweeps do the rest, and then all of it is done again.
async fn swept_after(world: &World<'_>, damage: impl AsyncFn()) -> Value {
    let order = json!({ "clusters": [world.cluster()] });
    eventually("a sweep that is complete at once", SOON, || async {
        Box::pin(damage()).await;
        let answer = {
            let _ecs = world.aws.lock_ecs().await;
            world.aws.invoke(&world.deployed.reconcile, &order).await
        };
        match answer {
            Ok(summary) => Ok(summary["clusters"][0].clone()),
            Err(error) => {
                world.swept().await;
                Err(error)
            }
        }
    })
    .await
}

/// Sweeps, and asserts that there was nothing to repair.
async fn assert_settled(world: &World<'_>) {
    let before = writes(world).await;
    let swept = world.swept().await;
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(0), &json!(0)), "{swept}");
    assert_eq!(writes(world).await, before);
}

/// The log lines of the sweeps about a task, with this action, once there is one.
async fn log_lines(task: &DataplaneTask<'_>, action: &str) -> Vec<Value> {
    eventually(&format!("a line of {action}"), SOON, || async {
        let lines = task.world().aws.logs(&task.world().deployed.reconcile_log_group).await;
        let parsed = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found: Vec<Value> =
            parsed.filter(|line| line["action"] == action && line["task_id"] == task.id()).collect();
        if found.is_empty() { Err("there is none") } else { Ok(found) }
    })
    .await
}

/// Why a sweep has left a task alone.
fn why_skipped<'a>(swept: &'a Value, task: &DataplaneTask<'_>) -> Option<&'a str> {
    let what = format!("task {}", task_id(&task.arn));
    let mut skipped = swept["skipped"].as_array().into_iter().flatten();
    skipped.find(|entry| entry["what"] == what.as_str())?["why"].as_str()
}

/// A healthy task of each release.
async fn one_of_each_release<'a>(world: &'a World<'a>) -> Vec<DataplaneTask<'a>> {
    let mut tasks = Vec::new();
    for release in Release::ALL {
        tasks.push(DataplaneTask::start(world, release).await);
    }
    tasks
}

/// The IDs of the services of some tasks, sorted.
fn services_of<'a>(tasks: impl IntoIterator<Item = &'a DataplaneTask<'a>>) -> Vec<String> {
    let ids = tasks.into_iter().flat_map(|task| [task.instance(), task.sidecar()]);
    ids.collect::<BTreeSet<String>>().into_iter().collect()
}
