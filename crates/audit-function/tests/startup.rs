//! `audit` reports wrong settings and keeps running, so that each invocation answers with the reason.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::process::{Command, Output};

use serde_json::Value;

const GOOD: [(&str, &str); 3] = [
    ("ECS_CLUSTER_ARNS", "arn:aws:ecs:us-east-1:123456789012:cluster/prod"),
    ("FINDINGS_TOPIC_ARN", "arn:aws:sns:us-east-1:123456789012:findings"),
    ("REPORTS_BUCKET", "mesh-reports"),
];

/// Starts the function with a runtime API that refuses connections, so that a successful start ends as well.
fn start(settings: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_audit"))
        .env_clear()
        .envs(settings.iter().copied())
        .env("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_LAMBDA_FUNCTION_NAME", "audit")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
        .output()
        .expect("the binary runs")
}

/// The reason for which it refuses its settings, if it does.
fn refusal(variable: &str, value: &str) -> Option<String> {
    let settings: Vec<(&str, &str)> = GOOD.into_iter().chain([(variable, value)]).collect();
    let output = start(&settings);
    let text = [output.stdout, output.stderr].concat();
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let mut refusals = lines.filter(|line| line["outcome"] == "refused_to_start");
    refusals.next().map(|line| line["reason"].as_str().expect("a reason").to_owned())
}

#[test]
fn each_wrong_setting_names_its_expectation() {
    for (variable, value, reason) in [
        ("ECS_CLUSTER_ARNS", "prod", "ECS_CLUSTER_ARNS: got \"prod\""),
        ("FINDINGS_TOPIC_ARN", "", "FINDINGS_TOPIC_ARN: got \"\""),
        ("REPORTS_BUCKET", "a bucket", "REPORTS_BUCKET: got \"a bucket\""),
        ("LOG_LEVEL", "loud", "LOG_LEVEL: got \"loud\""),
        ("AUDIT_CONFIGURATION", "[[ignore]]\nrule = \"x\"", "AUDIT_CONFIGURATION:"),
    ] {
        let reported = refusal(variable, value).unwrap_or_else(|| panic!("{variable}={value} was accepted"));
        assert!(reported.starts_with(reason), "{reported}");
    }
}

#[test]
fn valid_settings_are_accepted() {
    assert_eq!(refusal("AUDIT_CONFIGURATION", ""), None);
    // It ends because it gets no event, and not sooner
    let output = start(&GOOD);
    let text = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8_lossy(&text).contains("\"stopped\""), "it did not request an event");
}
