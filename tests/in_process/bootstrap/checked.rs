//! The check of an installation: it finds what is missing, and writes nothing.

use controller::Controller;
use observe::{Deadline, SweepCause, SweepOrder};
use report::{CheckReport, ErrorLabel};
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use crate::{
    bootstrap::{
        controller,
        translated::{METHOD, TranslatedConsul},
        writes,
    },
    time::{LONG, without_pauses},
};

/// A Consul without objects, whose token has every permission but these.
fn permissions(seen: &RecordedRequest, denied: &[&str]) -> Answer {
    match seen.uri.as_str() {
        "/v1/internal/acl/authorize" => {
            let mut questions = seen.json();
            for question in questions.as_array_mut().unwrap() {
                question["Allow"] = json!(!denied.contains(&question["Resource"].as_str().unwrap()));
            }
            Answer::ok(questions.to_string())
        }
        "/v1/acl/token/self" => {
            let policies = json!([{ "ID": "1", "Name": "ours" }]);
            Answer::ok(json!({ "AccessorID": "1-2", "SecretID": "own", "Policies": policies }).to_string())
        }
        "/v1/acl/policy/name/ours" => Answer::ok(
            json!({ "Name": "ours", "Rules": "acl = \"write\" operator = \"write\" keyring = \"read\"" }).to_string(),
        ),
        _ => Answer::status(404, ""),
    }
}

async fn check(controller: &Controller) -> CheckReport {
    without_pauses(controller.check(Deadline::after(LONG))).await
}

/// A sweep by hand, or a scheduled one.
async fn sweep(controller: &Controller) {
    let order = SweepOrder { cause: SweepCause::Schedule, ..SweepOrder::default() };
    without_pauses(controller.sweep(&order, Deadline::after(LONG))).await;
}

#[tokio::test]
async fn a_lost_auth_method_is_found_and_the_next_sweep_sets_it_up() {
    let translated = TranslatedConsul::start().await;
    let consul = &translated.recorder;
    let controller = translated.controller(&[("BOOTSTRAP", "dataplane")]).await;
    // Given a Consul that is set up
    sweep(&controller).await;
    let complete = check(&controller).await.set_up;
    assert_eq!((complete.missing.as_slice(), complete.failed.as_slice()), (&[][..], &[][..]));
    // When somebody deletes the auth method
    translated.consul.delete(&format!("/v1/acl/auth-method/{METHOD}")).await;
    consul.forget();
    let report = check(&controller).await;
    // Then it is missing, and so are the binding rules that Consul deletes with it
    let (method, rules) = report.set_up.missing.split_first().unwrap();
    assert_eq!((method.as_str(), rules.len()), ("auth method iam-ecs-service-token", 4));
    assert!(rules.iter().all(|rule| rule.starts_with("binding rule of ")), "{rules:?}");
    let lines: Vec<String> = writes(consul).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, ["POST /v1/internal/acl/authorize"]);
    // And the next scheduled sweep sets it up, although the last one was less than an hour ago
    sweep(&controller).await;
    assert!(translated.has_method().await);
    // And one that finds it reads it once, and nothing else of the set-up
    consul.forget();
    sweep(&controller).await;
    let reads = |path: &str| consul.requests().iter().filter(|seen| seen.uri.contains(path)).count();
    assert_eq!((reads(METHOD), reads("acl/binding-rules"), reads("acl/policy")), (1, 0, 0));
}

#[tokio::test]
async fn a_missing_auth_method_is_no_fault_of_an_installation_that_sets_nothing_up() {
    let consul = Recorder::start(|seen, _| permissions(seen, &[])).await;
    let controller = controller(&consul.url, "own", &[("BOOTSTRAP", "none")]).await;
    for _ in 0..2 {
        let order = SweepOrder { cause: SweepCause::Schedule, ..SweepOrder::default() };
        let report = without_pauses(controller.sweep(&order, Deadline::after(LONG))).await;
        assert!(report.problems.iter().all(|problem| problem.label != ErrorLabel::Bootstrap), "{:?}", report.problems);
    }
    let lines = consul.lines();
    assert!(!lines.iter().any(|line| line.contains(METHOD) || line.starts_with("PUT")), "{lines:?}");
}

#[tokio::test]
async fn a_missing_permission_is_named_with_the_token_s_policies_and_without_its_secret() {
    let consul = Recorder::start(|seen, _| permissions(seen, &["operator"])).await;
    let controller = controller(&consul.url, "own", &[("BOOTSTRAP", "full")]).await;
    let report = serde_json::to_value(check(&controller).await).unwrap();
    assert_eq!(report["missingPermissions"], json!(["operator = \"write\""]));
    assert_eq!(report["token"], json!({ "accessorId": "1-2", "policies": ["ours"], "excess": ["keyring = \"read\""] }));
    assert_eq!((&report["mode"], &report["consul"]), (&json!("act"), &Value::Null));
}

#[tokio::test]
async fn operator_is_more_than_needed_without_client_agents() {
    let consul = Recorder::start(|seen, _| permissions(seen, &[])).await;
    let [operator, keyring] = ["operator = \"write\"", "keyring = \"read\""];
    for (extent, excess) in [("dataplane", &[operator, keyring][..]), ("full", &[keyring])] {
        let controller = controller(&consul.url, "own", &[("BOOTSTRAP", extent)]).await;
        assert_eq!(check(&controller).await.token.unwrap().excess, excess, "Bootstrap={extent}");
    }
}

#[tokio::test]
async fn consul_that_cannot_be_asked_is_named_and_nothing_else_is_known() {
    let consul = Recorder::start(|_, _| Answer::status(503, "no leader")).await;
    let controller = controller(&consul.url, "own", &[]).await;
    let report = check(&controller).await;
    assert_eq!(report.consul.unwrap().label, ErrorLabel::ConsulUnavailable);
    assert!(report.problems.is_empty() && report.token.is_none());
}
