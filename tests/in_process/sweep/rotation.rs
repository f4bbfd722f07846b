//! Sweeps that repeatedly run out of time: every action is begun eventually.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use controller::{Edges, Entropy, SystemEntropy};
use observe::{Deadline, SweepOrder};
use report::SweepOutcome;
use secrecy::SecretString;
use serde_json::json;
use uuid::Uuid;

use super::{environment, forward, second_look};
use crate::{
    environment::Environment,
    time::{LONG, over_when},
};
use local_stack::{wait::eventually, world::World};
use test_harness::recorder::{Answer, RecordedRequest};

/// Entropy that rotates the work by another half at each draw.
#[derive(Default)]
struct Halves(AtomicUsize);

impl Entropy for Halves {
    fn secret(&self) -> SecretString {
        SystemEntropy.secret()
    }

    fn uuid(&self) -> Uuid {
        SystemEntropy.uuid()
    }

    fn below(&self, limit: usize) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) * limit / 2
    }
}

/// The most concurrent requests to Consul.
const AT_ONCE: usize = 8;

/// The deletions that a sweep begins before its time runs out.
async fn begun(environment: &Environment, order: &SweepOrder) -> BTreeSet<String> {
    environment.consul.forget();
    let deadline = Deadline::after(LONG);
    let is_stuck = || match environment.under_way() {
        ([AT_ONCE, 0], false) => Ok(()),
        seen => Err(format!("(requests to Consul and to AWS that wait, is one unread): {seen:?}")),
    };
    let work = environment.controller.sweep(order, deadline);
    let (report, _) = over_when(work, "as many deletions as may be under way", is_stuck, || deadline.left()).await;
    assert_eq!(report.outcome, SweepOutcome::Incomplete);
    // Abandoned requests have ended before the next sweep begins
    eventually("the deletions to be abandoned", LONG, || async {
        match (environment.consul.under_way(), environment.consul.has_unread()) {
            (0, false) => Ok(()),
            seen => Err(format!("(requests, is one unread): {seen:?}")),
        }
    })
    .await;
    environment.consul.lines().into_iter().filter(|line| line.starts_with("DELETE")).collect()
}

#[tokio::test]
async fn consecutive_sweeps_begin_with_different_work() {
    let world = World::without_deployment("rotation").await;
    let task = |number: usize| format!("{number:032x}");
    let tokens: Vec<_> = (0..32)
        .map(|number| {
            let meta = json!({
                "consul.hashicorp.com/task-id": task(number), "consul.hashicorp.com/cluster": world.cluster(),
            });
            let description = format!("token created via login: {meta}");
            json!({ "AccessorID": format!("00000000-0000-4000-8000-{number:012x}"), "Description": description })
        })
        .collect();
    let list = json!(tokens).to_string();
    // Consul answers no deletion
    let consul = move |seen: &RecordedRequest, _| match seen.line().as_str() {
        "GET /v1/acl/tokens?consistent=" => Answer::ok(list.clone()),
        line if line.starts_with("DELETE") => Answer::Hang,
        _ => Answer::Forward,
    };
    let entropy = Arc::new(Halves::default());
    let environment = environment(&world, consul, forward, &[], |edges| Edges { entropy, ..edges }).await;
    let tasks = (0..32).map(|number| world.cluster().replace(":cluster/", ":task/") + "/" + &task(number));
    let order = second_look(tasks.collect::<Vec<_>>().iter().map(String::as_str));
    let (first, second) = (begun(&environment, &order).await, begun(&environment, &order).await);
    assert!(!first.is_empty() && first.len() < 16, "{first:?}");
    assert!(first.is_disjoint(&second), "{first:?} {second:?}");
}
