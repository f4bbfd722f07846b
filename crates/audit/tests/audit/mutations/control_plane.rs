//! The dataplane generation of 0.7, with one container for mesh-init and health-sync.

use audit::example::Base;

use super::tables::{Mutation, Table, with, without};

pub(super) const TABLES: &[Table] = &[Table { bases: &[Base::ControlPlane], rows: CONTROL_PLANE }];

const CONTROL_PLANE: &[Mutation] = &[
    without("consul-ecs-control-plane / ", "consul-mesh-init-missing"),
    with("consul-ecs-control-plane / image", r#""hashicorp/consul:1.15.3""#, "consul-ecs-image"),
    with("consul-ecs-control-plane / image", r#""hashicorp/consul-ecs:0.10.1""#, "consul-image-generation"),
    with("consul-ecs-control-plane / image", r#""hashicorp/consul-ecs:0.6.0""#, "consul-image-generation"),
    without("consul-ecs-control-plane / command", "consul-control-plane-command"),
    with("consul-ecs-control-plane / command", r#"["mesh-init"]"#, "consul-control-plane-command"),
    without("consul-ecs-control-plane / environment", "consul-config-missing"),
    without("consul-ecs-control-plane / healthCheck", "consul-control-plane-health-check"),
    // Without -f, curl succeeds with any answer.
    with(
        "consul-ecs-control-plane / healthCheck.command",
        r#"["CMD-SHELL", "curl localhost:10000/consul-ecs/health"]"#,
        "consul-control-plane-health-check",
    ),
    with(
        "consul-ecs-control-plane / healthCheck.command",
        r#"["CMD-SHELL", "curl -f localhost:10001/consul-ecs/health"]"#,
        "consul-control-plane-health-check",
    ),
    without("consul-ecs-control-plane / mountPoints[consul_data]", "consul-mesh-init-mounts"),
    with("consul-ecs-control-plane / mountPoints[consul_data].readOnly", "true", "consul-mesh-init-mounts"),
    without("consul-ecs-control-plane / secrets[CONSUL_HTTPS_CACERT_PEM]", "consul-ca-certificates"),
    without("consul-ecs-control-plane / secrets[CONSUL_GRPC_CACERT_PEM]", "consul-ca-certificates"),
    // The control plane keeps running: a container that waits for its end never starts.
    without("consul-dataplane / dependsOn", "consul-dataplane-waits-for-control-plane"),
    with(
        "consul-dataplane / dependsOn[consul-ecs-control-plane].condition",
        r#""START""#,
        "consul-dataplane-waits-for-control-plane",
    ),
    with(
        "consul-dataplane / dependsOn[consul-ecs-control-plane].condition",
        r#""SUCCESS""#,
        "consul-dataplane-waits-for-control-plane",
    ),
    // 0.7 has no transparent proxy.
    with("config.transparentProxy", r#"{"enabled": false}"#, "consul-config-version"),
];
