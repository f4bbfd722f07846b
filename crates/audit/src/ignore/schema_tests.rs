//! The schema accepts what the reader accepts.

use std::path::Path;

use serde_json::Value;

use super::{config::Config, schema::config_schema};
use audit_read::source::SourceFile;

const FAIL_ON: [&str; 2] = ["error", "never"];

/// Whether the reader, and the schema, accept a text.
fn accepted(text: &str) -> (bool, bool) {
    let read = Config::read(&SourceFile::new("ecs-mesh.toml", text), Path::new("/repo"), &FAIL_ON);
    let document: Value = toml::from_str(text).unwrap();
    (read.is_ok(), jsonschema::is_valid(&config_schema(&FAIL_ON), &document))
}

#[test]
fn what_is_read_is_valid() {
    for text in [
        "",
        "fail-on = 'never'",
        "[severity]\nconsul = 'off'\nconsul-client = 'info'\nconsul-network-mode = 'error'",
        "[[ignore]]\nrule = 'consul-network-mode'\nreason = 'a lab'",
        "[[ignore]]\nrule = 'consul-network-mode'\nreason = 'a lab'\npath = 'lab/**'\nfamily = 'lab-*'",
    ] {
        assert_eq!(accepted(text), (true, true), "{text}");
    }
}

#[test]
fn what_is_refused_is_not_valid() {
    for text in [
        "fail_on = 'never'",
        "fail-on = 'sometimes'",
        "fail-on = 1",
        "severity = 'off'",
        "[severity]\nconsul-netwrk-mode = 'info'",
        "[severity]\nconsul = 'loud'",
        "ignore = 'consul'",
        "[[ignore]]\nrule = 'consul-network-mode'",
        "[[ignore]]\nrule = 'consul'\nreason = 'a group is no rule'",
        "[[ignore]]\nrule = 'consul-network-mode'\nreason = ' '",
        "[[ignore]]\nrule = 'consul-network-mode'\nreason = 'a lab'\nfile = 'x'",
        "[[ignore]]\nrule = 'consul-network-mode'\nreason = 'a lab'\npath = 1",
    ] {
        assert_eq!(accepted(text), (false, false), "{text}");
    }
}
