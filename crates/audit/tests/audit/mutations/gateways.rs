//! Gateways of both generations.

use audit::example::Base;

use super::tables::{Mutation, Table, with, without};

const EVERY: &[Base] = &[Base::ClientGateway, Base::MeshGateway, Base::ApiGateway, Base::TerminatingGateway];
const DATAPLANE: &[Base] = &[Base::MeshGateway, Base::ApiGateway, Base::TerminatingGateway];

pub(super) const TABLES: &[Table] = &[
    Table { bases: EVERY, rows: GATEWAY },
    Table { bases: DATAPLANE, rows: PROXY },
    Table { bases: &[Base::MeshGateway, Base::ApiGateway], rows: LAN },
    Table { bases: &[Base::TerminatingGateway], rows: NO_LAN },
    Table { bases: &[Base::ClientGateway], rows: SIDECAR },
    Table { bases: &[Base::MeshGateway], rows: FEDERATION },
];

const GATEWAY: &[Mutation] = &[
    with("config.gateway.kind", r#""ingress-gateway""#, "consul-config-schema"),
    without("config.gateway.kind", "consul-config-schema"),
    // A gateway is in the namespace default.
    with("config.gateway.namespace", r#""team""#, "consul-gateway-namespace")
        .given(&[("config.gateway.partition", r#""default""#)]),
    with("config.gateway.namespace", r#""default""#, "").given(&[("config.gateway.partition", r#""default""#)]),
    with("config.gateway.partition", r#""default""#, "consul-tenancy-pair"),
    // The proxy maps its LAN port.
    with("config.gateway.lanAddress.port", "70000", "consul-config-schema"),
    // No app runs in its task, but a helper may.
    with("containerDefinitions[logs]", r#"{"name": "logs", "image": "example/logs:1", "essential": false}"#, ""),
    with(
        "containerDefinitions[web]",
        r#"{"name": "web", "image": "example/web:1", "essential": true, "portMappings": [{"containerPort": 80}]}"#,
        "consul-gateway-app",
    ),
    with("config.service", r#"{"name": "x", "port": 1}"#, "consul-service-or-gateway"),
    without("config.gateway", "consul-service-or-gateway"),
];

const PROXY: &[Mutation] = &[
    with("consul-dataplane / essential", "false", "consul-gateway-proxy-essential"),
    without("consul-dataplane / essential", ""),
    // 8443 is the default of consul-ecs.
    without("config.gateway.lanAddress", ""),
];

/// Requests from outside come through a load balancer, which needs a port mapping.
const LAN: &[Mutation] = &[
    without("consul-dataplane / portMappings", "consul-gateway-lan-port"),
    with("consul-dataplane / portMappings[0].containerPort", "8444", "consul-gateway-lan-port")
        .given(&[("consul-dataplane / portMappings[0].hostPort", "8444")]),
    with("config.gateway.lanAddress.port", "8444", "consul-gateway-lan-port"),
    with("config.gateway.lanAddress.port", "22000", "consul-readiness-port").given(&[
        ("consul-dataplane / portMappings[0].containerPort", "22000"),
        ("consul-dataplane / portMappings[0].hostPort", "22000"),
    ]),
];

/// Requests through a terminating gateway come from the mesh, to the task's own address.
const NO_LAN: &[Mutation] = &[
    without("consul-dataplane / portMappings", ""),
    with("consul-dataplane / portMappings[0].containerPort", "8444", "")
        .given(&[("consul-dataplane / portMappings[0].hostPort", "8444")]),
    with("config.gateway.lanAddress.port", "8444", ""),
];

const SIDECAR: &[Mutation] = &[
    with("sidecar-proxy / essential", "false", "consul-gateway-proxy-essential"),
    without("sidecar-proxy / portMappings", "consul-gateway-lan-port"),
    with(
        "sidecar-proxy / healthCheck.command",
        r#"["nc", "-z", "127.0.0.1", "20000"]"#,
        "consul-sidecar-proxy-health-check",
    ),
];

const FEDERATION: &[Mutation] = &[
    with("config.gateway.meta", r#"{"consul-wan-federation": "1"}"#, ""),
    with("config.consulServers.defaults.tls", "false", "consul-gateway-federation-tls").given(&[
        ("config.gateway.meta", r#"{"consul-wan-federation": "1"}"#),
        ("config.consulServers.http.https", "false"),
    ]),
    without("config.gateway.wanAddress", "consul-gateway-wan-address")
        .given(&[("config.gateway.meta", r#"{"consul-wan-federation": "1"}"#)]),
    without("config.gateway.wanAddress", ""),
];
