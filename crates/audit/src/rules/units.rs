//! Durations: in units that surprise, or without a unit.

use super::prelude::*;
use crate::subject::{EntryPoint, go_duration};
use document::{HOLE, Node};

pub(super) static CONSUL_OUTLIER_INTERVAL: Rule =
    Rule::once_per_task(page!("consul-outlier-interval"), Applies::Consul, check_outlier_interval);

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

pub(super) static CONSUL_DURATION: Rule = Rule::of_task(page!("consul-duration"), Applies::Consul, check_duration);

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

pub(super) static CONSUL_TIMEOUT_MILLISECONDS: Rule =
    Rule::of_task(page!("consul-timeout-milliseconds"), Applies::Consul, check_timeouts);

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
