//! The environment variables of all functions.

use std::collections::HashMap;

use audit_function::AuditSettings;
use controller::settings::Settings;

/// Valid settings, which lines of `NAME=value` in the input replace.
const GOOD: [(&str, &str); 4] = [
    ("CONSUL_HTTP_ADDR", "http://127.0.0.1:8500"),
    ("ECS_CLUSTER_ARNS", "arn:aws:ecs:us-east-1:123456789012:cluster/prod"),
    ("QUEUE_URL", "http://127.0.0.1:1/queue"),
    ("REPORTS_BUCKET", "reports"),
];
const CANARY: &str = "canary-0b1d9c62-75ac";

/// Any settings are accepted, or refused in one line that does not show the token.
pub fn run(text: &str) {
    let mut variables: HashMap<&str, &str> = GOOD.into();
    variables.insert("CONSUL_HTTP_TOKEN", CANARY);
    variables.extend(text.lines().filter_map(|line| line.split_once('=')));
    let read = |name: &str| variables.get(name).map(|value| (*value).to_owned());
    let token = variables.get("CONSUL_HTTP_TOKEN").copied().unwrap_or_default();
    match Settings::read(read) {
        Ok(settings) => {
            assert!(!settings.scope.clusters.patterns().is_empty());
            // Another setting may contain a part of the input's token, but none contains the canary.
            assert!(token != CANARY || text.contains(CANARY) || !format!("{settings:?}").contains(CANARY));
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert!(text.contains(CANARY) || !line.contains(CANARY), "{line}");
            assert!(error.field() != "CONSUL_HTTP_TOKEN" || line.contains("(not shown)"), "{line}");
        }
    }
    if let Err(error) = AuditSettings::read(read) {
        assert!(!error.to_string().chars().any(char::is_control));
    }
}
