//! The words of a Consul agent: its settings and flags.

/// The settings of an agent. Sources: <https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file>,
/// <https://github.com/hashicorp/consul/blob/v1.15.10/agent/config/config.go>
#[rustfmt::skip]
pub const SETTINGS: [&str; 151] = [
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

/// The keys of maps that have few.
#[rustfmt::skip]
pub const MAPS: [(&str, &[&str]); 4] = [
    ("addresses", &["dns", "http", "https", "grpc", "grpc_tls"]),
    ("ports", &[
        "dns", "http", "https", "grpc", "grpc_tls", "serf_lan", "serf_wan", "server", "sidecar_min_port",
        "sidecar_max_port", "expose_min_port", "expose_max_port",
    ]),
    ("acl", &[
        "enabled", "tokens", "default_policy", "down_policy", "enable_token_persistence", "enable_token_replication",
        "enable_key_list_policy", "policy_ttl", "role_ttl", "token_ttl", "msp_disable_bootstrap",
    ]),
    ("acl.tokens", &[
        "agent", "default", "master", "agent_master", "agent_recovery", "initial_management", "replication",
        "managed_service_provider", "config_file_service_registration", "dns",
    ]),
];

/// The settings at the top that are durations.
pub const DURATIONS: [&str; 5] =
    ["advertise_reconnect_timeout", "check_update_interval", "reconnect_timeout", "retry_interval", "session_ttl_min"];

/// The levels of the log.
pub const LEVELS: [&str; 6] = ["trace", "debug", "info", "warn", "err", "error"];

/// Flags of `consul agent`. Source: <https://developer.hashicorp.com/consul/commands/agent>
#[rustfmt::skip]
pub const FLAGS: [&str; 66] = [
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
#[rustfmt::skip]
pub const WITH_VALUES: [&str; 10] = [
    "advertise", "bind", "client", "config-dir", "config-file", "data-dir", "datacenter", "encrypt", "node", "retry-join",
];
