//! Examples: what was read of a service with two tasks, and the cause that is named for the first one.

mod ended;
mod known_messages;
mod log;
mod running;
mod service;
mod shown;

use std::collections::BTreeSet;

use ::report::LogLine;
use jiff::SignedDuration;
use mesh::{
    task::{ContainerEnd, TaskEnd, TaskPhase},
    token::ListedToken,
};
use observe::{History, InspectedCluster};
use serde_json::{Value, json};

use super::*;
use crate::examples::{cluster, described, healthy, id, login_token, minutes_ago, now, tokens};

/// A line of the log, some minutes ago.
fn line(minutes: i64, mut fields: Value) -> LogLine {
    fields["timestamp"] = json!(minutes_ago(minutes).to_string());
    LogLine::parse(&fields.to_string(), now()).expect("a line of the functions")
}

/// What is read beside the clusters when all is as it should be.
fn background() -> Background {
    Background {
        history: History { is_complete: true, ..History::default() },
        stack: "ecs-mesh-controller".to_owned(),
        lacks_stack: false,
        since: now() - SignedDuration::from_hours(24),
        tokens: Some(tokens([1, 1, 2, 2].map(login_token).to_vec())),
        audit: Vec::new(),
        searched: vec!["prod".to_owned()],
        unmanaged: BTreeSet::new(),
    }
}

/// The answer for the first task, after a change.
fn asked(change: impl FnOnce(&mut InspectedCluster, &mut Background)) -> WhyReport {
    let (mut cluster, mut background) = (healthy(), background());
    change(&mut cluster, &mut background);
    let observed = Inspection { clusters: vec![cluster], problems: Vec::new() };
    why_task(&id(1), &observed, &background, now())
}

/// Its cause and its sentence.
fn because(change: impl FnOnce(&mut InspectedCluster, &mut Background)) -> (WhyCause, String) {
    let report = asked(change);
    (report.cause, report.conclusion)
}

/// Asserts its cause, and a part of its sentence.
#[track_caller]
fn assert_because(cause: WhyCause, part: &str, change: impl FnOnce(&mut InspectedCluster, &mut Background)) {
    let (found, sentence) = because(change);
    assert!(found == cause && sentence.contains(part), "{found:?}: {sentence}");
}

impl Background {
    /// The functions have logged this, some minutes ago.
    fn log(&mut self, minutes: i64, fields: Value) {
        self.history.lines.push(line(minutes, fields));
    }
}

/// What the functions log of an action for the first task.
fn of_task(action: &str, outcome: &str) -> Value {
    json!({ "action": action, "outcome": outcome, "task_id": id(1).to_string() })
}

/// How a container has stopped.
fn exited(name: &str, exit_code: Option<i64>, reason: Option<&str>) -> ContainerEnd {
    ContainerEnd { name: name.to_owned(), exit_code, reason: reason.map(str::to_owned) }
}

/// The first task has stopped two minutes ago, and Consul has deregistered it.
fn stop(cluster: &mut InspectedCluster, code: &str, reason: &str, containers: Vec<ContainerEnd>) {
    let task = described(&mut cluster.tasks[0]);
    (task.phase, task.last_status) = (TaskPhase::Stopped, "STOPPED".to_owned());
    task.end = TaskEnd {
        code: Some(code.to_owned()),
        reason: Some(reason.to_owned()),
        containers,
        created_at: Some(minutes_ago(60)),
        // Of a task that never ran, ECS reports none.
        started_at: (code != "TaskFailedToStart").then(|| minutes_ago(59)),
        stopped_at: Some(minutes_ago(2)),
    };
    deregister(cluster);
}

/// Consul has no instance of the first task.
fn deregister(cluster: &mut InspectedCluster) {
    cluster.catalog.as_mut().unwrap().instances.retain(|instance| instance.task != id(1));
}

/// ECS no longer knows the first task.
fn forget(cluster: &mut InspectedCluster) {
    cluster.tasks.remove(0);
    deregister(cluster);
}

/// The line about the end of the first task.
fn end_line(code: &str, containers: &str) -> LogLine {
    line(
        90,
        json!({
            "action": "task_stopped", "outcome": "seen", "cluster_arn": cluster().to_string(), "task_id": id(1).to_string(),
            "service": "web", "stop_code": code, "reason": "Essential container in task exited", "containers": containers,
            "created_at": minutes_ago(100).to_string(), "stopped_at": minutes_ago(91).to_string(),
        }),
    )
}
