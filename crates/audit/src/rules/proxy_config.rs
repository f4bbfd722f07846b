//! The settings of Envoy in `config` of the proxy and of its upstreams. Consul does not check them when a task registers.
//! Source: <https://developer.hashicorp.com/consul/docs/reference/proxy/envoy>

use super::prelude::*;
use crate::spelling::misspelt;
use document::{Entry, HOLE, Node};

pub(super) static CONSUL_PROXY_CONFIG: Rule =
    Rule::of_task(page!("consul-proxy-config"), Applies::Consul, check_proxy_config);

/// The settings that Consul and Consul Dataplane read.
const SETTINGS: [&str; 40] = [
    "balance_inbound_connections",
    "balance_outbound_connections",
    "bind_address",
    "bind_port",
    "connect_timeout_ms",
    "envoy_bootstrap_json_tpl",
    "envoy_cluster_json",
    "envoy_dns_discovery_type",
    "envoy_dogstatsd_url",
    "envoy_extra_static_clusters_json",
    "envoy_extra_static_listeners_json",
    "envoy_extra_stats_sinks_json",
    "envoy_gateway_bind_addresses",
    "envoy_gateway_bind_tagged_addresses",
    "envoy_gateway_no_default_bind",
    "envoy_gateway_remote_tcp_keepalive_interval",
    "envoy_gateway_remote_tcp_keepalive_probes",
    "envoy_gateway_remote_tcp_keepalive_time",
    "envoy_listener_json",
    "envoy_listener_tracing_json",
    "envoy_local_cluster_json",
    "envoy_prometheus_bind_addr",
    "envoy_public_listener_json",
    "envoy_ready_bind_address",
    "envoy_ready_bind_port",
    "envoy_static_clusters_json",
    "envoy_static_listeners_json",
    "envoy_stats_bind_addr",
    "envoy_stats_config_json",
    "envoy_stats_flush_interval",
    "envoy_stats_sinks_json",
    "envoy_stats_tags",
    "envoy_statsd_url",
    "envoy_tracing_json",
    "limits",
    "local_connect_timeout_ms",
    "local_idle_timeout_ms",
    "local_request_timeout_ms",
    "max_inbound_connections",
    "protocol",
];

const PROTOCOLS: [&str; 4] = ["tcp", "http", "http2", "grpc"];

fn check_proxy_config(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(json) = subject.consul.as_ref().and_then(|consul| consul.configuration.json()) else { return };
    let gateway = json.get("gateway");
    for proxy in [json.get("proxy"), gateway.and_then(|gateway| gateway.get("proxy"))].into_iter().flatten() {
        let configs = [proxy].into_iter().chain(proxy.items_of("upstreams")).filter_map(|owner| owner.get("config"));
        findings.extend(configs.flat_map(Node::entries).filter_map(wrong_setting));
    }
}

fn wrong_setting(entry: &Entry) -> Option<Draft> {
    let key = entry.key.as_str();
    if key.contains(HOLE) || matches!(entry.node.value, document::Value::Null) {
        return None;
    }
    if !SETTINGS.contains(&key) {
        let without_unit = || SETTINGS.iter().copied().find(|name| name.strip_suffix("_ms") == Some(key));
        let meant = without_unit().or_else(|| misspelt(key, SETTINGS))?;
        let message = format!("Consul ignores {key} in config of the proxy");
        return Some(Draft::new(entry.key_span, message, format!("did you mean {meant}?")));
    }
    let text = entry.node.text().filter(|text| !text.contains('$'))?;
    let draft = |message: String, help: &str| Some(Draft::new(entry.node.place.span, message, help));
    match key {
        "protocol" if !text.is_empty() && !PROTOCOLS.iter().any(|known| known.eq_ignore_ascii_case(text)) => {
            draft("Consul takes this protocol for tcp".to_owned(), "write tcp, http, http2 or grpc")
        }
        "envoy_prometheus_bind_addr" | "envoy_stats_bind_addr" if !text.is_empty() && !has_port(text) => {
            let draft = draft(format!("{key} has no port"), "write an address with a port: 0.0.0.0:9102");
            draft.map(|draft| draft.severity(Severity::Error))
        }
        "balance_inbound_connections" if !["", "exact_balance"].contains(&text) => {
            draft(format!("Consul does not know this value of {key}"), "write exact_balance, or remove it")
        }
        "max_inbound_connections" if text.parse::<u64>().is_err() => {
            draft(format!("{key} is no number"), "write a number")
        }
        _ => None,
    }
}

fn has_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}
