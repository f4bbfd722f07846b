//! The configuration that the script of a client agent writes.

use super::{client_agent::agent, prelude::*};
use crate::{
    spelling::nearest,
    subject::{AgentScript, Division, Document, Setting, go_duration},
};

pub(super) static CONSUL_CLIENT_CONFIGURATION: Rule =
    Rule::of_task(page!("consul-client-configuration"), Applies::ConsulClient, check_configuration);

/// What is wrong, and how to correct it.
type Defect = (String, String);

fn check_configuration(subject: &Subject<'_>, findings: &mut Findings) {
    let Some((client, script)) = agent(subject) else { return };
    let Some(text) = script.script().filter(|_| script.is_script()) else { return };
    let mut add = |(wrong, help): Defect| {
        findings.add(Draft::new(text.span(), format!("the agent of {} {wrong}", client.label()), help).of(client));
    };
    let division = script.division();
    if division.missing_end.is_some() || division.has_open_quote {
        return;
    }
    let configurations = script.configurations(&division);
    written(&script, &division).into_iter().for_each(&mut add);
    for (path, _, _) in configurations.iter().filter(|(_, text, is_quoted)| *is_quoted && text.contains('$')) {
        let wrong =
            format!("reads {path}, in which the shell replaces no variable: the end of the here-document is in quotes");
        add((wrong, "write the end without quotes: << EOF".to_owned()));
    }
    match AgentScript::settings(&configurations) {
        Err((path, error)) => {
            add((format!("cannot read {path}: {error}"), "correct the syntax, which is HCL".to_owned()));
        }
        Ok(settings) => {
            unknown_keys(&settings).into_iter().chain(values(&settings)).for_each(&mut add);
            if script.is_all() && !configurations.is_empty() {
                missing(&script, &settings).into_iter().for_each(&mut add);
            }
            ports(subject, &script, &settings).into_iter().for_each(&mut add);
        }
    }
    files(subject, &script).into_iter().chain(flags(&script)).for_each(&mut add);
}

/// Files that the script writes for the agent, which does not read them, or reads them in another format: the name says it.
fn written(script: &AgentScript<'_>, division: &Division<'_>) -> Vec<Defect> {
    let read = script.config_files();
    let has_directory = script.mentions("-config-dir") || !script.is_all();
    let defect = |document: &Document<'_>| {
        let path = document.path()?;
        let ending = path.rsplit('.').next();
        let starts_as_json = document.text.trim_start().starts_with(['{', '$']);
        if ending == Some("json") && read.contains(&path) && !starts_as_json {
            let help = "write it as JSON, or let the name end with .hcl".to_owned();
            return Some((format!("cannot read {path}: it is no JSON"), help));
        }
        let is_unread = ending == Some("hcl") && script.count(path) == 1 && !has_directory;
        is_unread.then(|| (format!("does not read {path}"), format!("add -config-file {path}")))
    };
    division.documents.iter().filter_map(defect).collect()
}

/// The settings of an agent. Sources: <https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file>,
/// <https://github.com/hashicorp/consul/blob/v1.15.10/agent/config/config.go>
#[rustfmt::skip]
const SETTINGS: [&str; 151] = [
    "acl", "acl_agent_master_token", "acl_agent_token", "acl_datacenter", "acl_default_policy", "acl_down_policy",
    "acl_enable_key_list_policy", "acl_master_token", "acl_replication_token", "acl_token", "acl_ttl", "addresses",
    "advertise_addr", "advertise_addr_ipv4", "advertise_addr_ipv6", "advertise_addr_wan", "advertise_addr_wan_ipv4",
    "advertise_addr_wan_ipv6", "advertise_reconnect_timeout", "allow_write_http_from", "alt_domain", "audit",
    "auto_config", "auto_encrypt", "auto_reload_config", "autopilot", "bind_addr", "bootstrap", "bootstrap_expect",
    "ca_file", "ca_path", "cache", "cert_file", "check", "check_output_max_size", "check_update_interval", "checks",
    "client_addr", "cloud", "config_entries", "connect", "data_dir", "datacenter", "default_intention_policy",
    "default_query_time", "disable_anonymous_signature", "disable_coordinates", "disable_host_node_id",
    "disable_http_unprintable_char_filter", "disable_keyring_file", "disable_remote_exec", "disable_update_check",
    "discard_check_output", "discovery_max_stale", "dns_config", "domain", "enable_acl_replication",
    "enable_agent_tls_for_checks", "enable_central_service_config", "enable_debug", "enable_local_script_checks",
    "enable_script_checks", "enable_syslog", "enable_xds_load_balancing", "encrypt", "encrypt_verify_incoming",
    "encrypt_verify_outgoing", "experiments", "gossip_lan", "gossip_wan", "http_config", "key_file",
    "leave_on_terminate", "license_path", "limits", "locality", "log_file", "log_json", "log_level",
    "log_rotate_bytes", "log_rotate_duration", "log_rotate_max_files", "max_query_time", "node_id", "node_meta",
    "node_name", "non_voting_server", "partition", "peering", "performance", "pid_file", "ports",
    "primary_datacenter", "primary_gateways", "primary_gateways_interval", "protocol", "raft_boltdb", "raft_logstore",
    "raft_protocol", "raft_snapshot_interval", "raft_snapshot_threshold", "raft_trailing_logs", "read_replica",
    "reconnect_timeout", "reconnect_timeout_wan", "recursors", "rejoin_after_leave", "reporting", "retry_interval",
    "retry_interval_wan", "retry_join", "retry_join_wan", "retry_max", "retry_max_wan", "rpc", "segment", "segments",
    "serf_allowed_cidrs_lan", "serf_allowed_cidrs_wan", "serf_lan", "serf_lan_allowed_cidrs", "serf_wan",
    "serf_wan_allowed_cidrs", "server", "server_name", "service", "services", "session_ttl_min",
    "skip_leave_on_interrupt", "start_join", "start_join_wan", "syslog_facility", "telemetry", "tls",
    "tls_cipher_suites", "tls_min_version", "tls_prefer_server_cipher_suites", "translate_wan_addrs", "ui",
    "ui_config", "ui_content_path", "ui_dir", "unix_sockets", "use_streaming_backend", "verify_incoming",
    "verify_incoming_https", "verify_incoming_rpc", "verify_outgoing", "verify_server_hostname", "watches", "xds",
];

/// Maps with few keys.
const MAPS: [(&str, &[&str]); 4] = [
    ("addresses", &["dns", "http", "https", "grpc", "grpc_tls"]),
    (
        "ports",
        &[
            "dns",
            "http",
            "https",
            "grpc",
            "grpc_tls",
            "serf_lan",
            "serf_wan",
            "server",
            "sidecar_min_port",
            "sidecar_max_port",
            "expose_min_port",
            "expose_max_port",
        ],
    ),
    (
        "acl",
        &[
            "enabled",
            "tokens",
            "default_policy",
            "down_policy",
            "enable_token_persistence",
            "enable_token_replication",
            "enable_key_list_policy",
            "policy_ttl",
            "role_ttl",
            "token_ttl",
            "msp_disable_bootstrap",
        ],
    ),
    (
        "acl.tokens",
        &[
            "agent",
            "default",
            "master",
            "agent_master",
            "agent_recovery",
            "initial_management",
            "replication",
            "managed_service_provider",
            "config_file_service_registration",
            "dns",
        ],
    ),
];

/// Keys that an agent refuses. At the top, only those that resemble a setting count: other releases have others.
fn unknown_keys(settings: &Setting) -> Vec<Defect> {
    let of_top = settings.settings().iter().map(|(name, _)| name).filter(|name| !SETTINGS.contains(&name.as_str()));
    let of_top = of_top.filter_map(|name| Some((String::new(), name, Some(nearest(name, SETTINGS)?))));
    let of_maps = MAPS.iter().flat_map(|(path, keys)| {
        let unknown = settings.at(path).map(Setting::settings).unwrap_or_default().iter();
        let unknown = unknown.map(|(name, _)| name).filter(|name| !keys.contains(&name.as_str()));
        unknown.map(move |name| (format!(" in {path}"), name, nearest(name, keys.iter().copied())))
    });
    let defect = |(owner, name, meant): (String, &String, Option<&str>)| {
        let help = meant.map_or_else(|| "remove it".to_owned(), |meant| format!("write {meant}"));
        (format!("refuses the setting {name}{owner}, which Consul does not know"), help)
    };
    of_top.chain(of_maps).filter(|(_, name, _)| !name.contains('$')).map(defect).collect()
}

const DURATIONS: [&str; 5] =
    ["advertise_reconnect_timeout", "check_update_interval", "reconnect_timeout", "retry_interval", "session_ttl_min"];
const LEVELS: [&str; 6] = ["trace", "debug", "info", "warn", "err", "error"];

fn values(settings: &Setting) -> Vec<Defect> {
    let literal = |path: &str| settings.at(path).and_then(Setting::literal);
    let mut defects = Vec::new();
    for name in DURATIONS {
        if let Some(text) = literal(name).filter(|text| go_duration(text).is_none()) {
            let help = "write it with a unit: 15m".to_owned();
            defects.push((format!("refuses {name}: {text:?} is no duration"), help));
        }
    }
    if let Some(level) = literal("log_level").filter(|level| !LEVELS.contains(&level.to_lowercase().as_str())) {
        let help = "write trace, debug, info, warn or error".to_owned();
        defects.push((format!("refuses log_level: {level:?} is no level"), help));
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if let Some(name) = literal("datacenter").filter(|name| name.is_empty() || !name.chars().all(is_of_name)) {
        let help = "use letters, digits, hyphens and underscores".to_owned();
        defects.push((format!("refuses the datacenter {name:?}"), help));
    }
    for switch in ["connect.enabled", "enable_central_service_config"] {
        if literal(switch) == Some("false") {
            let wrong = format!("has {switch} = false, without which Envoy has no configuration");
            defects.push((wrong, format!("remove {switch}, or set it to true")));
        }
    }
    if literal("acl.enabled") == Some("false") && settings.at("acl.tokens").is_some() {
        defects.push((
            "has acl.enabled = false, and does not use its tokens".to_owned(),
            "set acl.enabled to true, or remove the tokens".to_owned(),
        ));
    }
    if literal("bind_addr").is_some_and(|address| address.starts_with("127.") || address == "localhost") {
        let help = "remove bind_addr: an agent listens on all addresses".to_owned();
        defects.push(("binds the loopback address, and no server reaches it".to_owned(), help));
    }
    if let Some(name) = literal("node_name").filter(|name| !name.is_empty()) {
        let help = "remove node_name, or make it of the task's ID".to_owned();
        defects.push((format!("has the node name {name} in every task, and Consul refuses the second"), help));
    }
    for address in settings.at("retry_join").map(Setting::items).unwrap_or_default().iter().filter_map(Setting::literal)
    {
        defects.extend(of_join(address));
    }
    defects
}

/// An address of servers to join: a name or an address, maybe with the port of the gossip, or what discovers one.
fn of_join(address: &str) -> Option<Defect> {
    if address.contains("provider=") {
        return None;
    }
    let port = address.rsplit_once(':').map(|(_, port)| port);
    let wrong = if address.contains("://") {
        format!("joins {address:?}, which is a URL")
    } else if port.is_some_and(|port| ["8300", "8500", "8501", "8502", "8503", "8600"].contains(&port)) {
        format!("joins {address:?}, which is no port of the gossip")
    } else if address == "localhost" || address.starts_with("127.") {
        format!("joins {address:?}: itself")
    } else {
        return None;
    };
    Some((wrong, "write the name or address of a server, without a port or with 8301".to_owned()))
}

/// What an agent needs, in its configuration or as a flag.
fn missing(script: &AgentScript<'_>, settings: &Setting) -> Vec<Defect> {
    let flags = script.agent_flags();
    let mut defects = Vec::new();
    if !script.mentions("data_dir") && !flags.contains(&"data-dir") {
        defects.push(("has no data directory".to_owned(), "add -data-dir /consul/data".to_owned()));
    }
    // A flag -hcl may set them as well.
    let is_open = |port: &str| {
        settings.at(&format!("ports.{port}")).is_some() || script.setting_in("ports", port).flatten().is_some()
    };
    let has_grpc = is_open("grpc") || is_open("grpc_tls");
    if !has_grpc && !flags.iter().any(|flag| ["grpc-port", "grpc-tls-port"].contains(flag)) {
        let wrong = "has no gRPC port, from which Envoy gets its configuration";
        defects.push((wrong.to_owned(), "set grpc in ports to 8502".to_owned()));
    }
    defects
}

/// The ports at which mesh-init and Envoy ask the agent, and the variables with another address.
const ASKED: [(&str, &str, &str); 2] =
    [("ports.grpc", "8502", "CONSUL_GRPC_ADDR"), ("ports.http", "8500", "CONSUL_HTTP_ADDR")];

fn ports(subject: &Subject<'_>, script: &AgentScript<'_>, settings: &Setting) -> Vec<Defect> {
    let Some(init) = subject.consul.as_ref().and_then(|consul| consul.mesh_init) else { return Vec::new() };
    let other = ASKED.iter().filter_map(|(path, expected, variable)| {
        // A flag -hcl may set it as well.
        let in_text =
            || script.setting_in("ports", path.rsplit('.').next()?).flatten().filter(|port| !port.contains('$'));
        let port = settings.at(path).and_then(Setting::literal).or_else(in_text).filter(|port| port != expected)?;
        let is_default = matches!(init.environment_has(variable), Maybe::Absent);
        // The port -1 is closed; consul-client-script is about gRPC.
        let is_reported = *path == "ports.grpc" && port == "-1";
        let wrong = format!("has the port {port} in {path}, but {} asks it at {expected}", init.label());
        (is_default && !is_reported).then(|| (wrong, format!("set {path} to {expected}")))
    });
    other.collect()
}

/// Files below the shared directory that the agent reads, and that nothing writes.
fn files(subject: &Subject<'_>, script: &AgentScript<'_>) -> Vec<Defect> {
    let Some(shared) = subject.consul.as_ref().and_then(ConsulTask::shared_directory) else { return Vec::new() };
    let of_settings = ["ca_file", "cert_file", "key_file"].into_iter().filter_map(|name| script.setting(name));
    let of_commands = script.after("cat ").filter_map(|rest| rest.split([' ', ')', '"', '\'', ';', '\n']).next());
    let mut read: Vec<&str> = script.config_files().into_iter().chain(of_settings).chain(of_commands).collect();
    read.sort_unstable();
    read.dedup();
    let is_unwritten = |path: &&str| {
        let is_literal = path.starts_with(&format!("{shared}/")) && !path.contains(['$', '*']);
        is_literal && script.count(path) == 1 && !script.mentions("consul-ecs")
    };
    let defect = |path: &str| {
        (format!("reads {path}, which its script does not write"), "write the file, or correct the path".to_owned())
    };
    read.into_iter().filter(is_unwritten).map(defect).collect()
}

/// Flags of `consul agent`. Source: <https://developer.hashicorp.com/consul/commands/agent>
#[rustfmt::skip]
const FLAGS: [&str; 66] = [
    "advertise", "advertise-wan", "allow-write-http-from", "alt-domain", "auto-reload-config", "bind", "bootstrap",
    "bootstrap-expect", "check_output_max_size", "client", "config-dir", "config-file", "config-format", "data-dir",
    "datacenter", "default-query-time", "dev", "disable-host-node-id", "disable-keyring-file", "dns-port", "domain",
    "enable-local-script-checks", "enable-script-checks", "encrypt", "grpc-port", "grpc-tls-port", "hcl", "http-port",
    "https-port", "join", "join-wan", "log-file", "log-json", "log-level", "log-rotate-bytes", "log-rotate-duration",
    "log-rotate-max-files", "max-query-time", "node", "node-id", "node-meta", "non-voting-server", "pid-file",
    "primary-gateway", "protocol", "raft-protocol", "read-replica", "recursor", "rejoin", "retry-interval",
    "retry-interval-wan", "retry-join", "retry-join-wan", "retry-max", "retry-max-wan", "segment", "serf-lan-allowed-cidrs",
    "serf-lan-bind", "serf-lan-port", "serf-wan-allowed-cidrs", "serf-wan-bind", "serf-wan-port", "server", "server-port",
    "syslog", "ui",
];

/// Flags that take the next word, also if it is a flag.
const WITH_VALUES: [&str; 10] = [
    "advertise",
    "bind",
    "client",
    "config-dir",
    "config-file",
    "data-dir",
    "datacenter",
    "encrypt",
    "node",
    "retry-join",
];

fn flags(script: &AgentScript<'_>) -> Vec<Defect> {
    let unknown = script.agent_flags().into_iter().filter(|flag| !FLAGS.contains(flag));
    let defect = |flag: &str| {
        let meant = nearest(flag, FLAGS)?;
        Some((format!("has the flag -{flag}, which Consul does not know"), format!("write -{meant}")))
    };
    let without = script.agent_flags_without_value();
    let without = without.into_iter().filter(|flag| WITH_VALUES.contains(flag));
    let without = without.map(|flag| {
        (format!("takes the next flag for the value of -{flag}"), format!("write the value behind -{flag}"))
    });
    unknown.filter_map(defect).chain(without).collect()
}
