//! The bootstrap by later sweeps: retries of what failed, and nodes of new clusters.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use controller::Controller;
use observe::{Deadline, SweepCause, SweepOrder};
use report::{ErrorLabel, SweepReport};

use crate::{
    bootstrap::{CLUSTER, bootstrap, controller, controller_beside, ecs, errors, translated::TranslatedConsul},
    environment::refusal,
    time::{LONG, without_pauses},
};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

const OTHER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/other";

async fn sweep(controller: &Controller) -> SweepReport {
    let order = SweepOrder { cause: SweepCause::Schedule, ..SweepOrder::default() };
    without_pauses(controller.sweep(&order, Deadline::after(LONG))).await
}

#[tokio::test]
async fn the_next_sweep_retries_what_failed() {
    let upstream = TranslatedConsul::start().await;
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = is_broken.clone();
    let script = move |seen: &RecordedRequest, _| match seen.line().as_str() {
        "PUT /v1/acl/auth-method" if broken.load(Ordering::SeqCst) => Answer::status(403, "Permission denied"),
        _ => Answer::Forward,
    };
    let consul = upstream.behind(script).await;
    let controller = controller(&consul.url, &upstream.token, &[("BOOTSTRAP", "dataplane")]).await;
    let report = sweep(&controller).await;
    assert!(report.problems.iter().any(|problem| problem.label == ErrorLabel::Bootstrap), "{report:?}");
    // When the cause is fixed, the next sweep retries at once, not after an hour
    is_broken.store(false, Ordering::SeqCst);
    sweep(&controller).await;
    let writes = |consul: &Recorder| consul.lines().iter().filter(|line| line.contains("PUT /v1/acl/auth")).count();
    assert!(writes(&consul) >= 2);
    // And it writes nothing again: it only looks whether the auth method is there
    consul.forget();
    sweep(&controller).await;
    assert!(!consul.lines().iter().any(|line| line.starts_with("PUT")), "{:?}", consul.lines());
}

#[tokio::test]
async fn only_existing_clusters_get_a_node() {
    let status = Arc::new(Mutex::new(""));
    let of_other = status.clone();
    let ecs = ecs(move |arn| if arn == OTHER { *of_other.lock().unwrap() } else { "ACTIVE" }).await;
    let consul = TranslatedConsul::start().await;
    let both = [CLUSTER, OTHER].join(",");
    let changes = [("BOOTSTRAP", "dataplane"), ("ECS_CLUSTER_ARNS", both.as_str())];
    let controller = controller_beside(&ecs.url, &consul.recorder.url, &consul.token, &changes).await;
    // Given a cluster that ECS does not know, or that is deleted
    for gone in ["", "INACTIVE"] {
        *status.lock().unwrap() = gone;
        let report = bootstrap(&controller).await;
        assert_eq!(errors(&report), [""; 0]);
        assert_eq!(consul.nodes().await, [CLUSTER], "{gone}");
        sweep(&controller).await;
        assert_eq!(consul.nodes().await, [CLUSTER], "{gone}");
    }
    // When it is created, the next sweep creates its node
    *status.lock().unwrap() = "ACTIVE";
    sweep(&controller).await;
    assert_eq!(consul.nodes().await, [OTHER, CLUSTER]);
}

#[tokio::test]
async fn unreadable_clusters_get_no_node() {
    let aws = Recorder::start(|_, _| refusal("AccessDeniedException")).await;
    let consul = TranslatedConsul::start().await;
    let controller =
        controller_beside(&aws.url, &consul.recorder.url, &consul.token, &[("BOOTSTRAP", "dataplane")]).await;
    let report = bootstrap(&controller).await;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    assert_eq!(report.failures[0].object, "the clusters' nodes");
    assert_eq!(consul.nodes().await, [""; 0]);
    assert!(consul.has_method().await);
    // A sweep reports it once
    let swept = sweep(&controller).await;
    let about_ecs = swept.problems.iter().filter(|problem| problem.reason.contains("AccessDenied")).count();
    assert_eq!(about_ecs, 1, "{swept:?}");
}
