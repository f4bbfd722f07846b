//! The client generation: the agent, the sidecar proxy, health-sync.

use audit::example::Base;

use super::tables::{Mutation, Table, text, with, without};

const BOTH: &[Base] = &[Base::Client, Base::ClientGateway];
const SERVICE: &[Base] = &[Base::Client];

pub(super) const TABLES: &[Table] = &[
    Table { bases: BOTH, rows: AGENT },
    Table { bases: BOTH, rows: PROXY },
    Table { bases: SERVICE, rows: SERVICE_TOKEN },
    Table { bases: SERVICE, rows: HEALTH },
    Table { bases: SERVICE, rows: ORDER },
];

const AGENT: &[Mutation] = &[
    without("consul-client / ", "consul-client-missing"),
    with("consul-client / image", r#""hashicorp/consul-ecs:0.4.3""#, "consul-client-image"),
    with("consul-client / essential", "true", "consul-helper-essential"),
    without("consul-client / essential", "consul-helper-essential"),
    // A shell runs the script, which uses exec.
    without("consul-client / entryPoint", "consul-client-shell"),
    with("consul-client / entryPoint", r#"["consul"]"#, "consul-client-shell"),
    with("consul-client / entryPoint", r#"["/bin/bash", "-c"]"#, ""),
    text("exec consul agent", "consul agent", "consul-client-exec"),
    text("leave_on_terminate = true", "leave_on_terminate = false", "consul-client-leave"),
    // The default of an agent in client mode.
    text("leave_on_terminate = true\\n", "", ""),
    text(r#"retry_join = [\"consul.example.internal\"]\n"#, "", "consul-client-retry-join"),
    text(r#"retry_join = [\"consul.example.internal\"]"#, "retry_join = []", "consul-client-retry-join"),
    text("retry_join", "start_join", "consul-client-retry-join"),
    text(r#"advertise_addr = \"$ECS_IPV4\"\n"#, "", "consul-client-advertise"),
    text(r#"advertise_addr = \"$ECS_IPV4\""#, r#"advertise_addr = \"10.0.0.1\""#, "consul-client-advertise"),
    text(r#"  http = \"127.0.0.1\"\n"#, "", "consul-client-http-exposed"),
    text(r#"http = \"127.0.0.1\""#, r#"http = \"0.0.0.0\""#, "consul-client-http-exposed"),
    // Both volumes, writable.
    without("consul-client / mountPoints[consul_data]", "consul-client-mounts"),
    without("consul-client / mountPoints[consul_binary]", "consul-client-mounts"),
    without("consul-client / mountPoints", "consul-client-mounts consul-client-mounts"),
    with("consul-client / mountPoints[consul_data].readOnly", "true", "consul-client-mounts"),
    with("consul-client / mountPoints[consul_binary].readOnly", "true", "consul-client-mounts"),
    without("consul-client / mountPoints[consul_data].readOnly", ""),
    without("consul-client / mountPoints[consul_binary].readOnly", ""),
    with("consul-client / mountPoints[consul_data].containerPath", r#""/data""#, "consul-client-mounts"),
    with("consul-client / mountPoints[consul_binary].containerPath", r#""/bin/inject""#, "consul-client-mounts"),
    // The variables of the script are set.
    without("consul-client / secrets[CONSUL_CACERT]", "consul-client-secrets"),
    without("consul-client / secrets[CONSUL_GOSSIP_ENCRYPTION_KEY]", "consul-client-secrets"),
    with(
        "consul-client / environment",
        r#"[{"name": "CONSUL_HTTP_TOKEN", "value": "x"}]"#,
        "consul-credential-in-plain",
    ),
    // Only the mesh uses its ports.
    with("consul-client / portMappings", r#"[{"containerPort": 8301}]"#, "consul-client-ports"),
    with("consul-client / portMappings", r#"[{"containerPort": 8500}]"#, "consul-client-ports"),
    with("consul-client / portMappings", r#"[{"containerPort": 8502}]"#, "consul-client-ports"),
    with("consul-client / portMappings", "[]", ""),
];

const PROXY: &[Mutation] = &[
    without("sidecar-proxy / ", "consul-sidecar-proxy-missing"),
    with("sidecar-proxy / image", r#""hashicorp/consul:1.11.11""#, "consul-sidecar-proxy-image"),
    without("sidecar-proxy / command", "consul-sidecar-proxy-command"),
    with("sidecar-proxy / command", r#"["envoy", "--config-path", "/etc/envoy.json"]"#, "consul-sidecar-proxy-command"),
    with("sidecar-proxy / command", r#"["envoy", "-c", "/consul/envoy-bootstrap.json"]"#, ""),
    without("sidecar-proxy / dependsOn", "consul-proxy-order"),
    with("sidecar-proxy / dependsOn[consul-ecs-mesh-init].condition", r#""START""#, "consul-proxy-order"),
    with("sidecar-proxy / dependsOn[consul-ecs-mesh-init].condition", r#""COMPLETE""#, "consul-proxy-order"),
    with("sidecar-proxy / dependsOn[consul-ecs-mesh-init].condition", r#""HEALTHY""#, "consul-proxy-order"),
    with("sidecar-proxy / dependsOn[consul-ecs-mesh-init].condition", r#""success""#, "ecs-dependency-condition"),
    without("sidecar-proxy / healthCheck", "consul-sidecar-proxy-health-check"),
    with(
        "sidecar-proxy / healthCheck.command",
        r#"["nc", "-z", "127.0.0.1", "20001"]"#,
        "consul-sidecar-proxy-health-check",
    ),
    with("sidecar-proxy / healthCheck.command", "[]", "ecs-health-check-command"),
    without("sidecar-proxy / mountPoints", "consul-proxy-mount"),
    with("sidecar-proxy / mountPoints[consul_data].containerPath", r#""/data""#, "consul-proxy-mount"),
    with("sidecar-proxy / mountPoints[consul_data].sourceVolume", r#""consul_binary""#, "consul-proxy-mount"),
    with("sidecar-proxy / mountPoints[consul_data].readOnly", "false", "consul-proxy-mount-read-only"),
    without("sidecar-proxy / mountPoints[consul_data].readOnly", "consul-proxy-mount-read-only"),
    without("sidecar-proxy / ulimits", "consul-proxy-open-files-default"),
    with("sidecar-proxy / ulimits[nofile].softLimit", "1048577", "consul-proxy-open-files")
        .given(&[("sidecar-proxy / ulimits[nofile].hardLimit", "1048576")]),
    with("sidecar-proxy / ulimits[nofile].hardLimit", "2097152", "consul-proxy-open-files"),
    with("sidecar-proxy / ulimits[nofile].name", r#""nproc""#, "consul-proxy-open-files-default"),
];

const SERVICE_TOKEN: &[Mutation] = &[
    // The name differs from the tag's and from the secret's.
    with("config.service.name", r#""shop""#, "consul-service-name-tag consul-service-secret"),
    without("consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN]", "consul-service-token"),
    with(
        "consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN].valueFrom",
        r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf""#,
        "consul-token-secret-key",
    ),
    with(
        "consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN].valueFrom",
        r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:accessor_id::""#,
        "consul-token-secret-key",
    ),
    with(
        "consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN].valueFrom",
        r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-orders-AbCdEf:token::""#,
        "consul-service-secret",
    ),
    without("consul-client / secrets[AGENT_TOKEN]", "consul-client-secrets"),
    with(
        "consul-client / secrets[AGENT_TOKEN].valueFrom",
        r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr""#,
        "consul-token-secret-key",
    ),
    with("consul-ecs-mesh-init / image", r#""hashicorp/consul-ecs:0.10.1""#, "consul-image-generation")
        .given(&[("consul-ecs-health-sync / image", r#""hashicorp/consul-ecs:0.10.1""#)]),
    with("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.4.1""#, "consul-image-versions"),
    with("config.proxy.publicListenerPort", "20001", "consul-sidecar-proxy-health-check").given(&[
        ("consul-ecs-mesh-init / image", r#""hashicorp/consul-ecs:0.6.0""#),
        ("consul-ecs-health-sync / image", r#""hashicorp/consul-ecs:0.6.0""#),
        ("consul-client / image", r#""hashicorp/consul:1.15.3""#),
        ("sidecar-proxy / image", r#""envoyproxy/envoy:v1.23.10""#),
    ]),
];

const HEALTH: &[Mutation] = &[
    without("consul-ecs-health-sync / ", "consul-health-sync-missing"),
    with("consul-ecs-health-sync / image", r#""hashicorp/consul:1.11.11""#, "consul-ecs-image"),
    with("consul-ecs-health-sync / essential", "true", "consul-helper-essential"),
    without("consul-ecs-health-sync / essential", "consul-helper-essential"),
    without("consul-ecs-health-sync / command", "consul-health-sync-command"),
    with("consul-ecs-health-sync / command", r#"["mesh-init"]"#, "consul-health-sync-command"),
    without("consul-ecs-health-sync / environment", "consul-config-missing"),
    with("config@consul-ecs-health-sync.service.port", "9091", "consul-health-sync-configuration"),
    with("config@consul-ecs-health-sync.healthSyncContainers", "[]", "consul-health-sync-configuration"),
    without("consul-ecs-health-sync / dependsOn", "consul-health-sync-order"),
    with(
        "consul-ecs-health-sync / dependsOn[consul-ecs-mesh-init].condition",
        r#""START""#,
        "consul-health-sync-order",
    ),
    // Consul checks and synced containers exclude each other.
    with(
        "config.service.checks",
        r#"[{"checkId": "web", "name": "web", "http": "http://localhost:9090/health", "interval": "10s"}]"#,
        "consul-health-native-and-synced",
    ),
];

const ORDER: &[Mutation] = &[
    // Gateways have no app: their Envoy may have any entry point.
    without("sidecar-proxy / entryPoint", "consul-sidecar-proxy-entry-point"),
    with("sidecar-proxy / entryPoint", r#"["/consul/consul-ecs"]"#, "consul-sidecar-proxy-entry-point"),
    with("sidecar-proxy / dependsOn[consul-ecs-mesh-init].containerName", r#""init""#, "ecs-dependency-unknown"),
    with("config.gateway", r#"{"kind": "mesh-gateway", "name": "web"}"#, "consul-config-version"),
    // Envoy itself waits for mesh-init.
    without("web / dependsOn[consul-ecs-mesh-init]", ""),
    without("web / dependsOn[sidecar-proxy]", "consul-app-order"),
    with("web / dependsOn[sidecar-proxy].condition", r#""START""#, "consul-app-order"),
    with("web / dependsOn[sidecar-proxy].containerName", r#""sidecar""#, "ecs-dependency-unknown"),
    with("sidecar-proxy / essential", "true", "consul-helper-essential"),
    without("sidecar-proxy / essential", "consul-helper-essential"),
    with("web / portMappings", r#"[{"containerPort": 8500}]"#, "consul-client-ports"),
    with("sidecar-proxy / stopTimeout", "10", ""),
    with("web / stopTimeout", "121", "ecs-timeout-range").given(&[("sidecar-proxy / stopTimeout", "120")]),
];
