//! The functions' binaries refuse to start with wrong settings: one line that names the variable, and no secret value.

mod reconcile;

use std::process::{Command, Output};

use local_stack::functions::binary;

const GOOD: [(&str, &str); 4] = [
    ("CONSUL_HTTP_ADDR", "http://127.0.0.1:1"),
    ("CONSUL_HTTP_TOKEN", "canary-token"),
    ("ECS_CLUSTER_ARNS", "arn:aws:ecs:us-east-1:123456789012:cluster/prod"),
    ("QUEUE_URL", "http://127.0.0.1:1/queue"),
];

fn start_with(changes: &[(&str, &str)]) -> Output {
    start(&binary("TaskEventsFunction"), changes)
}

fn start(binary: &str, changes: &[(&str, &str)]) -> Output {
    Command::new(binary)
        .env_clear()
        .envs(GOOD)
        .envs(changes.iter().copied())
        // The runtime API refuses connections, so that a successful start ends as well.
        .env("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_LAMBDA_FUNCTION_NAME", "task-events")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .output()
        .expect("the binary runs")
}

#[test]
fn each_wrong_setting_is_named() {
    for (variable, value) in [
        ("CONSUL_HTTP_ADDR", "consul:8500"),
        ("ECS_CLUSTER_ARNS", "prod"),
        ("QUEUE_URL", ""),
        ("TOKEN_MODE", "magic"),
        ("REVOCATION_GRACE_SECONDS", "3001"),
        ("TIME_BOUNDS", "shown=60"),
        ("SECRET_NAME_PREFIX", "a b"),
        ("CONSUL_PARTITION", "a/b"),
        ("LOG_LEVEL", "loud"),
        ("CONSUL_TLS_SERVER_NAME", "server dc1"),
        ("CONSUL_CACERT_SECRET_ARN", "a secret"),
        ("CLIENT_TOKEN_SECRET_NAME", "a b"),
        ("SECRET_KMS_KEY_ID", "my key"),
        ("CONSUL_HTTP_TOKEN_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:123456789012:secret:both"),
    ] {
        let output = start_with(&[(variable, value)]);
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success(), "{variable}={value} was accepted");
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).expect("the line is JSON");
        assert_eq!(line["outcome"], "refused_to_start", "{text}");
        let named = if variable == "CONSUL_HTTP_TOKEN_SECRET_ARN" { "CONSUL_HTTP_TOKEN" } else { variable };
        assert!(line["reason"].as_str().unwrap().starts_with(&format!("{named}: got ")), "{text}");
        assert!(!text.contains("canary-token"), "{text}");
    }
}

#[test]
fn right_settings_are_accepted() {
    let output = start_with(&[]);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // It ends without an event, and not because of its settings
    assert!(!text.contains(": got "), "{text}");
    assert!(!text.contains("canary-token"), "{text}");
}
