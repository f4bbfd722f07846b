//! Durations: in units that surprise, or without a unit.

use super::prelude::*;
use crate::subject::{EntryPoint, go_duration};
use document::{HOLE, Node};

pub(super) static CONSUL_OUTLIER_INTERVAL: Rule = Rule {
    id: "consul-outlier-interval",
    summary: "the interval of outlier detection is in nanoseconds",
    severity: Severity::Warning,
    effect: "Envoy looks for failing instances all the time, or Consul refuses the interval",
    explanation: "\
`networkResilienceConfig.outlierDetection.interval` is in nanoseconds: ten seconds are 10000000000. A value below a \
millisecond was probably meant in seconds or milliseconds. Zero leaves the interval to Consul.",
    sources: &[
        "https://github.com/hashicorp/consul-ecs/blob/main/config/schema.json",
        "https://github.com/hashicorp/terraform-aws-consul-ecs/pull/425",
    ],
    example: Some(
        Base::Dataplane
            .wrong("config.service.networkResilienceConfig.outlierDetection.interval", "10")
            .given(&[("config.service.networkResilienceConfig", r#"{ "enabled": true, "outlierDetection": {} }"#)])
            .repaired_to("10000000000"),
    ),
    ..Rule::once_per_task(Applies::Consul, check_outlier_interval)
};

/// The nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

fn check_outlier_interval(subject: &Subject<'_>) -> Option<Draft> {
    const PATH: &str = "service.networkResilienceConfig.outlierDetection.interval";
    let configuration = &subject.consul.as_ref()?.configuration;
    let interval = configuration.number(PATH, 0).filter(|interval| (1..MILLISECOND).contains(interval))?;
    let message = format!("{PATH} is {interval} nanoseconds");
    let help = format!("write nanoseconds: {interval} seconds are {interval}000000000");
    Some(Draft::new(configuration.place_of(PATH).span, message, help))
}

pub(super) static CONSUL_DURATION: Rule = Rule {
    id: "consul-duration",
    summary: "durations have a unit",
    effect: "the entry point of the app ends with an error, or Consul refuses the registration: the app never starts",
    explanation: "\
consul-ecs and Consul take durations in the notation of Go: a number with one of the units `ms`, `s`, `m` and `h`, such as \
`10s` or `1m30s`. A number alone, a blank before the unit, and other units such as `d` are errors. The rule looks at the flag \
`-shutdown-delay` of `app-entrypoint`, and at `interval`, `timeout` and `ttl` of the checks that consul-ecs has up to 0.6.",
    sources: &["https://pkg.go.dev/time#ParseDuration", pages::CONSUL_ARCHITECTURE],
    example: Some(
        Base::Dataplane
            .wrong(
                "containerDefinitions[web].entryPoint",
                r#"["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "10"]"#,
            )
            .given(&[
                (
                    "containerDefinitions[web].mountPoints",
                    r#"[{ "sourceVolume": "consul_data", "containerPath": "/consul" }]"#,
                ),
                ("containerDefinitions[web].command", r#"["serve"]"#),
            ])
            .repaired_to(r#"["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "10s"]"#),
    ),
    ..Rule::of_task(Applies::Consul, check_duration)
};

/// The fields of a check with a duration.
const OF_CHECKS: [&str; 3] = ["interval", "timeout", "ttl"];

fn check_duration(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let is_wrong = |text: &&str| !text.is_empty() && !text.contains([HOLE, '$']) && go_duration(text).is_none();
    let help = "write a number with a unit: 10s";
    for app in &consul.apps {
        let Some(entry_point) = EntryPoint::of(app) else { continue };
        if let Some(delay) = entry_point.delay().filter(is_wrong) {
            let message = format!("the shutdown delay of {} is {delay}, which is no duration", app.label());
            findings.add(Draft::new(app.entry_point.place.span, message, help).of(app));
        }
    }
    for (index, check) in consul.configuration.list("service.checks").into_iter().flatten().enumerate() {
        for (key, node) in OF_CHECKS.iter().filter_map(|key| Some((key, check.get(key)?))) {
            if let Some(duration) = node.text().filter(is_wrong) {
                let message = format!("service.checks[{index}].{key} is {duration}, which is no duration");
                findings.add(Draft::new(node.place.span, message, help));
            }
        }
    }
}

pub(super) static CONSUL_TIMEOUT_MILLISECONDS: Rule = Rule {
    id: "consul-timeout-milliseconds",
    summary: "timeouts of the proxy are numbers of milliseconds",
    severity: Severity::Warning,
    effect: "the proxy ends requests after milliseconds instead of seconds, or Consul ignores its settings",
    explanation: "\
The timeouts in `proxy.config` and in `config` of an upstream are in milliseconds, as their names say: one minute is \
60000. A request timeout below a tenth of a second, or a connect timeout below ten milliseconds, was probably meant in \
seconds. A text with a unit is no number, and with it Consul ignores every setting of the block. Zero switches a timeout off.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/proxy/envoy"],
    example: Some(
        Base::Dataplane
            .wrong("config.proxy.config", r#"{ "local_request_timeout_ms": 60 }"#)
            .repaired_to(r#"{ "local_request_timeout_ms": 60000 }"#),
    ),
    ..Rule::of_task(Applies::Consul, check_timeouts)
};

/// The settings, and the fewest milliseconds that are no mistake.
const TIMEOUTS: [(&str, u64); 4] = [
    ("local_request_timeout_ms", 100),
    ("local_idle_timeout_ms", 100),
    ("local_connect_timeout_ms", 10),
    ("connect_timeout_ms", 10),
];

fn check_timeouts(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let Some(proxy) = consul.configuration.json().and_then(|json| json.get("proxy")) else { return };
    let of_upstreams = proxy.items_of("upstreams").iter().filter_map(|upstream| upstream.get("config"));
    for config in proxy.get("config").into_iter().chain(of_upstreams) {
        for (name, node, least) in TIMEOUTS.iter().filter_map(|(name, least)| Some((*name, config.get(name)?, *least)))
        {
            let Some(what) = wrong_timeout(node, least) else { continue };
            let message = format!("{name} is {what}");
            findings.add(Draft::new(node.place.span, message, "write milliseconds: one minute is 60000"));
        }
    }
}

/// What is wrong with a timeout in milliseconds.
fn wrong_timeout(node: &Node, least: u64) -> Option<String> {
    match (node.number::<u64>(), node.text()) {
        (Some(number), _) => (1..least).contains(&number).then(|| format!("{number} ms")),
        // Consul reads a number in a text.
        (None, Some(text)) if !text.contains([HOLE, '$']) && text.parse::<u64>().is_err() => {
            Some(format!("{text}, which is no number"))
        }
        _ => None,
    }
}
