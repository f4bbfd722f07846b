//! Settings of App Mesh's Envoy in variables. Source: <https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-config.html>

use super::prelude::*;

pub(super) static APPMESH_ENVOY_SETTING: Rule =
    Rule::of_task(page!("appmesh-envoy-setting", in APP_MESH), Applies::AppMesh, check_setting);

/// Variables that take a few values.
const CLOSED: [(&str, &[&str]); 4] = [
    ("ENVOY_LOG_LEVEL", &["trace", "debug", "info", "warn", "warning", "error", "critical", "off"]),
    ("ENABLE_ENVOY_XRAY_TRACING", &["0", "1", "true", "false", ""]),
    ("ENABLE_ENVOY_STATS_TAGS", &["0", "1", "true", "false", ""]),
    ("ENABLE_ENVOY_DOG_STATSD", &["0", "1", "true", "false", ""]),
];

/// Variables with a port.
const PORTS: [&str; 2] = ["ENVOY_ADMIN_ACCESS_PORT", "XRAY_DAEMON_PORT"];

fn check_setting(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(envoy) = subject.envoy() else { return };
    let value = |name: &str| match envoy.variable(name) {
        Maybe::Known(variable) => Some((variable.value.span(), variable.value.text()?)),
        Maybe::Absent | Maybe::Unknown => None,
    };
    let mut add = |span, name: &str, text: &str, help: String| {
        findings.add(Draft::new(span, format!("{name} of {} is {text:?}", envoy.label()), help).of(envoy));
    };
    for (name, allowed) in CLOSED {
        if let Some((span, text)) = value(name).filter(|(_, text)| !allowed.contains(text)) {
            add(span, name, text, format!("write {}", allowed.join(", ").trim_end_matches(", ")));
        }
    }
    for name in PORTS {
        if let Some((span, text)) = value(name).filter(|(_, text)| text.parse::<u16>().is_err()) {
            add(span, name, text, "write a port from 1 to 65535".to_owned());
        }
    }
}
